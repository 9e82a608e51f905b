"""What jobs, tasks and workflows have in common, as annotations, and the text of an instant. Spec: pipeline.md 7."""

from __future__ import annotations

import time
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


_minute: tuple[int, str] = (-1, "")
"""A minute since the epoch and its text: of the many instants of a minute only the first has to be worked out."""
_last: tuple[int, str] = (-1, "")
"""The last millisecond asked for and its text: a job a millisecond is few, and each asks four times."""


def now_text() -> str:
    """Return this instant as UTC text with milliseconds, like `2031-04-05T06:07:08.123+00:00`."""
    global _last
    now_ms = time.time_ns() // 1_000_000
    known, text = _last
    if now_ms != known:
        text = _text_of(now_ms)
        _last = (now_ms, text)
    return text


def _text_of(instant_ms: int) -> str:
    global _minute
    minute, rest_ms = divmod(instant_ms, 60_000)
    known, text = _minute
    if minute != known:
        text = datetime.fromtimestamp(minute * 60, UTC).strftime("%Y-%m-%dT%H:%M")
        _minute = (minute, text)
    seconds, ms = divmod(rest_ms, 1000)
    return f"{text}:{seconds:02d}.{ms:03d}+00:00"
