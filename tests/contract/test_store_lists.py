"""The lists people page through, against the plainest model there is: filter everything, sort it, cut it.

The bounds of `queries.py` are tried roomy and tight, so that every way of finding a page has to give the same answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyscheduler.errors import BadRequest
from pyscheduler.model.run import LogbookLine, Run, RunState, Trigger
from pyscheduler.store import Batch, LineQuery, Page, RunQuery, Store
from tests.contract.store_kit import DAY, EVERY_STORE, NOON, OpenAgain, a_line, a_run, every_opener

JOBS = ("alpha", "alpha-2", "beta", "B_eta", "gamma")
DAYS = tuple(DAY - timedelta(days=back) for back in range(4))
INSTANTS = tuple(NOON - timedelta(hours=5 * back) for back in range(20))
REASONS = ("", "exit 1", "Timeout", "waiting for alpha", "ÄRGER mit")
BY_HAND = (Trigger.MANUAL, Trigger.DEPENDENCY)

QUIET = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=100)


def some_runs(count: int = 400) -> list[Run]:
    """Return runs in which every filter has some to find and ties are common. Always the same ones."""
    chance = random.Random(20270520)
    due: set[tuple[str, datetime]] = set()
    seqs: dict[tuple[str, date], int] = {}
    runs = []
    for _ in range(count):
        job, day, at = chance.choice(JOBS), chance.choice(DAYS), chance.choice(INSTANTS)
        trigger = chance.choice(list(Trigger))
        if trigger not in BY_HAND and (job, at) in due:
            trigger = chance.choice(BY_HAND)
        if trigger not in BY_HAND:
            due.add((job, at))
        seqs[job, day] = seq = seqs.get((job, day), 0) + 1
        state = chance.choice([*RunState, RunState.SUCCEEDED, RunState.SUCCEEDED, RunState.FAILED])
        reason = chance.choice(REASONS)
        runs.append(a_run(job, seq, day=day, scheduled_at=at, trigger=trigger, state=state, reason=reason))
    return runs


RUNS = some_runs()
LINES = [
    a_line(
        run if index % 5 else None,
        action=("created", "attempt_started", "finished", "hold")[index % 4],
        actor=("scheduler", "scheduler", "ada", "bob")[index % 11 % 4],
        at=NOON + timedelta(seconds=index * 7 % 50),
    )
    for index, run in enumerate(RUNS[:8] * 10 + RUNS[:120])
]


@pytest.fixture(params=EVERY_STORE)
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    with every_opener(request, tmp_path / "state", monkeypatch) as again:
        yield filled(again)


def filled(again: OpenAgain) -> Store:
    opened = again()
    opened.apply(Batch(runs=tuple(RUNS), lines=tuple(LINES)))
    return opened


@pytest.fixture(params=["roomy", "tight"])
def bounds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tight ones force every detour: no corner, few heads, pages that end early."""
    if request.param == "tight":
        tight = {"HEADS": 30, "HEADS_FOR_REASONS": 20, "FEW_JOBS": 1, "A_TRY": 9, "CORNER_JOBS": 2, "CORNER_ROWS": 5}
        for name, value in {**tight, "BUDGET": 17, "BUDGET_FOR_REASONS": 11}.items():
            monkeypatch.setattr(f"pyscheduler.store.queries.{name}", value)
        monkeypatch.setattr("pyscheduler.store.run_streams.SIEVED_PIECE", 3)
        monkeypatch.setattr("pyscheduler.store.run_streams.LARGEST_SIEVED_PIECE", 10)
        monkeypatch.setattr("pyscheduler.store.logbook.BUDGET", 13)


def optional(values: Any) -> st.SearchStrategy[Any]:
    return st.none() | st.sampled_from(values)


TEXTS = (
    "alpha",
    "al",
    "alpha.2027-05-1",
    "beta.2027-05-20.1",
    "B_",
    "timeout",
    "ärger",
    "Ärger MIT",
    "%",
    "exit",
    "zzz",
    "alpha.x",
    "alpha.x",
)
run_queries = st.builds(
    RunQuery,
    job=optional((*JOBS, "unknown")),
    jobs=st.none() | st.sets(st.sampled_from((*JOBS, "unknown"))),
    states=st.sets(st.sampled_from(list(RunState)), max_size=3),
    run_date=optional(DAYS),
    since=optional(INSTANTS),
    until=optional(INSTANTS),
    trigger=optional(list(Trigger)),
    text=st.just("") | st.sampled_from(TEXTS),
    text_jobs=st.sets(st.sampled_from(JOBS), max_size=2),
    limit=st.sampled_from((1, 2, 7, 100, 1000)),
    newest_first=st.booleans(),
)
line_queries = st.builds(
    LineQuery,
    run_id=optional([run.run_id for run in RUNS[:20]]),
    job=optional((*JOBS, "unknown")),
    actor=optional(("scheduler", "ada", "bob", "nobody")),
    action=optional(("created", "finished", "hold", "unknown")),
    since=optional([line.at for line in LINES[:9]]),
    until=optional([line.at for line in LINES[:9]]),
    limit=st.sampled_from((1, 3, 50, 1000)),
    newest_first=st.booleans(),
)


