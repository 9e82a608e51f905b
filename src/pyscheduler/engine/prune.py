"""Throwing away old notes: at start and then once an hour. Seed 000 step 4, jobs.md 8.3, DESIGN 8 row 11.

Ended runs older than `retention` leave the store, 500 a commit: those of an old run date that also ended, or were last
touched, that long ago; so a late backfill of an old date is kept as long as any other run. Their numbers are not given
again (`numbering.py`). Ended runs older than the memory window leave the
memory. Open runs, and the ended ones that an open run's dependencies point at, are always kept. Logs go with their
age where `log_retention` says so; the audit log loses its beginning, what is older than `audit_retention`, and says up
to where, so that the rest can still be proved (`store/chain.py`); files of attempts that are over are swept from the
state folder.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyscheduler.engine.book import Day
from pyscheduler.model.batch import Batch
from pyscheduler.rules.numbering import GIVEN
from pyscheduler.timetable.zone import zone

if TYPE_CHECKING:
    from pyscheduler.engine.core import Engine

log = logging.getLogger(__name__)

EVERY_S: Final = 3600.0
AT_ONCE: Final = 500


class Pruner:
    """Prunes one engine's store, memory, logs and state folder."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.strangers: tuple[Path, ...] = ()
        """Files in the state folder that carry no key the store knows; `doctor` names them."""

    async def run(self) -> None:
        """Prune at once and every hour, for ever. Cancel to stop."""
        while True:
            await self.prune(self._engine.clock.now())
            rung = asyncio.Event()
            timer = self._engine.clock.call_after(EVERY_S, rung.set)
            try:
                await rung.wait()
            finally:
                timer.cancel()

    async def prune(self, now: datetime) -> int:
        """Delete runs older than the retention; returns how many."""
        engine = self._engine
        settings = engine.config.settings
        today = zone(settings.timezone).today(now)
        horizon = now - timedelta(seconds=settings.retention_s)
        keep = self._needed()
        count = await self._delete_before(horizon, keep)
        await engine.writer.save(Batch(alerts_before=horizon))
        if settings.log_retention_s is not None:
            logs_before = zone(settings.timezone).today(now - timedelta(seconds=settings.log_retention_s))
            await self._delete_logs_before(min(logs_before, today), keep)
        await self._delete_audit_before(now - timedelta(seconds=settings.audit_retention_s))
        needed = self._needed()  # anew: what was created meanwhile may be decided by old days that nobody needed before
        engine.book.evict_before(engine.desk.window_start(now), lambda day: day in needed)
        await self._sweep()
        return count

    def _needed(self) -> set[Day]:
        """Return the days that open runs' dependencies point at."""
        desk = self._engine.desk
        return {day for run in desk.book.open_runs() for day in desk.upstream_days(run)}

    async def _delete_before(self, horizon: datetime, keep: set[Day]) -> int:
        engine, total = self._engine, 0
        day = zone(engine.config.settings.timezone).today(horizon)
        kept_ids = {run.run_id for day in keep for run in engine.book.runs_for(*day)}
        while True:
            old = await asyncio.to_thread(engine.store.final_runs_before, day, AT_ONCE, kept_ids, horizon)
            if not old:
                return total
            ids = tuple(row.run_id for row in old if not engine.book.is_live(row.run_id))
            engine.being_pruned.update(ids)  # no action finds them from here on
            given = engine.book.given.with_pruned(day, ids)
            engine.book.given = given  # at once: a run made meanwhile is numbered above them
            await engine.writer.save(Batch(deleted_runs=ids, engine={GIVEN: given.to_text()}))
            engine.book.forget(ids)
            engine.being_pruned.difference_update(ids)
            total += len(ids)
            if len(ids) < len(old):
                kept_ids.update(row.run_id for row in old if row.run_id not in ids)
            if engine.config.settings.log_retention_s is not None:
                await asyncio.to_thread(_unlink, [path for row in old for path in row.log_paths])

    async def _delete_logs_before(self, horizon: date, keep: set[Day]) -> None:
        """Remove the logs of ended runs that are kept themselves; each day's are looked at once."""
        engine = self._engine
        done_until = engine.store.engine_values().get("logs_pruned_before")
        since = date.fromisoformat(done_until) if done_until else date.min
        if since >= horizon:
            return
        paths = await asyncio.to_thread(engine.store.log_paths_between, since, horizon)
        await asyncio.to_thread(_unlink, paths)
        await engine.writer.save(Batch(engine={"logs_pruned_before": horizon.isoformat()}))

    async def _delete_audit_before(self, horizon: datetime) -> None:
        engine = self._engine
        while True:
            last = await asyncio.to_thread(engine.store.audit_last_before, horizon, AT_ONCE)
            if last is None:
                return
            await engine.writer.save(Batch(audit_gone_until=last))

    async def _sweep(self) -> None:
        engine = self._engine
        folder = engine.config.settings.state_dir / "status"
        if not folder.is_dir():
            return
        keys = await asyncio.to_thread(engine.store.keys_of_runs, runs_in(folder))
        live = engine.desk.live_keys

        def known(key: str) -> bool | None:
            """Say whether a key's attempt is over; one born since the folder was read is not."""
            return False if key in live else keys.get(key)

        strangers = await engine.launcher.sweep(folder, known)
        for path in set(strangers) - set(self.strangers):
            log.warning("%s belongs to no attempt of this store; it is left alone", path)
        self.strangers = strangers


def runs_in(folder: Path) -> set[str]:
    """Return the run ids that file names in the state folder carry: `<run_id>.<attempt>.<key>.json…`."""
    stems = (name.partition(".json") for name in os.listdir(folder))
    return {stem.rsplit(".", 2)[0] for stem, dot, _ in stems if dot}


def _unlink(paths: Iterable[str]) -> None:
    """Remove files and the folders they leave empty; what is gone already is fine."""
    folders = set()
    for path in paths:
        try:
            os.unlink(path)
            folders.add(os.path.dirname(path))
        except FileNotFoundError:
            continue
        except OSError as error:
            log.warning("cannot remove the log %s: %s", path, error)
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:
            continue  # other runs' logs are still in it
