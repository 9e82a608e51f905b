"""One run from its claim to its recorded end: hook, rendering, S3, launch, wait, S4. Spec: claims.md A6, C5, C6.

What must always hold: the before-run hook is asked before anything is prepared, and its "no" ends the run as cancelled;
whatever goes wrong between S3 and the end is an end of that attempt, told like any other; a hook's failure changes
nothing about the run that it hears of.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from dataclasses import dataclass, replace
from typing import Final

from pyscheduler.cluster.orders import Prepared, context_of, run_of
from pyscheduler.cluster.reporting import Reporter
from pyscheduler.cluster.schedule import After, Before
from pyscheduler.cluster.shift import Shift
from pyscheduler.cluster.status import TaskStatus
from pyscheduler.cluster.tally import TaskFailed
from pyscheduler.cluster.task import Context
from pyscheduler.cluster.verdict import report_of, status_after
from pyscheduler.engine.environment import claim_facts
from pyscheduler.engine.orders import ref_of
from pyscheduler.engine.ports import AttemptHandle, Launcher
from pyscheduler.errors import LaunchError, StoreError
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Attempt, Run, RunState
from pyscheduler.store.claims import Applied, Claim, OnLost, Owned, Proof, Report

log = logging.getLogger(__name__)

BURY_S: Final = 0.01


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the schedule wants to be asked and told."""

    before: Before | None = None
    after: After | None = None


