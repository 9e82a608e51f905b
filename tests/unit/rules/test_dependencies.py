"""What an upstream says, alone and with others: the tables of jobs.md 4.3 and DESIGN 8 rows 2, 5 and 17."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from pyscheduler.model.job import Dependency, DependsOn
from pyscheduler.model.run import Cause, RunState
from pyscheduler.rules.dependencies import (
    READY,
    Say,
    Upstream,
    Verdict,
    combined,
    latest_of,
    reopened_by_rerun,
    root_of,
    verdict,
)
from tests.builders import DAY, NOON, a_run

S = RunState
ON = DependsOn


def upstream(state: RunState | None, on: DependsOn = ON.SUCCESS, job: str = "extract", reason: str = "") -> Upstream:
    """Return an upstream whose latest run is in a state, or that has none."""
    run = None if state is None else a_run(job, state=state, reason=reason)
    return Upstream(Dependency(job, on), DAY, run)


OPEN = [S.SCHEDULED, S.WAITING, S.QUEUED, S.RUNNING, S.RETRY_WAIT, S.HELD]


@pytest.mark.parametrize("on", list(ON))
@pytest.mark.parametrize("state", [None, *OPEN])
def test_an_upstream_that_has_not_ended_is_waited_for(state: RunState | None, on: DependsOn) -> None:
    """Held and between two tries are not ends either."""
    spoken = verdict(upstream(state, on))
    assert spoken.say is Say.WAIT
    assert spoken.reason == "waiting for extract (2027-05-20)" + ("" if state else ": no run yet")


@pytest.mark.parametrize(
    ("state", "on", "say", "reason"),
    [
        (S.SUCCEEDED, ON.SUCCESS, Say.READY, ""),
        (S.SUCCEEDED, ON.FAILURE, Say.SKIP, "skipped: extract (2027-05-20) did not fail"),
        (S.SUCCEEDED, ON.DONE, Say.READY, ""),
        (S.SKIPPED, ON.SUCCESS, Say.READY, ""),
        (S.SKIPPED, ON.FAILURE, Say.SKIP, "skipped: extract (2027-05-20) did not fail"),
        (S.SKIPPED, ON.DONE, Say.READY, ""),
        (S.FAILED, ON.SUCCESS, Say.BLOCK, "blocked: extract (2027-05-20) failed"),
        (S.FAILED, ON.FAILURE, Say.READY, ""),
        (S.FAILED, ON.DONE, Say.READY, ""),
        (S.CANCELLED, ON.SUCCESS, Say.BLOCK, "blocked: extract (2027-05-20) cancelled"),
        (S.CANCELLED, ON.FAILURE, Say.SKIP, "skipped: extract (2027-05-20) did not fail"),
        (S.CANCELLED, ON.DONE, Say.READY, ""),
    ],
)
def test_an_ended_upstream_says_what_the_table_says(state: RunState, on: DependsOn, say: Say, reason: str) -> None:
    """jobs.md 4.3, every cell."""
    assert verdict(upstream(state, on)) == Verdict(say, reason)


@pytest.mark.parametrize("on", list(ON))
def test_a_blocked_upstream_blocks_and_the_root_is_named(on: DependsOn) -> None:
    """A dependant of a blocked run does not wait without end, and says who is to blame (DESIGN 8 row 17)."""
    direct = verdict(upstream(S.BLOCKED, on, reason="blocked: fetch (2027-05-20) failed"))
    assert direct.say is Say.BLOCK
    assert direct.reason == "blocked: extract (2027-05-20) blocked by fetch (2027-05-20) failed"
    further = verdict(upstream(S.BLOCKED, on, job="load", reason=direct.reason))
    assert further.reason == "blocked: load (2027-05-20) blocked by fetch (2027-05-20) failed"
    assert root_of(further.reason) == "fetch (2027-05-20) failed"


def test_a_job_that_waits_for_its_own_past_may_begin() -> None:
    """A self-dependency with no earlier run counts as met; a later one waits as any other (DESIGN 8 row 17)."""
    edge = Dependency("load", ON.SUCCESS, -1)
    yesterday = DAY - timedelta(days=1)
    assert verdict(Upstream(edge, yesterday, None, first_of_self=True)) == READY
    assert verdict(Upstream(edge, yesterday, None)).say is Say.WAIT
    failed = a_run("load", yesterday, state=S.FAILED)
    assert verdict(Upstream(edge, yesterday, failed, first_of_self=True)).say is Say.BLOCK


def test_a_date_the_calendar_does_not_have_is_waited_for_and_said() -> None:
    """A shift past the calendar's end has no run to look at."""
    spoken = verdict(Upstream(Dependency("extract", ON.SUCCESS, -1), None))
    assert spoken.say is Say.WAIT
    assert "no such working day" in spoken.reason


