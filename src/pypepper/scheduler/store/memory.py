"""The store that lives and dies with its process: a dict and a lock. Spec: pipeline.md 13.

It keeps the very objects it is given: a payload is shared with the caller, not copied.
"""

from __future__ import annotations

import builtins
import threading

from pypepper.scheduler.store.interfaces import IJobStore, JobRecord
from pypepper.scheduler.store.lifecycle import put_may_write


class InMemoryJobStore(IJobStore):
    """Records in the order of their first insert; every call takes one lock, so any thread may ask."""

    def __init__(self) -> None:
        self._records: dict[str, JobRecord] = {}
        self._lock = threading.Lock()

    def put(self, record: JobRecord) -> bool:
        """Insert or update; see IJobStore.put."""
        with self._lock:
            existing = self._records.get(record.id)
            if existing is None:
                self._records[record.id] = record
                return True
            if not put_may_write(existing.status, existing.version, record.status, record.version):
                return False
            self._records[record.id] = _updated(existing, record)
            return True

    def get(self, job_id: str) -> JobRecord | None:
        """Return the record of a job, or None."""
        with self._lock:
            return self._records.get(job_id)

    def list(self, channel_id: str | None = None) -> builtins.list[JobRecord]:
        """Return all records, or one channel's, oldest insert first."""
        with self._lock:
            records = builtins.list(self._records.values())
        return [record for record in records if channel_id is None or record.channel_id == channel_id]

    def delete(self, job_id: str) -> None:
        """Forget one job; an unknown id is fine."""
        with self._lock:
            self._records.pop(job_id, None)

    def clear(self) -> None:
        """Forget all jobs."""
        with self._lock:
            self._records.clear()


def _updated(existing: JobRecord, record: JobRecord) -> JobRecord:
    """Return what `dataclasses.replace` would, a quarter of a job's way through the pipeline sooner."""
    updated = object.__new__(type(record))
    fields = updated.__dict__
    fields.update(record.__dict__)
    fields["created"] = existing.created
    fields["version"] = existing.version + 1
    return updated
