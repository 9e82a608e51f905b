"""Rows and values are two spellings of one thing: there and back nothing is lost."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.errors import NaiveTime
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.ids import make_run_id
from pyscheduler.model.job import ConfigSource
from pyscheduler.model.run import Attempt, Cause, LogbookLine, Outcome, Run, RunState, Trigger
from pyscheduler.model.session import Session
from pyscheduler.store import columns, rows, schema
from pyscheduler.store.statements import ADD_LINE, PUT_ATTEMPT, PUT_CONFIG, PUT_RUN, PUT_SESSION

instants = st.datetimes(timezones=st.just(UTC))
counts = st.integers(0, 2**40)
texts = st.text(max_size=20)
names = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    job, day, seq = draw(names), draw(st.dates()), draw(st.integers(1, 9_999_999_999))
    return Run(
        run_id=make_run_id(job, day, seq),
        job=job,
        run_date=day,
        seq=seq,
        scheduled_at=draw(instants),
        trigger=draw(st.sampled_from(Trigger)),
        created_at=draw(instants),
        updated_at=draw(instants),
        state=draw(st.sampled_from(RunState)),
        reason=draw(texts),
        cause=draw(st.sampled_from(Cause)),
        attempt=draw(counts),
        attempt_base=draw(counts),
        reruns=draw(counts),
        config_version=draw(counts),
        forced=draw(st.booleans()),
        held_from=draw(st.none() | st.sampled_from(RunState)),
        not_before=draw(st.none() | instants),
        queued_at=draw(st.none() | instants),
        wait_until=draw(st.none() | instants),
    )


attempts = st.builds(
    Attempt,
    run_id=texts,
    attempt=counts,
    key=texts,
    started_at=instants,
    config_version=counts,
    boot_id=texts,
    pid=st.none() | counts,
    ended_at=st.none() | instants,
    exit_code=st.none() | st.integers(0, 255),
    signal=st.none() | st.integers(1, 64),
    outcome=st.none() | st.sampled_from(Outcome),
    reason=texts,
    stdout_path=texts,
    stderr_path=texts,
    status_path=texts,
    kill_by=st.none() | texts,
    cpu_s=st.none() | st.floats(0, 1e9),
    max_rss_bytes=st.none() | counts,
    note=texts,
)


@given(run=runs())
def test_a_run_comes_back_as_it_went(run: Run) -> None:
    """Every field of every run, of any year."""
    assert rows.run_of(rows.run_row(run)) == run


@given(attempt=attempts)
def test_an_attempt_comes_back_as_it_went(attempt: Attempt) -> None:
    """Every field of every attempt."""
    assert rows.attempt_of(rows.attempt_row(attempt)) == attempt


@given(number=counts, at=instants, detail=st.dictionaries(texts, st.none() | texts | st.integers() | st.booleans()))
def test_a_line_comes_back_as_it_went(number: int, at: datetime, detail: dict[str, object]) -> None:
    """The detail too, as far as JSON can hold it; the number is the store's."""
    line = LogbookLine(at=at, actor="ada", action="hold", run_id="a.2027-05-20.1", job="a", detail=detail)
    found = rows.line_of((number, *rows.line_row(line)))
    assert found == LogbookLine(
        id=number, at=at, actor="ada", action="hold", run_id="a.2027-05-20.1", job="a", detail=detail
    )


def test_a_configuration_comes_back_as_it_went() -> None:
    """The files in the order they were read, with their text as typed."""
    record = ConfigRecord(
        version=3,
        loaded_at=datetime(2027, 5, 20, tzinfo=UTC),
        digest="d",
        sources=(ConfigSource(path="b.yaml", text="ü: 1\n"), ConfigSource(path="a.yaml", text="")),
    )
    assert rows.config_of(rows.config_row(record)) == record
    assert rows.config_version_of(rows.config_row(record)[:-1]).digest == "d"


@given(instant=instants)
def test_an_instant_is_whole_microseconds(instant: datetime) -> None:
    """Exact there and back, in order, and the same for any zone it is said in."""
    assert rows.instant(rows.micros(instant)) == instant
    if instant.year < 9999:
        assert rows.micros(instant + timedelta(microseconds=1)) == rows.micros(instant) + 1
    if 1 < instant.year < 9999:
        assert rows.micros(instant.astimezone(timezone(timedelta(hours=5)))) == rows.micros(instant)


def test_a_naive_instant_is_refused() -> None:
    """No zone is guessed."""
    with pytest.raises(NaiveTime, match="2027-05-20"):
        rows.micros(datetime(2027, 5, 20))


def test_the_column_lists_name_every_field_once() -> None:
    """A field that is added to a noun and forgotten here would be lost in silence."""
    assert set(columns.RUN) == {field.name for field in fields(Run)}
    assert set(columns.ATTEMPT) == {field.name for field in fields(Attempt)}
    assert {*columns.LINE, "id"} == {field.name for field in fields(LogbookLine)}
    assert set(columns.CONFIG) == {field.name for field in fields(ConfigRecord)}
    assert set(columns.SESSION) == {field.name for field in fields(Session)}


def test_rows_are_in_the_order_in_which_statements_take_them() -> None:
    """The text of a statement and the tuple of a row must agree, position by position."""
    for statement, of_row in (
        (PUT_RUN, columns.RUN),
        (PUT_ATTEMPT, columns.ATTEMPT),
        (PUT_CONFIG, columns.CONFIG),
        (PUT_SESSION, columns.SESSION),
        (ADD_LINE, columns.LINE),
    ):
        assert statement.names == of_row


def test_a_save_never_touches_what_belongs_to_claims() -> None:
    """`token owner_inc inc_id` and what came with revision 0003 are written by claims alone (DESIGN 6)."""
    claims = {"token", "owner_inc", "inc_id", "claimed_at", "cancel_requested", "on_lost", "lost_count"}
    claims |= {"node", "node_tags", "reclaim_us", "revoked_at", "revoke_reason", "reported_at"}
    assert {column.name for column in schema.runs.c} - set(columns.RUN) <= claims
    assert {column.name for column in schema.attempts.c} - set(columns.ATTEMPT) <= claims
    assert not any(re.search(rf"\b{name}\b", PUT_RUN.sql + PUT_ATTEMPT.sql) for name in claims)


def test_a_save_never_moves_what_a_run_is() -> None:
    """Its instant is part of three indexes and of the promise that a firing has one run."""
    changed = PUT_RUN.sql.partition("DO UPDATE SET")[2]
    assert not any(f"{name} =" in changed for name in (*columns.RUN_FIXED, "run_id"))
    assert "state = excluded.state" in changed


@given(text=st.text(alphabet=st.characters(), max_size=30))
def test_cleaned_text_is_utf8_and_otherwise_untouched(text: str) -> None:
    """Lone surrogates become `?`; all other characters, numbers and nulls stay."""
    ((number, cleaned, nothing),) = rows.cleaned([(1, text, None)])
    assert (number, nothing) == (1, None)
    assert cleaned == "".join("?" if "\ud800" <= letter <= "\udfff" else letter for letter in text)


def test_a_day_is_iso_text() -> None:
    """Text order is time order, and the year has four digits."""
    run = Run(
        run_id="a.0007-01-02.1",
        job="a",
        run_date=date(7, 1, 2),
        seq=1,
        scheduled_at=datetime(7, 1, 2, tzinfo=UTC),
        trigger=Trigger.MANUAL,
        created_at=datetime(7, 1, 2, tzinfo=UTC),
        updated_at=datetime(7, 1, 2, tzinfo=UTC),
    )
    assert rows.run_row(run)[columns.RUN.index("run_date")] == "0007-01-02"