class Performer:
    """Takes runs of a shift to their ends."""

    def __init__(self, shift: Shift, launcher: Launcher, reporter: Reporter, hooks: Hooks) -> None:
        self._shift, self.launcher, self._reporter, self._hooks = shift, launcher, reporter, hooks
        self._grants, self._tally, self._clock = shift.grants, shift.tally, shift.clock

    async def perform(self, claim: Claim) -> None:
        """Take a claimed run to its end. Raises StoreError where its start could not be written."""
        work, context, now = self._shift.works[claim.job], context_of(claim), self._clock.now()
        if not await self._is_wanted(claim, context):
            return
        run, key = run_of(claim, now), secrets.token_hex(16)
        try:
            prepared = await self._shift.call(lambda: work.prepare(run, context, key, now))
        except OSError as error:
            attempt = Attempt(run_id=run.run_id, attempt=context.attempt, key=key, started_at=now)
            prepared = Prepared(attempt, None, str(error))
        try:
            may_start = await self._grants.start(claim, prepared.attempt)
            self._shift.started(claim)
            if may_start:
                self._tally.started += 1
                await self._execute(run, claim, prepared)
            else:
                self._tally.refused += 1
                log.warning("%s is no longer this scheduler's to start: it is left to whoever has it", claim.run_id)
        finally:
            prepared.close()
            await self._bury(prepared)

    async def adopt(self, run: Run, owned: Owned, attempt: Attempt, handle: AttemptHandle, proof: Proof) -> bool:
        """S17: become the owner of an attempt that still runs, and mind it to its end. False where that was refused."""

        def go_on() -> None:
            log.info("%s goes on under its minder: it was adopted", run.run_id)
            self._tally.adopted += 1
            self._shift.mind(self._wait(run, owned.token, attempt, handle))

        return await self._grants.adopt(owned, handle, proof, go_on)

    async def ended_elsewhere(self, run: Run, owned: Owned, attempt: Attempt, result: AttemptResult) -> None:
        """Record the end of an attempt that a dead scheduler had started."""
        report = self._report(run, owned.token, attempt, result, cancelled=owned.cancel_requested)
        if await self._reporter.report(report) is Applied.YES:
            self._tally.adopted += 1
            self._count(run, report, None)

    # ----------------------------------------------------------------------- before

    async def _is_wanted(self, claim: Claim, context: Context) -> bool:
        hook = self._hooks.before
        if hook is None:
            return True
        try:
            if await self._shift.call(lambda: hook(context)) is not False:
                return True
        except Exception:
            log.exception("%s: the before-run hook failed, so the run is cancelled", claim.run_id)
        await self._grants.hand_back((claim,), cancelled=True)
        self._tally.end(TaskStatus.CANCELLED)
        return False

    # ----------------------------------------------------------------------- from the start to the end

    async def _execute(self, run: Run, claim: Claim, prepared: Prepared) -> None:
        attempt, going = prepared.attempt, self._grants.of(run.run_id, claim.token)
        if prepared.spec is None:
            result = AttemptResult(start_error=prepared.error or "it cannot be started")
            await self._finish(run, claim.token, attempt, result)
            return
        facts = claim_facts(claim.token, self._shift.claims.me.inc_id)
        try:
            spec = replace(prepared.spec, env={**prepared.spec.env, **facts})
            job = self._shift.works[run.job].job
            handle = await self.launcher.launch(self._shift.word.bound(spec, job))
        except (OSError, ValueError, TypeError, LaunchError) as error:
            await self._finish(run, claim.token, attempt, AttemptResult(start_error=str(error)))
            return
        going.hold(handle)
        await self._wait(run, claim.token, attempt, handle)

    async def _wait(self, run: Run, token: int, attempt: Attempt, handle: AttemptHandle) -> None:
        result = await handle.wait()
        await self._finish(run, token, replace(attempt, pid=handle.pid), result)

    async def _finish(self, run: Run, token: int, attempt: Attempt, result: AttemptResult) -> None:
        going = self._grants.of(run.run_id, token)
        going.handle = None  # nothing is left to stop
        report = self._report(run, token, attempt, result, cancelled=going.cancelled)
        answer = await self._reporter.report(report)
        self._grants.over(run.run_id, going)
        if answer is Applied.SUPERSEDED:
            return
        self._count(run, report, answer if isinstance(answer, StoreError) else None)
        await self._tell_after(run, token, report)
        if isinstance(answer, Applied) and attempt.status_path:
            await self.launcher.discard([ref_of(attempt, None)])

    def _report(self, run: Run, token: int, attempt: Attempt, result: AttemptResult, *, cancelled: bool) -> Report:
        """Return what S4 is to be told of an end."""
        work = self._shift.works.get(run.job)
        return report_of(
            run,
            token,
            attempt,
            result,
            work.job if work else None,
            on_lost=work.on_lost if work else OnLost.RERUN,
            cancelled=cancelled,
            now=self._clock.now(),
            chance=random.random(),
        )

    def _count(self, run: Run, report: Report, trouble: StoreError | None) -> None:
        status = status_after(report)
        if status is None:
            self._tally.retrying += 1
        else:
            self._tally.end(status)
        if report.to in (RunState.FAILED, RunState.RETRY_WAIT) or trouble is not None:
            unstored = f"its outcome ({report.outcome}) could not be stored"
            failure = TaskFailed(run.job, run.run_id, report.reason or unstored)
            failure.__context__ = trouble
            self._tally.failures.append(failure)
            log.error("%s", failure)

    async def _tell_after(self, run: Run, token: int, report: Report) -> None:
        hook, status = self._hooks.after, status_after(report)
        if hook is None or status is None:
            return
        context = Context(
            task=run.job,
            run_id=run.run_id,
            scheduled_at=run.scheduled_at,
            run_date=run.run_date,
            attempt=run.attempt,
            token=token,
        )
        try:
            await self._shift.call(lambda: hook(context, status))
        except Exception:
            log.exception("%s: the after-run hook failed", run.run_id)

    async def _bury(self, prepared: Prepared) -> None:
        """Reap a callable's holder, which ends right after its call."""
        holder = prepared.holder
        while holder is not None and not holder.reap() and not self._shift.wishes.leave.is_set():  # noqa: ASYNC110
            await asyncio.sleep(BURY_S)  # the kernel sets no event
