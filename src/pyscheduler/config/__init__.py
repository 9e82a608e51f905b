"""FROM TEXT TO JOBS: reads a configuration, checks all of it, and says everything that is wrong at once.

`load_config` is imported on first use: it needs pydantic, and what only wants the settings (`glance`) must not.

*Invariant:* nothing here starts, stores or decides anything. No value of the environment is shown: not in a problem,
not in a repr, not in a pickle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyscheduler.config.result import Config
from pyscheduler.errors import ConfigError

if TYPE_CHECKING:
    from pyscheduler.config.load import build_config, load_config

__all__ = ["Config", "ConfigError", "build_config", "load_config"]


def __getattr__(name: str) -> Any:
    if name in ("load_config", "build_config"):
        from pyscheduler.config import load

        return getattr(load, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
