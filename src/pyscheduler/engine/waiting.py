"""What a run stands in line for, and what keeps a job paused, in words: for lists, and for `explain`.

Worked out when it is shown, from the same facts and rules as `why`, and never written down: a pool that fills up would
change the reason of a thousand queued runs at once. Nothing is read from the store and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from pyscheduler.engine.desk import Desk
from pyscheduler.engine.pauses import EVERYTHING
from pyscheduler.model.job import Job
from pyscheduler.model.run import Run, RunState
from pyscheduler.rules.admission import needs_of
from pyscheduler.rules.why import Paused, RunFacts, line_of, shortages


def paused(desk: Desk, job: str, say: Callable[[datetime], str]) -> Paused | None:
    """Return what keeps a job paused, the job's own pause first; None where nothing does."""
    for what, words, end in ((job, "the job", job), (EVERYTHING, "the scheduler", "--all")):
        if (pause := desk.pauses.get(what)) is not None:
            reason = f" ({pause.reason})" if pause.reason else ""
            text = f"{words} is paused by {pause.by} since {say(pause.since)}{reason}"
            return Paused(text, f"pysched resume {end}")
    return None


def standing(desk: Desk, run: Run, job: Job | None, say: Callable[[datetime], str]) -> RunFacts:
    """Return the facts about a run that need no look at other runs."""
    admission = desk.admission
    gated = run.state is RunState.QUEUED and desk.is_gated(run)
    return RunFacts(
        paused=paused(desk, run.job, say),
        max_running=admission.max_running,
        running=admission.running,
        shortage=shortages(
            needs_of(job) if job is not None else (), admission.free, admission.pools, admission.holders_of
        ),
        attempt=desk.latest_attempt(run.run_id),
        wake_at=run.not_before if gated or run.state is RunState.RETRY_WAIT else None,
    )


def shown_reason(desk: Desk, run: Run, say: Callable[[datetime], str]) -> str:
    """Return the reason that a list shows of a run: its own, and what it stands in line for."""
    if run.state is not RunState.QUEUED:
        return run.reason
    return line_of(run, standing(desk, run, desk.config.jobs.get(run.job), say), say)
