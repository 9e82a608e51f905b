"""FROM TEXT TO JOBS: reads a configuration, checks all of it, and says everything that is wrong at once.

Names are imported on first use: `load_config` needs pydantic and `Config` the timetable, and what only wants the
settings (`glance`) must pay for neither.

*Invariant:* nothing here starts, stores or decides anything. No value of the environment is shown: not in a problem,
not in a repr, not in a pickle.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pyscheduler.errors import ConfigError

if TYPE_CHECKING:
    from pyscheduler.config.cache import load_cached
    from pyscheduler.config.diff import config_diff, firing_diff
    from pyscheduler.config.glimpse import glance, store_at
    from pyscheduler.config.load import build_config, load_config
    from pyscheduler.config.lookahead import deferred_checks
    from pyscheduler.config.offload import load_in_process
    from pyscheduler.config.result import Config
    from pyscheduler.config.schema import json_schema

__all__ = [
    "Config",
    "ConfigError",
    "build_config",
    "config_diff",
    "deferred_checks",
    "firing_diff",
    "glance",
    "json_schema",
    "load_cached",
    "load_config",
    "load_in_process",
    "store_at",
]

_HOMES: Final = {
    "Config": "result",
    "build_config": "load",
    "config_diff": "diff",
    "deferred_checks": "lookahead",
    "firing_diff": "diff",
    "glance": "glimpse",
    "json_schema": "schema",
    "load_cached": "cache",
    "load_config": "load",
    "load_in_process": "offload",
    "store_at": "glimpse",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