def test_an_inactive_upstream_blocks_whatever_its_runs_say() -> None:
    """A watcher that is not active yet can satisfy nobody."""
    watcher = Upstream(
        Dependency("inbox"), DAY, a_run("inbox", state=S.SUCCEEDED), inactive="is a watcher, not active yet"
    )
    assert verdict(watcher) == Verdict(Say.BLOCK, "blocked: inbox is a watcher, not active yet")


def test_skip_beats_block_beats_wait_beats_ready() -> None:
    """All must be ready; the first listed with the winning word gives the reason."""
    ready, wait, block = upstream(S.SUCCEEDED), upstream(S.RUNNING, job="a"), upstream(S.FAILED, job="b")
    skip = upstream(S.SUCCEEDED, ON.FAILURE, job="c")
    assert combined([]) == READY
    assert combined([ready, ready]) == READY
    assert combined([ready, wait]).reason == "waiting for a (2027-05-20)"
    assert combined([wait, block]).reason == "blocked: b (2027-05-20) failed"
    assert combined([block, wait, skip]).say is Say.SKIP
    assert combined([wait, upstream(S.HELD, job="z")]).reason == "waiting for a (2027-05-20)"


def test_the_latest_run_stands_for_its_date_by_number_and_not_by_text() -> None:
    """Run 11 beats run 9 (DESIGN 8 row 2)."""
    nine, eleven = a_run(seq=9), a_run(seq=11)
    assert latest_of([eleven, nine]) is eleven
    later = a_run(seq=2, scheduled_at=NOON + timedelta(hours=1))
    assert latest_of([later, eleven]) is later
    assert latest_of([]) is None


def test_what_overlap_called_off_stands_only_when_nothing_else_does() -> None:
    """With overlap: skip the newest run is a cancelled one, and must not block its dependants (DESIGN 8 row 2)."""
    good = a_run(seq=1, state=S.SUCCEEDED)
    refused = a_run(seq=2, state=S.CANCELLED, cause=Cause.OVERLAP, scheduled_at=NOON + timedelta(hours=1))
    by_hand = a_run(seq=3, state=S.CANCELLED, cause=Cause.HAND, scheduled_at=NOON + timedelta(hours=2))
    assert latest_of([good, refused]) is good
    assert latest_of([refused]) is refused
    assert latest_of([good, refused, by_hand]) is by_hand


def test_a_rerun_upstream_reopens_verdicts_and_queues_but_no_hand() -> None:
    """DESIGN 8 rows 5 and 17: only what its word alone had decided."""
    assert reopened_by_rerun(a_run(state=S.SKIPPED, cause=Cause.DEPENDENCY))
    assert not reopened_by_rerun(a_run(state=S.SKIPPED, cause=Cause.HAND))
    assert reopened_by_rerun(a_run(state=S.QUEUED))
    assert not reopened_by_rerun(a_run(state=S.QUEUED, forced=True))
    assert not reopened_by_rerun(a_run(state=S.QUEUED, attempt=1))
    for state in (S.SUCCEEDED, S.FAILED, S.CANCELLED, S.RUNNING, S.HELD, S.RETRY_WAIT):
        assert not reopened_by_rerun(a_run(state=state, cause=Cause.DEPENDENCY))


def test_dates_in_reasons_are_iso() -> None:
    """The date in a reason is the upstream's own, as everywhere."""
    spoken = verdict(Upstream(Dependency("extract", ON.SUCCESS, -1), date(2027, 5, 14)))
    assert spoken.reason == "waiting for extract (2027-05-14): no run yet"
