"""A job: workflows, where they are in their life, and the row that tells so. Spec: pipeline.md 7, 11, 15.

What must always hold: the machine (`_fsm`) says where the job is, and `status` follows it; a save never moves the
machine; a save that did not land changes neither `version` nor `updated`. Moves are atomic across threads, and so are
saves; the two never wait for each other.
"""

from __future__ import annotations

import logging
import threading
import uuid
from typing import Any, Final, Protocol

from pypepper.common.context import Context
from pypepper.common.log import log
from pypepper.event.event import Event
from pypepper.exceptions import InternalException
from pypepper.fsm.fsm import State
from pypepper.scheduler.base import IBase, now_text
from pypepper.scheduler.dispatcher import Dispatcher, Processor, dispatcher
from pypepper.scheduler.events import CANCEL, build_scheduler_fsm
from pypepper.scheduler.metrics import metrics
from pypepper.scheduler.records import kept_of, workflows_from
from pypepper.scheduler.refusals import (
    ChannelEnqueueError,
    ChannelFullError,
    ChannelStoppedError,
    JobRedeliveryError,
    JobRequeuedError,
)
from pypepper.scheduler.status import Status
from pypepper.scheduler.store import IJobStore, JobRecord, guarded_job_store

__all__ = [
    "CANCEL_EVENT_KEY",
    "ChannelEnqueueError",
    "ChannelFullError",
    "ChannelStoppedError",
    "Dispatcher",
    "IJob",
    "Job",
    "JobRedeliveryError",
    "JobRequeuedError",
    "Processor",
    "dispatcher",
]

CANCEL_EVENT_KEY: Final = "pypepper.scheduler.cancel_event"
"""Where contexts keep the job's `threading.Event` that says: stop when you can."""

_CANCELLED: Final = Status.CANCELLED.value


class IJob(Protocol):
    """What a channel carries and a worker runs."""

    id: str
    channel_id: str
    status: str
    workflows: list[Any]

    def save(self) -> bool:
        """Write a snapshot."""


