"""Ends that are owed: attempts of this folder that were revoked while no scheduler of it was there to hear of it.

A host that was fenced and comes back finds its minders' notes. Each end is told, and kept as `superseded` (claims.md
C9); what still runs counts for nothing any more and is ended first (S8), for its retry may be under way elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from pathlib import Path

from pyscheduler.cluster.orders import attempt_of
from pyscheduler.cluster.outbox import report_of
from pyscheduler.engine.orders import ref_of
from pyscheduler.engine.ports import Clock, Finished, Launcher, Running
from pyscheduler.store.claims import Claims, Owned, Report

log = logging.getLogger(__name__)


async def pay(claims: Claims, launcher: Launcher, clock: Clock, folder: Path, run_ids: Iterable[str]) -> int:
    """Tell the store of every such end among these runs, whose files lie in `folder`; returns how many. StoreError."""
    wanted = tuple(run_ids)
    owed = await asyncio.to_thread(lambda: claims.revoked(wanted)) if wanted else []
    ours = [each for each in owed if Path(each.status_path).parent == folder]
    found = await asyncio.gather(*(_end_of(each, launcher, clock) for each in ours))
    reports = [report for report in found if report is not None]
    if reports:
        await asyncio.to_thread(lambda: claims.outcomes(reports))
    return len(reports)


async def _end_of(each: Owned, launcher: Launcher, clock: Clock) -> Report | None:
    """Return how an attempt ended, after ending it if it still runs; None where nobody knows."""
    attempt = attempt_of(each)
    match await launcher.find(ref_of(attempt, None)):
        case Finished(result):
            pass
        case Running(handle):
            log.warning("%s was taken from this host and still runs: it is ended", each.run_id)
            handle.terminate("lease", "it was taken from this host")
            result = await handle.wait()
        case _:
            return None
    log.info("%s was taken from this host: its end is kept as superseded", each.run_id)
    return report_of(each.run_id, each.token, attempt, result, None, clock)
