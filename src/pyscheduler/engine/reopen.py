"""Waking up: read the register, read the minders' notes, see what was missed, and go on. Seed 000, DESIGN 5.

Everything decided here is committed in one flush before anything is launched. The launcher is asked about every
attempt that was running first, since what it finds are facts; then the rules decide, the firings missed since
`last_tick` are chosen among, and one trip carries it all.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from pyscheduler.engine.desk import Desk
from pyscheduler.engine.environment import fit_to_tell
from pyscheduler.engine.firings import JUST_BEFORE, SLICE
from pyscheduler.engine.machine import booted_at
from pyscheduler.engine.orders import Orders, ref_of
from pyscheduler.engine.pauses import Pauses
from pyscheduler.engine.ports import AttemptHandle, Finished, Found, Lost, Running
from pyscheduler.model import event as ev
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.job import Job, RebootSpec
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import UNDECIDED_STATES, Attempt, Run, RunState, Trigger
from pyscheduler.rules import alerting
from pyscheduler.rules.lifecycle import next_wake
from pyscheduler.rules.numbering import KEY as NUMBERING
from pyscheduler.rules.numbering import Given, Numbering
from pyscheduler.rules.overlap import turn_key
from pyscheduler.rules.recovery import NO_ROW, found_ended, missing_row
from pyscheduler.store import Store
from pyscheduler.timetable.zone import zone

if TYPE_CHECKING:
    from pyscheduler.engine.core import Engine

log = logging.getLogger(__name__)

FINDS_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class _Register:
    """What the store remembers, read in one go."""

    open_runs: list[Run]
    attempts: dict[str, list[Attempt]]
    starts_told: set[tuple[str, int]]
    values: dict[str, str]
    config: ConfigRecord | None
    jobs_with_runs: set[str]
    first_dates: dict[str, date]
    store_is_older: bool
    generation: int


def _read(store: Store, self_dependent: list[str]) -> _Register:
    open_runs = store.open_runs()
    generation = store.raise_generation()
    return _Register(
        open_runs,
        store.attempts_of(run.run_id for run in open_runs if run.attempt),
        store.starts_told(run.run_id for run in open_runs if run.state is RunState.RUNNING),
        store.engine_values(),
        store.latest_config(),
        store.jobs_with_runs(),
        store.first_dates(self_dependent),
        generation.older,
        generation.next,
    )


async def reopen(engine: Engine) -> None:
    """Bring a new engine to where the store says the last one was, and catch up."""
    desk, config = engine.desk, engine.desk.config
    if engine.offers is not None:
        await engine.offers.recall()
    register = await asyncio.to_thread(_read, engine.store, self_dependent_jobs(desk))
    now = engine.clock.now()
    is_new = register.config is None or register.config.digest != config.digest
    desk.version = (register.config.version if register.config else 0) + is_new
    _go_on_numbering(engine, register, now)
    engine.orders = Orders(config, desk.version, engine.environ, engine.boot_id, desk.book.numbering)
    desk.pauses = Pauses.from_text(register.values.get("paused"))
    desk.first_dates = dict(register.first_dates)
    desk.alarms.remember(register.values)
    engine.silence.remember(register.values)
    await _load_memory(engine, register, now)
    found = await _find_all(engine, register)
    _tell_of_starts(desk, register)
    for run in desk.book.open_runs():
        _place(engine, run, found.get(run.run_id))
    await _decide_undecided(engine)
    await _catch_up(engine, register, now)
    _remember_start(engine, register, now, is_new=is_new)
    engine.silence.settle()
    _watch_deadlines(engine, register)
    await engine.firings.rebuild(now if "last_tick" in register.values else now - JUST_BEFORE)
    await engine.proceed()


def _go_on_numbering(engine: Engine, register: _Register, now: datetime) -> None:
    """Number new runs as the last engine did; above all numbers there ever were, where the store is older."""
    desk = engine.desk
    desk.book.given = Given.remembered(register.values)
    if not register.store_is_older:
        desk.book.numbering = Numbering.remembered(register.values)
        return
    today = zone(desk.config.settings.timezone).today(now)
    desk.book.numbering = numbering = Numbering.after_restore(register.generation, now, today)
    desk.tray.engine[NUMBERING] = numbering.to_text()
    until = numbering.until.isoformat()
    desk.tray.lines.append(desk.line("restored", numbered_above=numbering.above, until=until))
    log.warning("the store is older than its folder: new runs up to %s are numbered above %d", until, numbering.above)


def self_dependent_jobs(desk: Desk) -> list[str]:
    """Return the jobs that wait for an earlier run date of their own."""
    jobs = desk.config.jobs.values()
    return [job.name for job in jobs if any(edge.job == job.name for edge in job.depends_on)]


# --------------------------------------------------------------------------- the register


async def _load_memory(engine: Engine, register: _Register, now: datetime) -> None:
    desk, settings = engine.desk, engine.desk.config.settings
    since = desk.window_start(now)
    runs, complete_from = await asyncio.to_thread(engine.store.memory_window, since, settings.memory_runs)
    desk.book.memory_start = complete_from
    for start in range(0, len(runs), 1000):
        desk.book.load(runs[start : start + 1000])
        await asyncio.sleep(0)
    for start in range(0, len(register.open_runs), 500):
        desk.book.load(register.open_runs[start : start + 500])
        await asyncio.sleep(0)
    for rows in register.attempts.values():
        for row in rows:
            desk.keep_attempt(row)
    await engine.load_days((run.job, run.run_date) for run in register.open_runs)


def _watch_deadlines(engine: Engine, register: _Register) -> None:
    """Set the timers of what was open before: one that is over rings only if the last engine did not live to see it."""
    if not any(job.must_start_by is not None or job.max_runtime_s for job in engine.config.jobs.values()):
        return
    last_sign = _last_sign(register)
    for run in register.open_runs:
        current = engine.book.get(run.run_id)
        if current is not None and not current.is_final:
            engine.deadlines.follow(current, last_sign)
        if current is not None and run.state is RunState.RUNNING and current.state is not RunState.RUNNING:
            _tell_of_overrun(engine, current, last_sign)


def _last_sign(register: _Register) -> datetime:
    """Return when a scheduler was last known to be alive (spec 15.1, "Restart")."""
    signs = [run.updated_at for run in register.open_runs]
    if register.config is not None:
        signs.append(register.config.loaded_at)
    if (text := register.values.get("last_tick")) is not None:
        signs.append(datetime.fromisoformat(text))
    return max(signs, default=datetime.min.replace(tzinfo=UTC))


def _tell_of_overrun(engine: Engine, run: Run, last_sign: datetime) -> None:
    """Tell of an attempt that ran too long and ended while the scheduler was down."""
    desk = engine.desk
    job, attempt = desk.config.jobs.get(run.job), desk.latest_attempt(run.run_id)
    if job is None or attempt is None:
        return
    alert = alerting.ran_too_long(run, attempt, job, last_sign, engine.clock.now())
    if alert is not None:
        desk.alarms.raise_(alert, job)


# --------------------------------------------------------------------------- the minders' notes


async def _find_all(engine: Engine, register: _Register) -> dict[str, Found]:
    """Ask the launcher about every attempt that was running."""
    running = [run for run in register.open_runs if run.state is RunState.RUNNING]
    gate = asyncio.Semaphore(FINDS_AT_ONCE)

    async def find(run: Run) -> tuple[str, Found]:
        attempt = engine.desk.latest_attempt(run.run_id)
        if attempt is None or attempt.attempt != run.attempt:
            return run.run_id, Lost(NO_ROW)
        job = engine.desk.config.jobs.get(run.job)
        async with gate:
            ref = ref_of(attempt, job, store_is_older=register.store_is_older)
            return run.run_id, await engine.launcher.find(ref)

    return dict(await asyncio.gather(*map(find, running)))


def _tell_of_starts(desk: Desk, register: _Register) -> None:
    """Write the lines of what nodes have started and no engine has lived to see started."""
    for run in register.open_runs:
        attempt = desk.latest_attempt(run.run_id)
        is_running = run.state is RunState.RUNNING and attempt is not None and attempt.attempt == run.attempt
        if is_running and (run.run_id, run.attempt) not in register.starts_told:
            desk.tray.lines.append(desk.line("attempt_started", run, attempt=run.attempt))


def _place(engine: Engine, run: Run, found: Found | None) -> None:
    """Decide what one open run becomes, as far as it does not depend on others (spec 9.1)."""
    desk = engine.desk
    job = desk.config.jobs.get(run.job)
    if run.state is RunState.RUNNING:
        assert found is not None, f"nobody asked what became of {run.run_id}"
        _place_running(engine, run, job, found)
    elif run.offered_at is not None:  # a node has claimed it: its start is about to be seen
        desk.admission.adopt(run.run_id, tuple(sorted(job.pools.items())) if job else ())
    elif job is None or not job.enabled:
        desk.apply(run, ev.JobWithdrawn("job no longer configured" if job is None else "disabled"))
    else:
        desk.line_up(run)
        engine.performer.wake_at(run.run_id, next_wake(run))


def _place_running(engine: Engine, run: Run, job: Job | None, found: Found) -> None:
    desk = engine.desk
    attempt = desk.latest_attempt(run.run_id)
    if attempt is None or attempt.attempt != run.attempt:
        attempt = missing_row(run)
        desk.keep_attempt(attempt)
    match found:
        case Running(handle):
            desk.admission.adopt(run.run_id, tuple(sorted(job.pools.items())) if job else ())
            (desk.apply if engine.offers is None else desk.see)(run, ev.Adopted(attempt))
            _adopt(engine, run, job, attempt, engine.offers.handle(run) if engine.offers is not None else handle)
        case Finished(result):
            desk.apply(run, _ended(engine, run, job, attempt, result))
        case Lost(reason):
            desk.apply(run, _ended(engine, run, job, attempt, AttemptResult(lost=reason)))


def _ended(engine: Engine, run: Run, job: Job | None, attempt: Attempt, result: AttemptResult) -> ev.Event:
    retry_for = job if job is not None and job.enabled else None
    result = fit_to_tell(result, engine.config.variables)
    return found_ended(run, attempt, result, retry_for, engine.clock.now(), random.random())


def _adopt(engine: Engine, run: Run, job: Job | None, attempt: Attempt, handle: AttemptHandle) -> None:
    left = None
    if engine.offers is None and job is not None and job.timeout_s is not None:
        left = job.timeout_s - (engine.clock.now() - attempt.started_at).total_seconds()
    engine.attempts.adopt(run.run_id, attempt.attempt, handle, left)
    if attempt.kill_by is not None and engine.offers is None:
        engine.attempts.terminate(run.run_id, attempt.attempt, "kill", attempt.kill_by)


async def _decide_undecided(engine: Engine) -> None:
    waiting = [run for run in engine.desk.book.open_runs() if run.state in UNDECIDED_STATES]
    for count, run in enumerate(sorted(waiting, key=turn_key)):
        engine.desk.look(run)
        if count % SLICE == SLICE - 1:
            await asyncio.sleep(0)
    await work_off(engine.desk)


async def work_off(desk: Desk) -> None:
    """Look at everything that the latest decisions concern, a slice a turn of the loop."""
    more = True
    while more:
        more = desk.work_off()
        if more:
            await asyncio.sleep(0)


# --------------------------------------------------------------------------- the missed chores


async def _catch_up(engine: Engine, register: _Register, now: datetime) -> None:
    """Create the late runs, unless this is the first start or the store is older than its folder."""
    text = register.values.get("last_tick")
    if text is None:
        return
    since = datetime.fromisoformat(text)
    held = register.values.get("catch_up_held")
    if register.store_is_older or held:
        since = min(since, datetime.fromisoformat(held)) if held else since
        engine.catch_up_held = (since, now)
        engine.desk.tray.engine["catch_up_held"] = since.isoformat()
        return
    await catch_up_all(engine, since, now, known=_known_jobs(register))
    _ring_reboot(engine, register, now)


def _known_jobs(register: _Register) -> set[str] | None:
    """Return the jobs that existed before this start, None where that cannot be told."""
    try:
        recorded = json.loads(register.values["known_jobs"])
    except (KeyError, ValueError):
        return None
    return set(recorded) | register.jobs_with_runs


async def catch_up_all(engine: Engine, since: datetime, until: datetime, *, known: set[str] | None) -> None:
    """Apply every job's catch-up rule to (since, until]; jobs not in `known` did not exist then."""
    for count, job in enumerate(list(engine.desk.config.jobs.values())):
        if job.enabled and job.schedules and (known is None or job.name in known):
            await engine.firings.catch_up(job, since, until)
        if count % SLICE == SLICE - 1:
            await asyncio.sleep(0)


def _ring_reboot(engine: Engine, register: _Register, now: datetime) -> None:
    """Run `@reboot` jobs once for each boot id, due at boot time, whatever `catch_up` says of other firings."""
    if register.values.get("boot_id") == engine.boot_id:
        return
    instant = booted_at(now)
    for job in engine.desk.config.jobs.values():
        rings = any(isinstance(spec, RebootSpec) for spec in job.schedules)
        if rings and job.enabled and not engine.desk.pauses.covers(job.name):
            timetable = engine.desk.config.timetable(job.name, booted_at=instant)
            for firing in timetable.between(instant - timedelta(seconds=1), instant):
                engine.desk.create(job, firing.run_date, Trigger.SCHEDULE, instant, jitter_s=firing.jitter_s)


def _remember_start(engine: Engine, register: _Register, now: datetime, *, is_new: bool) -> None:
    desk = engine.desk
    if is_new:
        desk.tray.configs.append(
            ConfigRecord(version=desk.version, loaded_at=now, digest=desk.config.digest, sources=desk.config.sources)
        )
    desk.tray.engine["known_jobs"] = json.dumps(sorted(desk.config.jobs))
    desk.tray.engine["boot_id"] = engine.boot_id
    engine.firings.tick(now)
