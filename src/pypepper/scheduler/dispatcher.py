"""From a new job to a queued and saved one. Spec: pipeline.md 8, 10 (rows Schedule, Enqueue, After enqueue).

The send is the point of no return. What fails before it leaves no row and no queue entry, and the job as it was; what
fails after it leaves the job Scheduled and queued, and its worker will save what is missing.

The job's saving is held from before the send until its row is written, so that a fast worker waits for the producer's
row instead of racing it (H15).
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pypepper.common.log import log
from pypepper.fsm.fsm import State
from pypepper.scheduler.base import OneOfAKind
from pypepper.scheduler.channel import Channel, manager
from pypepper.scheduler.events import INIT, SCHEDULE
from pypepper.scheduler.metrics import metrics
from pypepper.scheduler.refusals import ChannelEnqueueError, ChannelStoppedError, check_sent
from pypepper.scheduler.status import Status
from pypepper.scheduler.threads import running_loop

if TYPE_CHECKING:
    from pypepper.scheduler.job import Job

SAVE_TRIES: Final = 3
_SEND: Final = Channel.send


class Processor:
    """Puts jobs on a channel."""

    def run(self, job: Job, chan: Channel, *, on_enqueued: Callable[[], Any] | None = None) -> None:
        """Put a job on a channel from plain code; see `async_run`. RuntimeError inside a running loop."""
        if running_loop() is not None:
            raise RuntimeError(
                "an event loop is running here, and this call would block it: apply INIT and SCHEDULE to the job, "
                "await Channel.send(job) before job.save(), and look at the verdict"
            )
        if type(chan).send is _SEND and "send" not in vars(chan) and type(self).async_run is _ASYNC_RUN:
            _landed(
                job, chan, chan.send_now(job, getattr(job, "priority", 0)), on_enqueued
            )  # ours never waits: no loop is needed
        else:
            asyncio.run(self.async_run(job, chan, on_enqueued=on_enqueued))

    @staticmethod
    async def async_run(job: Job, chan: Channel, *, on_enqueued: Callable[[], Any] | None = None) -> None:
        """Send a job and raise the typed error of a refusal; `on_enqueued` is called right after a landed send."""
        priority = getattr(job, "priority", 0)
        verdict = await (chan.send(job, priority) if priority else chan.send(job))
        _landed(job, chan, verdict, on_enqueued)


_ASYNC_RUN: Final = Processor.async_run


def _landed(job: Job, chan: Channel, verdict: object, on_enqueued: Callable[[], Any] | None) -> None:
    check_sent(verdict, job.channel_id)
    if on_enqueued is not None:
        on_enqueued()
    if log.logger.isEnabledFor(logging.DEBUG):
        log.debug(f"job {job.id} enqueued on {job.channel_id} ({chan.length()} queued)")


class Dispatcher(OneOfAKind):
    """Takes jobs to their channels; one a process, with a processor a channel id."""

    _processors: ClassVar[dict[str, Processor]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def dispatch(self, job: Job) -> None:
        """Schedule, queue and save a job. What it raises after the send means: queued, but the snapshot is missing."""
        with job.saving:
            self._enqueue(job)
            _save_scheduled(job)
        if metrics.hooks:
            metrics.tell("job.scheduled", channel=job.channel_id, category=job.category)

    def available(self, channel_id: str) -> Processor:
        """Return the processor of this channel id, made if there is none."""
        with self._lock:
            return self._processors.get(channel_id) or self._processors.setdefault(channel_id, Processor())

    def put(self, channel_id: str, processor: Processor) -> None:
        """Use this processor for a channel id from now on; ValueError for None."""
        if processor is None:
            raise ValueError("invalid processor: give a Processor, not None")
        with self._lock:
            self._processors[channel_id] = processor

    def reset(self) -> None:
        """Forget all processors, as at the start of the process. For tests between two programs."""
        with self._lock:
            self._processors.clear()

    def _enqueue(self, job: Job) -> None:
        before = job.lifecycle()
        queued = False

        def landed() -> None:
            nonlocal queued
            queued = True

        try:
            job.apply_event(INIT)
            job.apply_event(SCHEDULE)
            log.info(f"job {job.id} scheduled for {job.channel_id}")
            chan = manager.available(job.channel_id)
            self.available(job.channel_id).run(job, chan, on_enqueued=landed)
        except BaseException as error:
            if queued:
                log.error(f"job {job.id} is queued on {job.channel_id}, and then: {error!r}")
                raise
            _roll_back(job, before)
            log.error(f"job {job.id} was not scheduled: {error!r}")
            if metrics.hooks and isinstance(error, ChannelEnqueueError):
                reason = "stopped" if isinstance(error, ChannelStoppedError) else "full"
                metrics.tell("job.refused", channel=job.channel_id, category=job.category, reason=reason)
            raise


def _roll_back(job: Job, before: tuple[State | None, str]) -> None:
    """Put the job back where it was, unless nothing was moved (INIT was refused) or a cancel has won meanwhile."""
    state, status = before
    if state is not None and state.value == Status.UNKNOWN and job.jump_unless_cancelled(state):
        job.status = status


def _save_scheduled(job: Job) -> None:
    last: Exception | None = None
    for _ in range(SAVE_TRIES):
        try:
            if job.save():
                return
        except Exception as error:  # noqa: BLE001 — raised below, when the tries are spent
            last = error
    log.error(f"job {job.id} is queued, but its Scheduled row is not saved: its worker will try again")
    raise last or RuntimeError(f"Scheduled persist skipped after enqueue: the store has another row for {job.id}")


dispatcher: Final = Dispatcher()
