"""What the store remembers of a configuration: every version that ever decided about a run. Spec: jobs.md 8.1, 8.2."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyscheduler.model.job import ConfigSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigVersion:
    """One loaded configuration without its text. `digest` names the content: the same digest is the same version."""

    version: int
    loaded_at: datetime
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRecord(ConfigVersion):
    """One loaded configuration with the text of its files as typed, in the order they were read."""

    sources: tuple[ConfigSource, ...]
