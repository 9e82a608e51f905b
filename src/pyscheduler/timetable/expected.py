"""When a run that waits for others may start, where all goes as expected: the engine's rules on made-up runs.

Of each upstream the latest run created so far speaks for its date (spec: jobs.md 4.2), so an upstream is ready from the
end of one run until the next is created, and from the end of its last run for good. What overlap calls off never speaks
(DESIGN 8 row 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyscheduler.model.firing import Firing
from pyscheduler.model.job import Overlap


@dataclass(frozen=True, slots=True)
class ExpectedRun:
    """An upstream run as it is expected: aware UTC instants."""

    created_at: datetime
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class Ready:
    """The first instant at which all upstreams are ready, and the number of the one that was ready last."""

    at: datetime
    number: int


def undisturbed(firings: Iterable[Firing], duration_s: float, overlap: Overlap) -> tuple[ExpectedRun, ...]:
    """Return the runs of one job and date that will stand for it, oldest first, each taking `duration_s`.

    A firing that comes while another run of the date still goes waits, and takes the place of one that waited before
    (`queue`), is called off (`skip`) or runs beside it (`allow`). Spec: jobs.md 5.1.
    """
    takes = timedelta(seconds=duration_s)
    runs: list[ExpectedRun] = []
    waits_until: datetime | None = None
    for firing in firings:
        created, start = firing.scheduled_at, firing.scheduled_at + timedelta(seconds=firing.jitter_s)
        busy = overlap is not Overlap.ALLOW and bool(runs) and created < runs[-1].ended_at
        if busy and overlap is Overlap.SKIP:
            continue
        if busy and waits_until is not None and created < waits_until:
            runs.pop()  # superseded
        waits_until = runs[-1].ended_at if busy else None
        runs.append(ExpectedRun(created, max(start, waits_until or start) + takes))
    return tuple(runs)


def first_ready(upstreams: Sequence[Sequence[ExpectedRun]], created_at: datetime) -> Ready | None:
    """Return the first instant from `created_at` on at which every upstream is ready; None where one has no runs."""
    if not all(upstreams):
        return None
    at = created_at
    while True:
        since = [_ready_from(runs, at) for runs in upstreams]
        latest = max(since)
        if latest <= at:
            return Ready(at, since.index(latest))
        at = latest


def _ready_from(runs: Sequence[ExpectedRun], at: datetime) -> datetime:
    """Return since when the upstream is ready at `at`, or the first instant after it from which on it is."""
    for run, following in zip(runs, [*runs[1:], None], strict=True):
        if following is None or max(run.ended_at, at) < following.created_at:
            return run.ended_at
    raise AssertionError("an upstream without runs is never asked")