def ascii_lower(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def matches(run: Run, query: RunQuery) -> bool:
    ranged = query.run_date is not None or query.since is not None
    found_by_text = (
        run.run_id.startswith(query.text)
        or run.job in query.text_jobs
        or (ranged and ascii_lower(query.text) in ascii_lower(run.reason))
    )
    return all(
        (
            query.job is None or run.job == query.job,
            query.jobs is None or run.job in query.jobs,
            not query.states or run.state in query.states,
            query.run_date is None or run.run_date == query.run_date,
            query.since is None or run.scheduled_at >= query.since,
            query.until is None or run.scheduled_at < query.until,
            query.trigger is None or run.trigger is query.trigger,
            not query.text or found_by_text,
        )
    )


def line_matches(line: LogbookLine, query: LineQuery) -> bool:
    return all(
        (
            query.run_id is None or line.run_id == query.run_id,
            query.job is None or line.job == query.job,
            query.actor is None or line.actor == query.actor,
            query.action is None or line.action == query.action,
            query.since is None or line.at >= query.since,
            query.until is None or line.at < query.until,
        )
    )


def every_page(ask: Callable[[str | None], Page[Any]], limit: int) -> list[Any]:
    """Follow the cursors to the end; no page is too long, and the way ends."""
    items: list[Any] = []
    cursor: str | None = None
    for _ in range(3 * (len(RUNS) + len(LINES))):
        page = ask(cursor)
        assert len(page.items) <= limit
        items += page.items
        cursor = page.next_cursor
        if cursor is None:
            return items
    raise AssertionError("the pages never end")


@QUIET
@given(query=run_queries)
def test_the_pages_of_runs_hold_what_was_asked_for_and_nothing_else(
    store: Store, bounds: None, query: RunQuery
) -> None:
    """Whatever is chosen, all pages together are the matching runs, each once, newest first and ties by run id."""
    expected = sorted(
        (run for run in RUNS if matches(run, query)), key=lambda run: (-run.scheduled_at.timestamp(), run.run_id)
    )
    found = every_page(lambda cursor: store.runs(replace(query, cursor=cursor)), query.limit)
    assert found == (expected if query.newest_first else expected[::-1])


@QUIET
@given(query=line_queries)
def test_the_pages_of_the_logbook_hold_what_was_asked_for(store: Store, bounds: None, query: LineQuery) -> None:
    """The same for lines: newest first and ties by number; within one run by number alone."""
    numbered = [replace(line, id=number) for number, line in enumerate(LINES, 1)]
    order: Callable[[LogbookLine], Any] = (lambda line: line.id) if query.run_id else (lambda line: (line.at, line.id))
    expected = sorted((line for line in numbered if line_matches(line, query)), key=order, reverse=query.newest_first)
    assert every_page(lambda cursor: store.lines(replace(query, cursor=cursor)), query.limit) == expected


def test_jobs_that_hardly_ran_lately_fill_a_page_all_the_same(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short look at all runs together is only a try: what it does not find is looked for job by job."""
    monkeypatch.setattr("pyscheduler.store.queries.FEW_JOBS", 1)
    monkeypatch.setattr("pyscheduler.store.queries.A_TRY", 10)
    monkeypatch.setattr("pyscheduler.store.run_streams.SIEVED_PIECE", 3)
    page = store.runs(RunQuery(jobs={"alpha", "beta"}, states={RunState.FAILED}, limit=15))
    assert len(page.items) == 15


def test_the_last_page_says_that_it_is_the_last(store: Store) -> None:
    """A list that ends with a full page does not promise another, empty one."""
    assert store.runs(RunQuery(limit=len(RUNS))).next_cursor is None
    assert store.runs(RunQuery(limit=len(RUNS) - 1)).next_cursor is not None


def test_a_page_goes_on_where_the_last_one_ended_though_new_runs_have_come(store: Store) -> None:
    """A cursor is a place in the list, not a count: what is added in front is neither repeated nor skips anything."""
    first = store.runs(RunQuery(limit=10))
    store.apply(Batch(runs=(a_run("newer", scheduled_at=NOON + timedelta(days=1)),)))
    second = store.runs(RunQuery(limit=10, cursor=first.next_cursor))
    expected = sorted(RUNS, key=lambda run: (-run.scheduled_at.timestamp(), run.run_id))
    assert [*first.items, *second.items] == expected[:20]


@pytest.mark.parametrize("cursor", ["", "x", "~", "12", "1e3~a", "１２~a", "5~a b", "5~\ud800", "9" * 30 + "~1"])
def test_a_cursor_that_is_none_of_ours_is_refused(store: Store, cursor: str) -> None:
    """400, not an empty page or a stack trace."""
    with pytest.raises(BadRequest):
        store.runs(RunQuery(cursor=cursor))
    with pytest.raises(BadRequest):
        store.lines(LineQuery(cursor=cursor))


def test_a_question_in_characters_that_are_no_text_is_refused(store: Store) -> None:
    """A lone surrogate matches nothing that could be stored: the caller's mistake, said as such."""
    with pytest.raises(BadRequest):
        store.lines(LineQuery(actor="\ud800"))
    with pytest.raises(BadRequest):
        store.get_run("\ud800")


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_has_from_one_to_a_thousand_items(limit: int) -> None:
    """A limit outside is refused where it is given."""
    with pytest.raises(BadRequest):
        RunQuery(limit=limit)
    with pytest.raises(BadRequest):
        LineQuery(limit=limit)
