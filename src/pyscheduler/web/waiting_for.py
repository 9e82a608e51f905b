"""Whom a run waits for, in a few words with a link: the "waiting for" column. The same facts and verdicts as `why`.

Only what is in memory is asked, so that two hundred rows cost a few milliseconds: the whole answer, with what would
release the run, is on its own page (`engine.explain`). An upstream that itself waits is followed to the root, at most
HOPS deep, because the root is whom somebody must look after.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyscheduler.engine.core import Engine
from pyscheduler.model.job import Job
from pyscheduler.model.run import Run, RunState
from pyscheduler.rules.dependencies import Upstream
from pyscheduler.rules.overlap import waits_for_overlap
from pyscheduler.rules.why import blamed

HOPS: Final = 20
DEPENDENCIES: Final = 200
"""Dependencies of one job that are looked at for one row."""
_STUCK: Final = frozenset({RunState.SCHEDULED, RunState.WAITING, RunState.BLOCKED})


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """Whom a run waits for: a run, or a job that has no run yet. `root`: the chain's end, if another."""

    job: str
    run: Run | None = None
    root: Run | None = None
    words: str = ""
    """What stands in the way where no run and no job does."""


def waiting_for(engine: Engine, run: Run) -> WaitingFor | None:
    """Return whom an open run waits for, None where nobody else is to blame. On the loop; reads nothing from disk."""
    job = engine.config.jobs.get(run.job)
    if job is None or run.state not in _STUCK:
        return None
    if waits_for_overlap(run):
        others = (other for other in engine.book.active_for(run.job) if other.run_id != run.run_id)
        other = next(others, None)
        return None if other is None else WaitingFor(other.job, other)
    culprit = _culprit(engine, run, job)
    if culprit is None:
        return None
    if culprit.run is None:
        return WaitingFor(culprit.dependency.job)
    return WaitingFor(culprit.run.job, culprit.run, _root(engine, culprit.run))


def _culprit(engine: Engine, run: Run, job: Job) -> Upstream | None:
    if not job.depends_on or len(job.depends_on) > DEPENDENCIES:
        return None
    return blamed(engine.desk.upstreams(run, job))


def _root(engine: Engine, run: Run) -> Run | None:
    """Return the run at the end of a chain of runs that wait; None where this one is the end."""
    seen, here = {run.run_id}, run
    for _ in range(HOPS):
        job = engine.config.jobs.get(here.job)
        if here.state not in _STUCK or job is None or waits_for_overlap(here):
            break
        culprit = _culprit(engine, here, job)
        if culprit is None or culprit.run is None or culprit.run.run_id in seen:
            break
        here = culprit.run
        seen.add(here.run_id)
    return None if here is run else here
