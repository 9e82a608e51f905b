"""The dependency rules: what each upstream says, and what they say together.

An upstream speaks through the latest run of the target date only (`latest_of`). Verdicts combine as skip > block >
wait > ready, and the reason is that of the first listed dependency with the winning verdict. Spec: jobs.md part 4,
DESIGN 8 rows 2 and 17.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from enum import IntEnum
from typing import Final

from pyscheduler.model.job import Dependency, DependsOn
from pyscheduler.model.run import Cause, Run, RunState


class Say(IntEnum):
    """What an upstream says; the greatest of all wins."""

    READY = 0
    WAIT = 1
    BLOCK = 2
    SKIP = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """One upstream's word, with the reason an operator reads."""

    say: Say
    reason: str = ""


READY: Final = Verdict(Say.READY)


@dataclass(frozen=True, slots=True)
class Upstream:
    """All that is known about one dependency of one run.

    `run_date` is the upstream's date, None where the calendar has no such working day. `run` is the latest run of that
    date. `first_of_self` is set where a job waits for its own earlier date and has no earlier run at all. `inactive`
    is the text of an upstream job that needs an inactive part of the product.
    """

    dependency: Dependency
    run_date: date | None
    run: Run | None = None
    first_of_self: bool = False
    inactive: str | None = None


_ENDED: Final = {
    DependsOn.SUCCESS: {
        RunState.SUCCEEDED: Say.READY,
        RunState.SKIPPED: Say.READY,
        RunState.FAILED: Say.BLOCK,
        RunState.CANCELLED: Say.BLOCK,
    },
    DependsOn.FAILURE: {
        RunState.SUCCEEDED: Say.SKIP,
        RunState.SKIPPED: Say.SKIP,
        RunState.FAILED: Say.READY,
        RunState.CANCELLED: Say.SKIP,
    },
    DependsOn.DONE: dict.fromkeys(
        (RunState.SUCCEEDED, RunState.SKIPPED, RunState.FAILED, RunState.CANCELLED), Say.READY
    ),
}


def verdict(upstream: Upstream) -> Verdict:
    """Return what one upstream says (spec 4.3)."""
    name = upstream.dependency.job
    if upstream.inactive:
        return Verdict(Say.BLOCK, f"blocked: {name} {upstream.inactive}")
    if upstream.run_date is None:
        return Verdict(Say.WAIT, f"waiting for {name}: its calendar has no such working day")
    run, place = upstream.run, f"{name} ({upstream.run_date})"
    if run is None:
        return READY if upstream.first_of_self else Verdict(Say.WAIT, f"waiting for {place}: no run yet")
    if run.state is RunState.BLOCKED:
        return Verdict(Say.BLOCK, f"blocked: {place} blocked by {root_of(run.reason)}")
    if not run.is_final:
        return Verdict(Say.WAIT, f"waiting for {place}")
    say = _ENDED[upstream.dependency.on][run.state]
    if say is Say.BLOCK:
        return Verdict(say, f"blocked: {place} {run.state}")
    return Verdict(say, f"skipped: {place} did not fail") if say is Say.SKIP else READY


def root_of(reason: str) -> str:
    """Return the root that a blocked run's reason names: the end of `blocked: B (D) blocked by A (D) failed`."""
    return reason.removeprefix("blocked: ").rpartition(" blocked by ")[2]


def combined(upstreams: Iterable[Upstream]) -> Verdict:
    """Return what all upstreams say together: all must be ready."""
    worst = READY
    for upstream in upstreams:
        spoken = verdict(upstream)
        if spoken.say > worst.say:
            worst = spoken
    return worst


def latest_of(runs: Iterable[Run]) -> Run | None:
    """Return the run that stands for its job and date: the greatest (scheduled_at, seq).

    A run that overlap cancelled never stands for its date when another exists (DESIGN 8 row 2).
    """
    return max(runs, key=standing, default=None)


def standing(run: Run) -> tuple[bool, object, int]:
    """Return the key by which the runs of one job and date are compared; the greatest stands for the date."""
    return (not cancelled_by_overlap(run), run.scheduled_at, run.seq)


def cancelled_by_overlap(run: Run) -> bool:
    """Whether overlap called it off: superseded by a newer run, or refused while another was active."""
    return run.state is RunState.CANCELLED and run.cause is Cause.OVERLAP


def reopened_by_rerun(run: Run) -> bool:
    """Whether a rerun of an upstream decides this run anew (DESIGN 8 rows 5 and 17).

    Only what a dependency verdict skipped, or what stands in line and was never started, offered or forced.
    """
    if run.state is RunState.SKIPPED:
        return run.cause is Cause.DEPENDENCY
    return run.state is RunState.QUEUED and run.is_fresh and not run.forced and run.offered_at is None
