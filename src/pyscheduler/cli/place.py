"""Where the scheduler lives that a command speaks of: its configuration, its zone, its socket.

The configuration is the one given with `-c`, else the one PYSCHED_CONFIG names, else `./pysched.yaml`. A thin command
reads only its `scheduler:` section (`config.glance`), so that what is wrong elsewhere in the file cannot keep an
operator from the running scheduler. A scheduler at an address (`address.py`) says itself where it lives. DESIGN 9, 11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyscheduler.cli.address import Address
from pyscheduler.cli.faults import NoConfiguration, WrongUsage
from pyscheduler.cli.times import Times

VARIABLE: Final = "PYSCHED_CONFIG"
FILE_NAME: Final = "pysched.yaml"
SOCKET_NAME: Final = "api.sock"


@dataclass(frozen=True, slots=True)
class Place:
    """One scheduler's place. Paths are absolute but for `config`, which is as the operator names it."""

    config: Path
    name: str
    timezone: str
    state_dir: Path
    log_dir: Path

    @property
    def socket(self) -> Path:
        """The Unix socket on which the scheduler answers."""
        return self.state_dir / SOCKET_NAME

    def store_url(self, environ: Mapping[str, str]) -> str | None:
        """Return the address of its store, None where that is the file in `state_dir`. Raises ConfigError."""
        from pyscheduler.config import store_at

        return store_at(self.config, env=environ)

    @property
    def times(self) -> Times:
        """The way times are written here."""
        return Times.of(self.timezone)


def find_config(given: str | None, environ: Mapping[str, str], folder: Path) -> Path:
    """Return the main configuration file's path. Raises NoConfiguration where nothing names one."""
    if given is not None:
        return Path(given)
    if named := environ.get(VARIABLE):
        return Path(named)
    if (folder / FILE_NAME).is_file():
        return Path(FILE_NAME) if folder == Path.cwd() else folder / FILE_NAME
    raise NoConfiguration(
        f"there is no {FILE_NAME} here",
        where=str(folder),
        mend=f"name it with -c FILE or {VARIABLE}, or write one with `pysched init`",
    )


def look_up(config: Path, environ: Mapping[str, str]) -> Place:
    """Return where the scheduler of a main file lives. Raises ConfigError where that cannot be read."""
    from pyscheduler.config import glance

    found = glance(config, env=environ)
    return Place(config, found.name, found.timezone, found.state_dir, found.log_dir)


def place_of(scheduler: Mapping[str, Any]) -> Place:
    """Return the place that a scheduler says it has; its paths are those of its own machine."""
    return Place(
        Path(scheduler["config"]["path"]),
        scheduler["name"],
        scheduler["timezone"],
        Path(scheduler["state_dir"]),
        Path(scheduler["log_dir"]),
    )


def not_from_afar(what: str, address: Address) -> WrongUsage:
    """Return the error for what can only be done on the scheduler's own machine; `what` ends in a verb."""
    mend = "do it on that machine, or name a file here with -c and no --url"
    return WrongUsage(f"{what} on the scheduler's own machine alone", where=str(address), mend=mend)
