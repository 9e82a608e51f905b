"""Telling the store how attempts ended: journal first, then S4, again and again, never unguarded. claims.md B14, B19.

What must always hold: an end is on disk here before the store is asked; an outcome is only ever written by S4, which
compares token and owner under the row's lock; whoever waits for it waits BOUND_S at most and is then told, while the
report goes on being tried as long as this incarnation lives, and by others of this host from the journal after that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from pyscheduler.cluster.journal import Journal
from pyscheduler.cluster.together import Together
from pyscheduler.errors import StoreError
from pyscheduler.store.claims import Applied, Claims, Held, Report

log = logging.getLogger(__name__)

BOUND_S: Final = 10.0
"""How long an outcome may take to be stored before it is reported as not stored."""
FIRST_WAIT_S: Final = 0.1
LONGEST_WAIT_S: Final = 1.0


class Reporter:
    """Carries ends to the store. Belongs to one loop; `boot` is the boot clock in seconds."""

    def __init__(
        self, claims: Claims, journal: Journal, boot: Callable[[], float], *, bound_s: float = BOUND_S
    ) -> None:
        self._claims, self._journal, self._boot, self._bound_s = claims, journal, boot, bound_s
        self._trying: set[asyncio.Task[Applied]] = set()
        self._noting: Together[Report, None] = Together(self._note, apart=True)
        self._telling: Together[Report, Applied] = Together(self._tell, apart=True)
        self._settling: Together[Held, None] = Together(self._settle)

    @property
    def behind(self) -> int:
        """How many ends the store has not got yet."""
        return len(self._trying)

    async def report(self, report: Report) -> Applied | StoreError:
        """Write an end down and store it; returns the store's error where that takes longer than the bound."""
        try:
            await self._noting(report)
        except OSError as failure:
            what = "the end of %s cannot be written to %s: %s"
            log.error(what, report.run_id, self._journal.path, failure)  # noqa: TRY400 - the disk's, and said whole
        troubles: list[StoreError] = []
        task = asyncio.get_running_loop().create_task(self._deliver(report, troubles))
        self._trying.add(task)
        task.add_done_callback(self._trying.discard)
        done, _ = await asyncio.wait((task,), timeout=self._bound_s)
        if done:
            return task.result()
        error = troubles[-1] if troubles else StoreError("the store does not answer", mend="it is tried again")
        what = "the outcome of %s (%s) could not be stored within %g seconds: %s; it is kept in %s and tried again"
        log.error(what, report.run_id, report.outcome, self._bound_s, error, self._journal.path)
        return error

    async def close(self) -> None:
        """Give up on what has not arrived; it stays in the journal."""
        for task in self._trying:
            task.cancel()
        await asyncio.gather(*self._trying, return_exceptions=True)

    async def _note(self, reports: Sequence[Report]) -> Sequence[None]:
        now = self._boot()
        await asyncio.to_thread(self._journal.note_all, reports, now)
        return [None] * len(reports)

    async def _tell(self, reports: Sequence[Report]) -> list[Applied]:
        answers = await asyncio.to_thread(self._claims.outcomes, reports)
        return [answers[report.run_id, report.token] for report in reports]

    async def _deliver(self, report: Report, troubles: list[StoreError]) -> Applied:
        wait_s = FIRST_WAIT_S
        while True:
            try:
                applied = await self._telling(report)
            except Exception as error:
                if not isinstance(error, StoreError):  # a bug, and no reason to keep an end to ourselves
                    log.exception("the end of %s could not be told; it is tried again", report.run_id)
                troubles.append(error if isinstance(error, StoreError) else StoreError(f"it failed ({error!r})"))
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)
                continue
            if applied is Applied.SUPERSEDED:
                log.warning(
                    "%s was taken from this scheduler: its end (%s) is superseded", report.run_id, report.outcome
                )
            await self._settling(Held(report.run_id, report.token))
            return applied

    async def _settle(self, stored: Sequence[Held]) -> Sequence[None]:
        try:
            await asyncio.to_thread(self._journal.settle, *stored)
        except OSError as error:
            log.warning("%s: %s", self._journal.path, error)  # replayed once more, which changes nothing
        return [None] * len(stored)


def replay(journal: Journal, claims: Claims, now: float) -> int:
    """Tell the store what a dead incarnation's journal holds; returns how many ends that were. Raises StoreError."""
    pending = journal.pending(now)
    if not pending:
        return 0
    claims.outcomes(pending)
    journal.settle(*(Held(report.run_id, report.token) for report in pending))
    return len(pending)
