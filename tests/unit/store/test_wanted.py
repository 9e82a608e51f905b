"""What a query asks for, once its text has been resolved."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from pyscheduler.errors import BadRequest
from pyscheduler.model.run import FINAL_STATES, RunState, Trigger
from pyscheduler.store.questions import RunQuery, cursor_at, position
from pyscheduler.store.wanted import Wanted, resolved, window_of

NOON = datetime(2027, 5, 20, 12, tzinfo=UTC)
DAY = date(2027, 5, 20)


def wanted(query: RunQuery) -> Wanted:
    """Resolve a query in a store whose jobs with runs are `alpha` and `alpine`."""
    return resolved(query, lambda beginning: frozenset(job for job in ("alpha", "alpine") if job.startswith(beginning)))


def test_nothing_chosen_wants_everything() -> None:
    """Every state and trigger, no job and no date."""
    found = wanted(RunQuery())
    assert set(found.ended) == FINAL_STATES
    assert found.open
    assert set(found.triggers) == set(Trigger)
    assert (found.jobs, found.dates, found.checks, found.sieve.names) == (None, None, (), ())


def test_open_runs_are_left_out_where_only_ended_ones_are_wanted() -> None:
    """And the other way round."""
    assert not wanted(RunQuery(states={RunState.FAILED})).open
    assert wanted(RunQuery(states={RunState.HELD})).ended == ()


def test_a_job_and_jobs_must_both_hold() -> None:
    """A job that does not carry the chosen tag matches nothing."""
    assert wanted(RunQuery(job="a", jobs={"a", "b"})).jobs == frozenset({"a"})
    assert wanted(RunQuery(job="a", jobs={"b"})).jobs == frozenset()


def test_a_text_names_jobs_by_beginning_and_by_what_the_caller_knows() -> None:
    """Both together; within a choice of jobs only those."""
    assert wanted(RunQuery(text="alp", text_jobs={"tagged"})).jobs == frozenset({"alpha", "alpine", "tagged"})
    assert wanted(RunQuery(text="alp", text_jobs={"tagged"}, jobs={"alpha", "x"})).jobs == frozenset({"alpha"})


def test_a_text_that_goes_on_into_a_date_names_dates_too() -> None:
    """The beginning of a run id: its job, and every date that begins so."""
    found = wanted(RunQuery(text="alpha.2027-05"))
    assert found.jobs == frozenset({"alpha"})
    assert found.dates is not None
    low, high = found.dates
    assert low <= "2027-05-01" <= "2027-05-31" <= high
    assert not low <= "2027-06-01" <= high
    assert found.day is None


def test_reasons_are_searched_only_within_a_chosen_stretch() -> None:
    """A run date or a beginning in time; then any job may match by its reason."""
    for query in (RunQuery(text="boom", run_date=DAY), RunQuery(text="boom", since=NOON)):
        found = wanted(query)
        assert found.more == ("reason",)
        assert found.jobs is None
        assert found.keeps(("x.2027-05-20.1", 1, "failed", "manual", "BOOM: exit 1"))
        assert not found.keeps(("x.2027-05-20.1", 1, "failed", "manual", "exit 1"))
    assert wanted(RunQuery(text="boom", until=NOON)).more == ()


def test_marks_are_never_kept() -> None:
    """They say how far was looked, and are nobody's run."""
    assert not wanted(RunQuery()).keeps(("a.2027-05-20.1", 1, None, 512))


def test_the_window_includes_since_and_not_until() -> None:
    """To the microsecond."""
    window = window_of(RunQuery(since=NOON, until=NOON.replace(hour=13)))
    assert window.high - window.low == 3600 * 1_000_000 - 1


def test_a_cursor_is_read_back_as_it_was_made() -> None:
    """Before 1970 too."""
    assert position(cursor_at(-5, "a-b_C.2027-05-20.12")) == (-5, "a-b_C.2027-05-20.12")
    for text in ("", "~", "5~", "5", "x~a", "1~a b", "1~\udc00"):
        with pytest.raises(BadRequest):
            position(text)
