"""From the runs of a day to the rows of a page: filter, order, cut to a page, and add what a person compares.

`arrange` is for a helper thread: to look for a text in ten thousand runs takes milliseconds. It is given frozen values
only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from pyscheduler.model.job import Criticality, Job
from pyscheduler.model.run import FINAL_STATES, Attempt, Run, RunState
from pyscheduler.web.offers import OFFERS, Offer
from pyscheduler.web.ranking import Place, late_among
from pyscheduler.web.waiting_for import WaitingFor
from pyscheduler.web.worst_first import Group, Pace, criticality_of, is_long, is_short

ROWS: Final = 200
"""Rows of one page, never more."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody wants to see of a day. What is empty or None does not restrict."""

    states: frozenset[RunState] = frozenset()
    tag: str = ""
    criticality: Criticality | None = None
    text: str = ""

    def of(self, places: Sequence[Place], jobs: Mapping[str, Job]) -> Sequence[Place]:
        """Return those that are wanted, in the same order."""
        if self.states:
            places = [place for place in places if place.run.state in self.states]
        if self.tag or self.criticality is not None:
            names = {job.name for job in jobs.values() if self._admits(job)}
            gone = self._admits(None)
            places = [place for place in places if (gone if place.run.job not in jobs else place.run.job in names)]
        return self._saying(places, jobs) if self.text else places

    def _admits(self, job: Job | None) -> bool:
        if self.tag and (job is None or self.tag not in job.tags):
            return False
        return self.criticality is None or criticality_of(job) is self.criticality

    def _saying(self, places: Sequence[Place], jobs: Mapping[str, Job]) -> Sequence[Place]:
        """Return those in whose run id (which begins with the job's name), reason or tags the text stands."""
        needle = self.text.casefold()
        tagged = {job.name for job in jobs.values() if job.tags and any(needle in tag.casefold() for tag in job.tags)}
        return [
            place
            for place in places
            if needle in (run := place.run).run_id.casefold() or needle in run.reason.casefold() or run.job in tagged
        ]


@dataclass(frozen=True, slots=True)
class Arranged:
    """The runs of one page in order, each with its group, and how many there are in all."""

    places: Sequence[Place]
    matching: int
    page: int
    pages: int
    late: int


def arrange(places: Sequence[Place], wanted: Wanted, jobs: Mapping[str, Job], page: int, rows: int = ROWS) -> Arranged:
    """Return one page of what is wanted of a day in its order. A page beyond the last is the last."""
    chosen = wanted.of(places, jobs)
    pages = max(1, -(-len(chosen) // rows))
    page = min(max(1, page), pages)
    return Arranged(chosen[(page - 1) * rows : page * rows], len(chosen), page, pages, late_among(chosen))


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
    def bar(self) -> float:
        """How long the bar is: the typical time fills half of its 60 pixels."""
        return min(60, round((self.percent or 0) * 0.3, 1))

    @property
    def stands_out(self) -> bool:
        """Whether its criticality is worth a word."""
        return self.job is not None and self.job.criticality >= Criticality.HIGH

    @property
    def must_say(self) -> bool:
        """Whether its job asks for a reason with every action."""
        return self.job is not None and self.job.require_reason

    @property
    def allow(self) -> Sequence[str]:
        """The teams that its job lets act on it; empty for all."""
        return () if self.job is None else self.job.allow

    @property
    def tags(self) -> Sequence[str]:
        """Its job's."""
        return () if self.job is None else self.job.tags

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
    if run is row.run and waiting is None:
        return row
    return replace(row, run=run, waiting=waiting)
