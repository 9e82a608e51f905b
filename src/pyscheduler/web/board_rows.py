"""From the runs of a day to the rows of a page: filter, order, cut to a page, and add what a person compares.

`arrange` is for a helper thread: ten thousand runs take tens of milliseconds. It is given frozen values only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from pyscheduler.model.job import Criticality, Job
from pyscheduler.model.run import FINAL_STATES, Attempt, Run, RunState
from pyscheduler.web.offers import OFFERS, Offer
from pyscheduler.web.waiting_for import WaitingFor
from pyscheduler.web.worst_first import UNKNOWN, Group, Pace, criticality_of, group_of, is_long, is_short, order_key

ROWS: Final = 200
"""Rows of one page, never more."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody wants to see of a day. What is empty or None does not restrict."""

    states: frozenset[RunState] = frozenset()
    tag: str = ""
    criticality: Criticality | None = None
    text: str = ""

    def admits(self, run: Run, job: Job | None) -> bool:
        """Whether a run is wanted, its state aside."""
        if self.tag and (job is None or self.tag not in job.tags):
            return False
        if self.criticality is not None and criticality_of(job) is not self.criticality:
            return False
        return not self.text or self._is_in(run, job)

    def _is_in(self, run: Run, job: Job | None) -> bool:
        needle = self.text.casefold()
        texts = (run.job, run.reason, run.run_id, *(job.tags if job is not None else ()))
        return any(needle in text.casefold() for text in texts)


@dataclass(frozen=True, slots=True)
class Facts:
    """What surrounds the runs of a day. `paces` are those of running attempts, by run id."""

    jobs: Mapping[str, Job]
    now: datetime
    paces: Mapping[str, Pace]


@dataclass(frozen=True, slots=True)
class Arranged:
    """The runs of one page in order, each with its group, and how many there are in all."""

    runs: Sequence[tuple[Run, Group]]
    matching: int
    page: int
    pages: int
    late: int


def arrange(runs: Sequence[Run], wanted: Wanted, facts: Facts, page: int, rows: int = ROWS) -> Arranged:
    """Return one page of what is wanted, worst first. A page beyond the last is the last."""
    chosen = []
    late = 0
    for run in runs:
        job = facts.jobs.get(run.job)
        if wanted.states and run.state not in wanted.states:
            continue
        if not wanted.admits(run, job):
            continue
        group = group_of(run, job, facts.now, facts.paces.get(run.run_id, UNKNOWN))
        late += group is Group.LATE
        chosen.append((order_key(run, group, criticality_of(job)), run, group))
    chosen.sort(key=lambda each: each[0])
    pages = max(1, -(-len(chosen) // rows))
    page = min(max(1, page), pages)
    shown = [(run, group) for _, run, group in chosen[(page - 1) * rows : page * rows]]
    return Arranged(shown, len(chosen), page, pages, late)


@dataclass(frozen=True, slots=True)
class Row:
    """One run as a board shows it. `percent` is the time taken against the typical one."""

    run: Run
    job: Job | None
    group: Group
    started_at: datetime | None
    ended_at: datetime | None
    took_s: float | None
    typical_s: float | None
    flag: str
    waiting: WaitingFor | None = None
    offers: tuple[Offer, ...] = ()

    @property
    def criticality(self) -> str:
        """Its word."""
        return criticality_of(self.job).word

    @property
    def percent(self) -> int | None:
        """The time taken in per cent of the typical one, None where either is unknown."""
        if self.took_s is None or not self.typical_s:
            return None
        return min(9999, round(100 * self.took_s / self.typical_s))

    @property
    def is_late(self) -> bool:
        """Whether it should have started by now."""
        return self.group is Group.LATE

    @property
    def is_running(self) -> bool:
        """Whether its time still grows."""
        return self.run.state is RunState.RUNNING


def row_of(
    run: Run, group: Group, job: Job | None, latest: Attempt | None, typical_s: float | None, now: datetime
) -> Row:
    """Return the row of a run. `latest` is its latest attempt."""
    started = latest.started_at if latest is not None else None
    ended = latest.ended_at if latest is not None else None
    until = ended or (now if run.state is RunState.RUNNING else None)
    took = max(0.0, (until - started).total_seconds()) if started is not None and until is not None else None
    flag = _flag(run, job, Pace(took, typical_s))
    return Row(run, job, group, started, ended, took, typical_s, flag, offers=OFFERS[run.state])


def _flag(run: Run, job: Job | None, pace: Pace) -> str:
    if run.state is RunState.RUNNING or run.state in FINAL_STATES:
        if is_long(job, pace):
            return "long"
        if run.state is RunState.SUCCEEDED and is_short(job, pace):
            return "short"
    return ""


def told(row: Row, run: Run, waiting: WaitingFor | None) -> Row:
    """Return a row with what only the loop can tell: the reason that people are shown, and whom the run waits for."""
    return replace(row, run=run, waiting=waiting)
