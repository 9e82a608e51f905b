"""What jobs, tasks and workflows have in common, as annotations, and the text of an instant. Spec: pipeline.md 7."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar, Self

from pypepper.common.context import Context


class IBase:
    """A bag of annotated attributes; jobs, tasks and workflows fill what their own documents list."""

    id: str
    channel_id: str
    dag_id: str
    fingerprint: str
    name: str
    category: str | None
    description: str
    status: str
    created: str
    updated: str
    tags: list[Any]
    progress: int = 0
    round_timeout: float = 0
    round_times: int = 1
    version: int = 1
    context: Context


class OneOfAKind:
    """A class whose every call returns the one instance of the process."""

    _only: ClassVar[Any] = None

    def __new__(cls) -> Self:
        """Return the one instance."""
        if cls._only is None:
            cls._only = super().__new__(cls)
        only: Self = cls._only
        return only


def now_text() -> str:
    """Return this instant as UTC text with milliseconds, like `2031-04-05T06:07:08.123+00:00`."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")  # noqa: TID251 — the pipeline's only look at the clock
