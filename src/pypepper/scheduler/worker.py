"""A worker: takes jobs off one channel, one after the other, and sees each to its end. Spec: pipeline.md 9, 10.

Blocking workflows, and stores that block, run on threads of the worker's own, so that no worker of a loop can stop
another; workflows with coroutine executors are awaited on the loop. The default memory store is asked in place.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from pypepper.common.log import log
from pypepper.scheduler.channel import SEND_OK, Channel
from pypepper.scheduler.ending import complete, fail, keep_cancelled
from pypepper.scheduler.job import Job
from pypepper.scheduler.metrics import metrics
from pypepper.scheduler.refusals import JobRedeliveryError, JobRequeuedError
from pypepper.scheduler.starting import MustRequeue, Start, begin, refuse
from pypepper.scheduler.store import InMemoryJobStore, get_job_store
from pypepper.scheduler.threads import DaemonPool, Outcome, in_thread
from pypepper.scheduler.workflow import needs_a_loop

TURN_S: Final = 0.005
"""How long a worker with nothing to wait for may keep the loop before others get their turn."""


class Worker:
    """Runs the jobs of one channel."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._pool = DaemonPool(name="pypepper-worker")

    async def run_once(self) -> Job | None:
        """Take one job, waiting for it, and see it to its end; None when the channel is stopped and empty.

        The job returned need not be Completed: look at its status. Raises what the spec's tables say.
        """
        job = await self.channel.receive()
        if job is None:
            return None
        began = time.monotonic()
        if job.is_cancelled():
            log.info(f"job {job.id} was cancelled before it was started")
            await self._ask(keep_cancelled, job)
        elif await self._begin(job) is Start.RUN:
            try:
                await self._work(job)
            finally:
                _tell_ended(job, began)
        return job  # type: ignore[no-any-return]  # what a channel carries is whatever was sent

    async def run_forever(self) -> None:
        """Run jobs until the channel is stopped and empty; a job's error is logged and the next one taken.

        Raises JobRequeuedError, and JobRedeliveryError of a full channel, at once; of a stopped one when it is empty.
        """
        remembered: JobRedeliveryError | None = None
        turn_ends = time.monotonic() + TURN_S
        while True:
            try:
                if await self.run_once() is None:
                    break
            except JobRequeuedError as error:
                log.error(f"the loop stops, the job stays queued: {error}")
                raise
            except JobRedeliveryError as error:
                log.error(f"a job was not redelivered: {error}")
                if error.reason != "stopped":
                    raise
                remembered = remembered or error
            except Exception as error:  # noqa: BLE001 — one job's trouble is not the next one's
                log.error(f"a job ended with an error, and the loop continues: {error!r}")
            if time.monotonic() > turn_ends:
                await asyncio.sleep(0)
                turn_ends = time.monotonic() + TURN_S
        if remembered is not None:
            raise remembered

    async def _begin(self, job: Job) -> Start:
        try:
            start: Start = begin(job) if _in_place() else await self._ask(begin, job)
        except MustRequeue as missed:
            error = missed.error
        else:
            if metrics.hooks and start is Start.RUN:
                metrics.tell("job.started", channel=job.channel_id, category=job.category)
            return start
        await self._requeue(job, error)
        raise JobRequeuedError(f"job {job.id} was re-enqueued: its start could not be saved: {error}") from error

    async def _requeue(self, job: Job, error: Exception) -> None:
        """Put a job back whose start could not be saved, or fail it and raise JobRedeliveryError."""
        priority = getattr(job, "priority", 0)
        verdict = await (self.channel.send(job, priority) if priority else self.channel.send(job))
        _tell_requeue(job, verdict)
        if verdict == SEND_OK:
            log.error(f"job {job.id} was re-enqueued: its start could not be saved: {error!r}")
            return
        await self._ask(refuse, job, error)
        text = f"channel {verdict}: job {job.id} could not be put back after its start was not saved: {error}"
        raise JobRedeliveryError(text, reason=verdict, job=job) from error

    async def _work(self, job: Job) -> None:
        job.share_cancel_event()
        for workflow in job.workflows:
            if job.is_cancelled():
                log.info(f"job {job.id} was cancelled between two workflows")
                await self._ask(keep_cancelled, job)
                return
            error = (await self._run(workflow)).error
            if error is not None:
                await self._ask(fail, job, error)
                return
        if _in_place():
            complete(job)
        else:
            await self._ask(complete, job)

    async def _run(self, workflow: Any) -> Outcome:
        if not needs_a_loop(workflow):
            return await in_thread(workflow.run, self._pool)
        try:
            return Outcome(await workflow.run_async(self._pool))
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 — a SystemExit of an executor fails its job too (H11)
            return Outcome(None, error)

    async def _ask(self, call: Callable[..., Any], *given: Any) -> Any:
        """Ask the store where it holds up nobody: a memory store in place, any other on a thread."""
        if _in_place():
            return call(*given)
        outcome = await in_thread(partial(call, *given), self._pool)
        if outcome.error is not None:
            raise outcome.error
        return outcome.value


def _in_place() -> bool:
    """Tell whether asking the store takes a moment only, so that no thread is needed for it."""
    return type(get_job_store()) is InMemoryJobStore


def _tell_ended(job: Job, began: float) -> None:
    if metrics.hooks:
        seconds = time.monotonic() - began
        metrics.tell("job.ended", channel=job.channel_id, category=job.category, status=job.status, seconds=seconds)


def _tell_requeue(job: Job, verdict: str) -> None:
    if metrics.hooks:
        name = "job.requeued" if verdict == SEND_OK else "job.dropped"
        metrics.tell(name, channel=job.channel_id, category=job.category, reason=verdict)
