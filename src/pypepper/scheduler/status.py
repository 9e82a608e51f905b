"""The words for where a job is in its life. Spec: pipeline.md 6.1.

The member and its text are one: stores, records and logs hold the text. Completed, Failed and Cancelled are final.
"""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """A state of the job's machine, as programs and stores spell it."""

    UNKNOWN = "Unknown"
    INITIALIZING = "Initializing"
    SCHEDULED = "Scheduled"
    IN_PROGRESS = "InProgress"
    COMPLETED = "Completed"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