class Job(IBase):
    """Workflows to run one after the other, as one thing that can be queued, cancelled and remembered.

    Beyond the documents: `priority` (higher goes first on its channel), and `error`, the text of what ended it.
    """

    def __init__(self, category: str | None = None, channel_id: str = "default", *, priority: int = 0) -> None:
        self.id = str(uuid.uuid4())
        self.category = category
        self.channel_id = channel_id
        self.priority = priority
        self.workflows: list[Any] = []
        self.context = Context().with_value(CANCEL_EVENT_KEY, threading.Event())
        self.version = 1
        self.created = self.updated = now_text()
        self.error: str | None = None
        self.saving = threading.RLock()
        self.stale = False
        self._fsm = build_scheduler_fsm()
        self._moving = threading.RLock()
        self._in_doubt: JobRecord | None = None
        self.status = Status.UNKNOWN.value

    # ---------------------------------------------------------------- life

    def scheduled(self) -> None:
        """Schedule, queue and save this job; from plain code only. See `dispatcher.Dispatcher.dispatch`."""
        dispatcher.dispatch(self)

    def apply_event(self, event: Event) -> None:
        """Make one transition; InternalException, and nothing moved, if it is illegal here."""
        with self._moving:
            answer = self._fsm.on(event)
            if answer.error is not None:
                raise answer.error
            self._follow()

    def restore_lifecycle(self, state: State | str | None, status: str) -> None:
        """Set machine and status without any check."""
        with self._moving:
            self._fsm.restore(State(str(state)) if isinstance(state, str) else state)
            self.status = status

    def jump_unless_cancelled(self, state: State) -> bool:
        """Set machine and status without a transition; False, and nothing set, when the job is Cancelled."""
        with self._moving:
            if not self._fsm.restore_unless(_CANCELLED, state):
                return False
            self._follow()
            return True

    def lifecycle(self) -> tuple[State | None, str]:
        """Return the machine's state and the status, for `restore_lifecycle`."""
        with self._moving:
            return self._fsm.current(), self.status

    def is_cancelled(self) -> bool:
        """Tell whether the machine is in Cancelled."""
        return self._state() == _CANCELLED

    def _follow(self) -> None:
        self.status = self._state()

    def _state(self) -> str:
        current = self._fsm.current()
        return current.value if current is not None else Status.UNKNOWN.value

    # ---------------------------------------------------------------- cancel

    def cancel(self) -> None:
        """Cancel: the event is set for executors that look, the machine moves, the row is saved.

        InternalException where there is nothing to cancel; the event is then left as it was (H6).
        """
        self.share_cancel_event()
        event: threading.Event = self.context.context[CANCEL_EVENT_KEY]
        was_set = event.is_set()
        event.set()
        try:
            self.apply_event(CANCEL)
        except InternalException:
            if not was_set and not self.is_cancelled():
                event.clear()
            raise
        self.save()

    def share_cancel_event(self) -> None:
        """Put the job's cancel event, the same object, into its own context and that of every task."""
        event = self.context.context.get(CANCEL_EVENT_KEY)
        if event is None:  # the program has given the job another context
            event = self.context.context[CANCEL_EVENT_KEY] = threading.Event()
        for workflow in self.workflows:
            for task in getattr(workflow, "tasks", ()):
                task.context.context[CANCEL_EVENT_KEY] = event

    # ---------------------------------------------------------------- row

    def save(self) -> bool:
        """Write a snapshot; False if the row's version or status forbids it, and then nothing here has changed.

        ValueError where a durable store is configured but not applied; whatever else the store raises.
        """
        store = guarded_job_store()
        with self.saving:
            self._learn_what_landed(store)
            record = self._in_doubt = self._snapshot(now_text())
            try:
                landed = store.put(record)
            except Exception:
                self._tell_behind("save.failed", record)
                raise
            if not landed:
                self._in_doubt = None
                self._tell_behind("save.skipped", record)
                return False
            self.updated = record.updated
            self._read_back(store)
            if log.logger.isEnabledFor(logging.DEBUG):
                log.debug(f"job {self.id} saved: {record.status}, version {self.version}")
            return True

    def _read_back(self, store: IJobStore) -> None:
        """Take over the version that the write has made. A row that cannot be read now is read before the next save."""
        try:
            row = store.get(self.id)
        except Exception as error:  # noqa: BLE001 — the write has landed, and that is what save() answers for
            log.warn(f"job {self.id}: saved, but its row cannot be read back yet: {error!r}")
            return
        self._in_doubt = None
        if row is not None:
            self.version = row.version

    def _learn_what_landed(self, store: IJobStore) -> None:
        """Look whether a write whose reply was lost is the row now, and then go on from its version (H10).

        The row is taken for ours if it has the status and the very millisecond we wrote, and the next version.
        """
        doubt = self._in_doubt
        if doubt is None:
            return
        row = store.get(self.id)
        self._in_doubt = None
        if row is None or (row.status, row.updated) != (doubt.status, doubt.updated):
            return
        if row.version - doubt.version in (0, 1):
            self.version, self.updated = row.version, row.updated

    def _tell_behind(self, what: str, record: JobRecord) -> None:
        log.debug(f"job {self.id}: {what} ({record.status}, version {record.version})")
        if metrics.hooks:
            metrics.tell(what, channel=self.channel_id, category=self.category, status=record.status)

    def to_record(self) -> JobRecord:
        """Return a snapshot of now, with the machine's status; nothing is written."""
        return self._snapshot(self.updated)

    def _snapshot(self, updated: str) -> JobRecord:
        kept = kept_of(self.workflows)
        return JobRecord(
            self.id,
            self.category,
            self.channel_id,
            self._state(),
            self.created,
            updated,
            len(self.workflows),
            self.version,
            kept.payload,
            kept.results,
            self.error or kept.error,
        )

    @staticmethod
    def get_saved(job_id: str) -> JobRecord | None:
        """Return the row of a job, or None; guarded like `save`."""
        return guarded_job_store().get(job_id)

    @classmethod
    def from_record(cls, record: JobRecord) -> Job:
        """Rebuild a job that can be scheduled: its machine starts in Unknown, whatever the record says.

        ValueError for a task whose executor is not registered; KeyError for a text it must have.
        """
        job = cls(record.category, record.channel_id)
        job.id = record.id
        job.created, job.updated, job.version = record.created, record.updated, record.version
        job.workflows = list(workflows_from(record.payload))
        return job

    def log(self) -> None:
        """Say in one line where the job is."""
        log.info(f"job {self.id} ({self.category}) on {self.channel_id}: {self.status}, version {self.version}")
