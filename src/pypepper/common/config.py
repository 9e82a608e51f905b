"""The settings file of a program, and whether the job store it names is in use yet. Spec: pipeline.md 14.

Loading a file never opens a store. It remembers that a durable store was *named* (flag D of the spec); until somebody
applies it, or chooses another on purpose, saving a job into the default memory store is refused: a program that
believes its jobs are on disk should hear at once that they are not.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import yaml

from pypepper.common import tracing
from pypepper.common.log import log
from pypepper.common.shapes import (
    ConfLog,
    ConfScheduler,
    ConfSchedulerJobStore,
    ConfServiceInfo,
    ConfTracing,
    ConfTracingOtlp,
    YmlConfig,
)

__all__ = [
    "ConfLog",
    "ConfScheduler",
    "ConfSchedulerJobStore",
    "ConfServiceInfo",
    "ConfTracing",
    "ConfTracingOtlp",
    "Config",
    "YmlConfig",
    "config",
]

DEFAULT_FILE: Final = "./conf/app.config.yaml"


class Config:
    """One settings file, read once, and the flag D; `config` is the one of the process."""

    def __init__(self) -> None:
        self._yml: YmlConfig | None = None
        self._deferred: str | None = None

    def load_config(self, filename: str | Path | None = None) -> None:
        """Read a YAML file; apply `log` and `tracing`; note the durable store it names, and open none.

        Without a name: what `-c` or `--config` on the command line says, else DEFAULT_FILE. A file that is missing or
        empty, or a level without `log.colorize`, raises, and what was loaded before stays.
        """
        path = Path(filename if filename is not None else _named_on_the_command_line())
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(loaded, dict):
            raise ValueError(  # noqa: TRY004 — the file is wrong, not the call
                f"{path}: no settings here: write a mapping, for example `scheduler: ...`"
            )
        yml = cast("YmlConfig", _view(loaded))
        _apply_log(yml, path)
        tracing.setup_from_config(yml)
        self._yml = yml
        self.refresh_scheduler_job_store_deferred()

    def get_yml_config(self) -> YmlConfig | None:
        """Return the settings with their keys as attributes, or None before a file was loaded."""
        return self._yml

    def durable_job_store_backend(self) -> str | None:
        """Return the backend that the loaded file names, as it spells it, or None where it names memory or none."""
        store = getattr(getattr(self._yml, "scheduler", None), "jobStore", None)
        raw = getattr(store, "backend", None)
        return raw if raw is not None and str(raw).strip().lower() not in {"", "memory"} else None

    def mark_scheduler_job_store_applied(self) -> None:
        """Say that the store in use was chosen on purpose: D becomes none."""
        self._deferred = None

    def refresh_scheduler_job_store_deferred(self) -> None:
        """Work D out anew from the loaded file."""
        self._deferred = self.durable_job_store_backend()

    def ensure_scheduler_job_store_applied(self, *, using_default_memory_store: bool = True) -> None:
        """Refuse (ValueError) to use a memory store while the file names a durable one that nobody has applied.

        Any other store in use was chosen by somebody, so D becomes none and the call goes on.
        """
        if self._deferred is None:
            return
        if not using_default_memory_store:
            self.mark_scheduler_job_store_applied()
            return
        raise ValueError(
            f"the settings name the job store {self._deferred!r}, but jobs would be kept in memory only: "
            "call setup_from_config(config.get_yml_config()) after load_config, or choose a store with "
            "configure_job_store or set_job_store"
        )


def _named_on_the_command_line() -> str:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-c", "--config", nargs="?", const=DEFAULT_FILE, default=DEFAULT_FILE)
    known, unknown = parser.parse_known_args(sys.argv[1:])
    if unknown:
        log.warn(f"command line arguments that are not ours are ignored: {unknown}")
    return str(known.config)


def _view(value: Any) -> Any:
    """Return mappings as objects with attributes, at any depth."""
    if isinstance(value, dict):
        return SimpleNamespace(**{str(key): _view(inner) for key, inner in value.items()})
    if isinstance(value, list):
        return [_view(inner) for inner in value]
    return value


def _apply_log(yml: YmlConfig, path: Path) -> None:
    section = getattr(yml, "log", None)
    level = getattr(section, "level", None)
    if level is None:
        return
    colorize = getattr(section, "colorize", None)
    if colorize is None:
        raise ValueError(f"{path}: log.level is given and log.colorize is not: write `colorize: true` or `false`")
    log.set_log_level(str(level))
    log.set_colorize(bool(colorize))


config: Final = Config()
"""The settings of the process."""
