"""From the `scheduler:` section to Settings with every default and absolute paths. Spec: jobs.md 1.6; DESIGN 3, 8."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyscheduler.config.values import BadValue

if TYPE_CHECKING:
    from pyscheduler.model.job import Settings

_SECONDS: Final = ("kill_grace", "retention", "log_retention", "audit_retention", "pool_patience")
_PATHS: Final = ("state_dir", "log_dir", "api_tokens_file", "users_file")


def settings_of(keys: Mapping[str, Any], main: Path) -> Settings:
    """Return the settings that the section's keys make; relative paths lie beside the main file."""
    from pyscheduler.model.job import Settings  # `glance` need not wait for all the nouns of a job

    values: dict[str, Any] = {"state_dir": beside(main, "state"), "log_dir": beside(main, "logs")}
    for key, value in keys.items():
        field, convert = _converted(key, main)
        values[field] = value if convert is None or value is None else convert(value)
    values["listen_is_given"] = "listen" in keys
    return Settings(**values)


def _converted(key: str, main: Path) -> tuple[str, Callable[[Any], Any] | None]:
    if key in _SECONDS:
        return f"{key}_s", float
    if key in _PATHS:
        return key, lambda text: beside(main, text)
    if key == "cluster":
        from pyscheduler.config.schema_cluster import cluster_settings

        return key, lambda keys: cluster_settings(keys.given(), None)
    if key == "listen":
        return key, lambda pair: f"{pair[0]}:{pair[1]}"
    return key, None


def beside(file: Path, text: str) -> Path:
    """Return the absolute path that `text` means in `file`: relative to the folder the file lies in."""
    return Path(os.path.normpath(file.absolute().parent / text))


def check_zone(text: str) -> str:
    """Return `text` if it names a time zone of our own zone data; else raise BadValue, never guess UTC (FC-020)."""
    from pyscheduler.timetable.zone import zone_names  # not for who only wants a folder: thin commands pay for it

    if text not in zone_names():
        what = "is no time zone of the IANA database"
        raise BadValue(what, "write its name, as in Europe/Berlin", word=text, among=zone_names())
    return str(text)
