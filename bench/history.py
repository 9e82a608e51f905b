"""A store with years of history, made through the front door: what the benches about large stores read.

Always the same for the same size: four jobs run every minute, a hundred every hour, the rest once a day; most runs
succeed, a few fail, are skipped or cancelled; one in a hundred is started by hand. The last OPEN_RUNS are still open.
Each run that was started has an attempt, and three or four lines in the logbook.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from pyscheduler.model.ids import make_run_id
from pyscheduler.model.run import Attempt, LogbookLine, Outcome, Run, RunState, Trigger
from pyscheduler.store import Batch, Store

JOBS = 1_000
EVERY_MINUTE, EVERY_HOUR = 4, 100
LAST_DAY = date(2027, 5, 20)
OPEN_RUNS = 10_000
PER_BATCH = 2_000

STATES = [RunState.SUCCEEDED] * 96 + [RunState.FAILED] * 2 + [RunState.SKIPPED, RunState.CANCELLED]
OPEN = [RunState.WAITING, RunState.QUEUED, RunState.HELD, RunState.RETRY_WAIT, RunState.BLOCKED]
REASONS = {RunState.FAILED: "exit 1", RunState.SKIPPED: "skip by ada", RunState.CANCELLED: "superseded"}


def job_names() -> list[str]:
    """Return the jobs, busiest first."""
    return [f"job-{number:04d}" for number in range(JOBS)]


def minutes_between_runs(number: int) -> int:
    """Return how often a job runs."""
    if number < EVERY_MINUTE:
        return 1
    return 60 if number < EVERY_MINUTE + EVERY_HOUR else 1440


def firings_of_day(day: date) -> Iterator[tuple[datetime, str, int]]:
    """Yield (instant, job, number within the day) in order of time."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    names = job_names()
    for minute in range(1440):
        for number, name in enumerate(names):
            step = minutes_between_runs(number)
            if minute % step == number % step:
                yield midnight + timedelta(minutes=minute), name, minute // step + 1


def build(state_dir: Path, runs: int, open_runs: int = OPEN_RUNS) -> Store:
    """Return a store with so many runs, open ones included; nothing is synced on the way."""
    store = Store.open(state_dir, sync=False)
    per_day = sum(1440 // minutes_between_runs(number) for number in range(JOBS))
    first = LAST_DAY - timedelta(days=runs // per_day)
    chance, left, batch = random.Random(1), runs, []
    for back in range((LAST_DAY - first).days + 1):
        for at, job, seq in firings_of_day(first + timedelta(days=back)):
            if not left:
                break
            batch.append(_run(at, job, seq, chance, is_open=left <= open_runs))
            left -= 1
            if len(batch) == PER_BATCH or not left:
                store.apply(_with_rest(batch))
                batch = []
    store.tidy()
    return store


def _run(at: datetime, job: str, seq: int, chance: random.Random, *, is_open: bool) -> Run:
    state = chance.choice(OPEN if is_open else STATES)
    started = state in (RunState.SUCCEEDED, RunState.FAILED, RunState.RETRY_WAIT)
    return Run(
        run_id=make_run_id(job, at.date(), seq),
        job=job,
        run_date=at.date(),
        seq=seq,
        scheduled_at=at,
        trigger=Trigger.MANUAL if chance.random() < 0.01 else Trigger.SCHEDULE,
        created_at=at,
        updated_at=at + timedelta(seconds=30),
        state=state,
        reason=REASONS.get(state, ""),
        attempt=int(started),
    )


def _with_rest(runs: list[Run]) -> Batch:
    started = [run for run in runs if run.attempt]
    lines = [line for run in runs for line in _lines(run)]
    return Batch(runs=tuple(runs), attempts=tuple(map(_attempt, started)), lines=tuple(lines))


def _attempt(run: Run) -> Attempt:
    logs = f"/var/log/pysched/{run.job}/{run.run_date}/{run.run_id}.1"
    return Attempt(
        run_id=run.run_id,
        attempt=1,
        key=f"{hash(run.scheduled_at) & 0xFFFFFFFF:032x}",
        started_at=run.scheduled_at,
        boot_id="5e3c5f0e-6a0e-4d8e-9d3a-000000000000",
        pid=4711,
        ended_at=run.updated_at,
        exit_code=0 if run.state is RunState.SUCCEEDED else 1,
        outcome=Outcome.SUCCEEDED if run.state is RunState.SUCCEEDED else Outcome.FAILED,
        reason=run.reason,
        stdout_path=f"{logs}.out",
        stderr_path=f"{logs}.err",
        status_path=f"/var/lib/pysched/status/{run.run_id}.1.json",
    )


def _lines(run: Run) -> Iterator[LogbookLine]:
    actions = ["created"] + ["attempt_started", "attempt_ended"] * run.attempt + ["finished"] * run.is_final
    for action in actions:
        yield LogbookLine(at=run.scheduled_at, actor="scheduler", action=action, run_id=run.run_id, job=run.job)
    if run.trigger is Trigger.MANUAL:
        yield LogbookLine(at=run.scheduled_at, actor="ada", action="trigger", run_id=run.run_id, job=run.job)
