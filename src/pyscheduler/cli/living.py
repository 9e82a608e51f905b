"""A state directory with a month of history and a day in full swing, for `demo --serve`: the real engine makes it all.

The configuration is written with times around the present. Then the engine runs it for thirty days on a fake clock, as
`pysched simulate` does, but into the folder's own store, up to a minute before now: so every run, attempt and line of
the logbook is one that the engine itself has written, and retries, blocked and waiting runs are where it left them.
What follows when the scheduler opens that store is no play any more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final
from zlib import crc32
from zoneinfo import ZoneInfo

from pyscheduler.config import Config, load_config
from pyscheduler.engine.clock import FakeClock
from pyscheduler.engine.core import Engine
from pyscheduler.model.batch import Batch
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.job import ConfigSource
from pyscheduler.model.run import RunState
from pyscheduler.store import Store
from pyscheduler.store.questions import RunQuery
from pyscheduler.testing import FakeResult
from pyscheduler.testing.simulate import Planned, pass_time

DAYS: Final = 30
LEFT_TO_LIVE: Final = timedelta(seconds=100)
"""What the simulation leaves to the real scheduler: it starts what falls due in it."""
LOGGED: Final = timedelta(days=2)
"""Attempts younger than this have a log to look into."""
_BEFORE: Final = re.compile(r"@-(\d+)@")
TYPICAL_S: Final = {
    "extract-orders": 412,
    "extract-customers": 163,
    "extract-rates": 21,
    "clean-orders": 88,
    "clean-customers": 47,
    "load-warehouse": 655,
    "quality-checks": 240,
    "revenue-report": 75,
    "revenue-trend": 12,
    "send-invoices": 930,
    "ledger-export": 130,
    "bank-transfer": 18,
    "ledger-archive": 52,
    "partner-import": 210,
    "train-model": 45,
    "evaluate-model": 61,
    "backup-database": 1260,
    "verify-backup": 380,
    "thumbnails": 34,
    "sync-crm": 9,
    "heartbeat": 2,
}
FAILS: Final = {"extract-rates": 9, "backup-database": 14, "sync-crm": 150, "train-model": 11, "ledger-export": 23}
"""Of so many attempts about one fails."""


def write_config(text: str, target: Path, now: datetime, timezone: str, listen: str) -> None:
    """Write the configuration with its times: `@-N@` is the minute and hour N minutes before now, today's at least."""
    local = now.astimezone(ZoneInfo(timezone))
    since_midnight = local.hour * 60 + local.minute

    def minute_and_hour(found: re.Match[str]) -> str:
        at = max(0, since_midnight - int(found[1]))
        return f"{at % 60} {at // 60}"

    text = _BEFORE.sub(minute_and_hour, text)
    text = text.replace("@TIMEZONE@", timezone).replace("@LISTEN@", listen).replace("@TODAY@", local.date().isoformat())
    target.write_text(text, encoding="utf-8")


async def live_through(path: Path, now: datetime, progress: Callable[[datetime], None] = lambda _now: None) -> None:
    """Fill the store of a written configuration with `DAYS` days up to about now. Raises ConfigError, StoreError."""
    config = load_config(path)
    today = now.astimezone(ZoneInfo(config.settings.timezone)).date()
    store = Store.open(config.settings.state_dir, sync=False)
    store.apply(Batch(configs=(_earlier(config, now),)))
    clock = FakeClock(now - timedelta(days=DAYS))
    launcher = Planned(clock, lambda job, day, attempt: _goes(job, day, attempt, today))
    engine = Engine(_remembering(config), store, clock=clock, launcher=launcher, tick_s=86400.0)
    try:
        await engine.start()
        await engine.settle()
        for days in range(DAYS - 1, 0, -1):
            await pass_time(engine, clock, now - timedelta(days=days), progress)
            await _clear_up(engine)
        await pass_time(engine, clock, now - timedelta(hours=2), progress)
        await engine.pause("sync-crm", actor="mara", reason="their maintenance window, until noon")
        await pass_time(engine, clock, now - LEFT_TO_LIVE, progress)
        for run in engine.book.open_for("send-invoices"):
            await engine.hold(run.run_id, actor="mara", reason="finance wants to see the rates first")
        await engine.settle()
        _write_logs(store, config, now)
    finally:
        await engine.stop()


async def _clear_up(engine: Engine) -> None:
    """Do what somebody does every morning: what yesterday's failures left waiting is passed over."""
    today = engine.clock.now().date()
    for run in engine.book.open_runs():
        if run.run_date < today and run.state in (RunState.BLOCKED, RunState.WAITING):
            await engine.skip(run.run_id, actor="mara", reason="done by hand")


def _remembering(config: Config) -> Config:
    """Return the configuration without an end to its memory: pruning looks for files by the wall clock's dates."""
    return replace(config, settings=replace(config.settings, retention_s=10_000 * 86400.0, log_retention_s=None))


def _earlier(config: Config, now: datetime) -> ConfigRecord:
    """Return the version of before: so there is a difference to look at."""
    older = {"max_running: 6": "max_running: 4", "warehouse: 2": "warehouse: 1"}
    sources = []
    for source in config.sources:
        text = source.text
        for new, old in older.items():
            text = text.replace(new, old)
        sources.append(ConfigSource(path=source.path, text=text))
    return ConfigRecord(version=1, loaded_at=now - timedelta(days=DAYS + 9), digest="0" * 64, sources=tuple(sources))


def _goes(job: str, day: date, attempt: int, today: date) -> FakeResult:
    """Return how an attempt goes: always the same for the same job, date and number."""
    chance = crc32(f"{job} {day} {attempt}".encode())
    seconds = TYPICAL_S.get(job, 30) * (0.8 + 0.5 * (chance % 97) / 97)
    if job in FAILS and chance % FAILS[job] == 0:
        return FakeResult(timedelta(seconds=seconds / 3), exit_code=1)
    if day == today and job in ("extract-rates", "ledger-export"):
        return FakeResult(timedelta(seconds=4), exit_code=75 if job == "extract-rates" else 3)
    return FakeResult(timedelta(seconds=seconds))


def _write_logs(store: Store, config: Config, now: datetime) -> None:
    """Give the latest attempts something to have said."""
    page = store.runs(RunQuery(since=now - LOGGED, limit=1000))
    for attempts in store.attempts_of(run.run_id for run in page.items if run.attempt).values():
        for attempt in attempts:
            path = Path(attempt.stdout_path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_said(attempt.run_id, attempt.exit_code))


def _said(run_id: str, exit_code: int | None) -> str:
    lines = [
        f"this is {run_id}",
        *(f"step {step} of 5: \x1b[32mdone\x1b[0m" for step in range(1, 6 if not exit_code else 3)),
    ]
    return "\n".join([*lines, "all well" if not exit_code else f"\x1b[31mfailed with {exit_code}\x1b[0m"]) + "\n"
