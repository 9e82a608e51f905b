"""A tag of a task: a key and a value, both text. Spec: pipeline.md 1.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class ITag(Protocol):
    """What a payload reads of a tag."""

    key: str
    value: str


@dataclass(slots=True)
class Tag:
    """One key with its value."""

    key: str = ""
    value: str = ""
