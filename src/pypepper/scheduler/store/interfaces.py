"""What a job store is: the record it keeps, and the five things it can be asked. Spec: pipeline.md 12.

What must always hold, whatever the backend and however many processes write:

- one row an id; `created` is what the first insert said, for ever;
- a row's status never goes back, and one end never replaces another (`lifecycle.py`);
- of several updates at one version exactly one is told True, and each True after the insert raises the version by one;
- what was told True is on disk where the backend has one; trouble raises and is never a silent False.
"""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, init=False)
class JobRecord:
    """One job as a store remembers it; equal to another by value. Spec: pipeline.md 12.1.

    `created` and `updated` are UTC texts of whole milliseconds. `payload` is None unless the job can be rebuilt from
    it. `results` (what the tasks returned) and `error` (the text of the last failure) are ours. `payload` and `results`
    hold what JSON can say: whoever makes a record turns other values into text.
    """

    id: str
    category: str | None
    channel_id: str
    status: str
    created: str
    updated: str
    workflow_count: int = 0
    version: int = 1
    payload: dict[str, Any] | None = None
    results: builtins.list[Any] | None = None
    error: str | None = None

    def __init__(
        self,
        id: str,  # noqa: A002 — the field's name is the documents'
        category: str | None,
        channel_id: str,
        status: str,
        created: str,
        updated: str,
        workflow_count: int = 0,
        version: int = 1,
        payload: dict[str, Any] | None = None,
        results: builtins.list[Any] | None = None,
        error: str | None = None,
    ) -> None:
        """Set every field past the frozen door: a job makes three records, and this takes a third of the time."""
        fields = self.__dict__
        fields["id"] = id
        fields["category"] = category
        fields["channel_id"] = channel_id
        fields["status"] = status
        fields["created"] = created
        fields["updated"] = updated
        fields["workflow_count"] = workflow_count
        fields["version"] = version
        fields["payload"] = payload
        fields["results"] = results
        fields["error"] = error


class IJobStore(ABC):
    """Where records are kept; safe to use from any thread. Spec: pipeline.md 12.2."""

    @abstractmethod
    def put(self, record: JobRecord) -> bool:
        """Insert or update by id; False when the row's status or version forbids it and nothing was changed.

        An insert keeps the record exactly as given. An update needs the row's version, leaves `created` alone and
        makes the version one higher. Raises what the backend raises when it cannot say.
        """

    @abstractmethod
    def get(self, job_id: str) -> JobRecord | None:
        """Return the record of a job, or None."""

    @abstractmethod
    def list(self, channel_id: str | None = None) -> builtins.list[JobRecord]:
        """Return all records, or those of one channel, in no promised order."""

    @abstractmethod
    def delete(self, job_id: str) -> None:
        """Forget one job; an unknown id is fine."""

    @abstractmethod
    def clear(self) -> None:
        """Forget all jobs."""

    def close(self) -> None:  # noqa: B027 — a store of a program's own need not know of it
        """Give back connections; a store that holds none does nothing. It may be used again afterwards."""
