"""Ends on their way to the store: many in one transaction, as often as it takes, never unguarded. claims.md B14, B19.

What must always hold: an end leaves here only when S4 has answered for it; what S4 is asked twice changes nothing; an
end that waits grows older, so that the store learns when it was and not when it could be told. The journal of a node of
`serve` are its minders' notes: each is synced before its attempt counts as ended, and stays until the store has the
end, so whoever comes after this process finds it again (S17).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from pyscheduler.engine.ports import Clock
from pyscheduler.errors import StoreError
from pyscheduler.minder.lease import boot_now
from pyscheduler.model.job import Job
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Attempt
from pyscheduler.rules.retry import ended
from pyscheduler.store.claims import Applied, Report

log = logging.getLogger(__name__)

FIRST_WAIT_S: Final = 0.1
LONGEST_WAIT_S: Final = 1.0
SLOW_S: Final = 10.0
"""When people are told that ends cannot be stored."""
AT_ONCE: Final = 200
GATHER_S: Final = 0.03
"""Between two calls in a rush: what ends meanwhile goes with it."""

Tell = Callable[[Sequence[Report]], Awaitable[dict[tuple[str, int], Applied]]]


class Outbox:
    """Carries ends to the store. `tell` is S4 for many, `boot` the boot clock in seconds. Belongs to one loop."""

    def __init__(self, tell: Tell, boot: Callable[[], float] = boot_now) -> None:
        self._tell, self._boot = tell, boot
        self._waiting: list[tuple[Report, float, asyncio.Future[Applied]]] = []
        """With the instant at which each had ended."""
        self._task: asyncio.Task[None] | None = None
        self._told_at = -GATHER_S
        self.failing_s = 0.0
        """For how long nothing could be stored, 0 where all goes well."""

    @property
    def behind(self) -> int:
        """How many ends the store has not got yet."""
        return len(self._waiting)

    async def report(self, report: Report) -> Applied:
        """Return once the store has answered for it."""
        answer: asyncio.Future[Applied] = asyncio.get_running_loop().create_future()
        self._waiting.append((report, self._boot() - report.ended_ago_s, answer))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._deliver(), name="outbox")
        return await answer

    async def close(self) -> None:
        """Give up on what has not arrived: whoever comes next finds it in the notes."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for _, _, answer in self._waiting:
            answer.cancel()
        self._waiting.clear()

    async def _deliver(self) -> None:
        wait_s, loop = FIRST_WAIT_S, asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._told_at + GATHER_S - loop.time()))
        since = loop.time()
        while group := self._waiting[:AT_ONCE]:
            try:
                now = self._boot()
                answers = await self._tell([replace(report, ended_ago_s=now - at) for report, at, _ in group])
            except Exception as error:
                self.failing_s = loop.time() - since
                if self.failing_s > SLOW_S or wait_s == FIRST_WAIT_S:
                    bug = None if isinstance(error, StoreError) else error
                    what = "%d end(s) cannot be stored now: %s; they are tried again"
                    log.error(what, self.behind, error, exc_info=bug)  # noqa: TRY400
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
                continue
            wait_s, since, self.failing_s = FIRST_WAIT_S, loop.time(), 0.0
            self._told_at = since
            del self._waiting[: len(group)]
            for report, _, answer in group:
                if not answer.done():
                    answer.set_result(answers[report.run_id, report.token])
        self._task = None


def report_of(
    run_id: str, token: int, attempt: Attempt, result: AttemptResult, job: Job | None, clock: Clock
) -> Report:
    """Return S4's report of an attempt; what becomes of its run is left to the authority."""
    now = clock.now()
    row = ended(attempt, result, job, now)
    assert row.outcome is not None
    return Report(
        run_id=run_id,
        token=token,
        outcome=row.outcome,
        ended_ago_s=max(0.0, (now - row.ended_at).total_seconds()) if row.ended_at else 0.0,
        exit_code=row.exit_code,
        signal=row.signal,
        reason=row.reason,
        pid=row.pid,
        cpu_s=row.cpu_s,
        max_rss_bytes=row.max_rss_bytes,
        note=row.note,
    )
