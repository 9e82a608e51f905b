"""One command's surroundings: its configuration, its environment, its clock, its output. Tests hand in their own.

Everything is found out when it is first asked for: `pysched version` reads no file, `pysched status` no job.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from pyscheduler.cli import times
from pyscheduler.cli.address import Address, Elsewhere
from pyscheduler.cli.client import Client, SocketClient
from pyscheduler.cli.moments import settled
from pyscheduler.cli.place import Place, find_config, look_up, not_from_afar, place_of
from pyscheduler.cli.terminal import Terminal
from pyscheduler.cli.text import wrapped

if TYPE_CHECKING:
    from pyscheduler.config import Config


T = TypeVar("T", bound=date)


def _connect(place: Place, timeout_s: float) -> Client:
    return SocketClient(place.socket, place.config, timeout_s)


@dataclass
class Session:
    """What a command works with. `given_config` is the value of `-c`; `terminal` None: look at stdout."""

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    folder: Path = field(default_factory=Path.cwd)
    given_config: str | None = None
    elsewhere: Elsewhere = field(default_factory=Elsewhere)
    connect: Callable[[Place, float], Client] = _connect
    now: Callable[[], datetime] = times.now
    shown_on: Terminal | None = None

    @cached_property
    def config_path(self) -> Path:
        """The main configuration file. Raises NoConfiguration, WrongUsage for a scheduler elsewhere."""
        if self.address is not None:
            raise not_from_afar("the scheduler's files are", self.address)
        return find_config(self.given_config, self.environ, self.folder)

    @cached_property
    def address(self) -> Address | None:
        """Where the scheduler answers, None where it is that of a file here. Raises WrongUsage."""
        return self.elsewhere.address(self.environ, is_file_given=self.given_config is not None)

    @cached_property
    def place(self) -> Place:
        """Where the scheduler lives; one elsewhere is asked. Raises NoConfiguration, ConfigError; CommandError."""
        if self.address is not None:
            return place_of(self.client().get("/api/scheduler"))
        return look_up(self.config_path, self.environ)

    @cached_property
    def terminal(self) -> Terminal:
        """What stdout can show."""
        return self.shown_on or Terminal.of(sys.stdout, self.environ)

    @cached_property
    def width_of_notes(self) -> int | None:
        """How wide stderr is, None where it is no terminal."""
        return Terminal.of(sys.stderr, self.environ).width

    def client(self, timeout_s: float = 30.0) -> Client:
        """Return the way to the running scheduler, which waits for one that is starting; nothing is asked yet."""
        from pyscheduler.cli.patient import Patient

        client = self.hasty_client(timeout_s)
        while self.elsewhere.noted:
            self.note(self.elsewhere.noted.pop(0))
        return Patient(client, self.place if self.address is None else None, self.note)

    def hasty_client(self, timeout_s: float) -> Client:
        """Return the way to the running scheduler for whoever takes no answer for an answer, and at once."""
        if self.address is not None:
            return self._remote_client(self.address, timeout_s)
        return self.connect(self.place, timeout_s)

    def looking(self, timeout_s: float = 30.0) -> Client:
        """Return the way for those who only look: the running scheduler, or while none runs what its store says."""
        if self.address is not None:
            return self.client(timeout_s)
        from pyscheduler.cli.looking import Looking

        return Looking(self, timeout_s)

    def _remote_client(self, address: Address, timeout_s: float) -> Client:
        from pyscheduler.cli.remote import RemoteClient

        return RemoteClient(address, self._token, timeout_s)

    @cached_property
    def _token(self) -> str | None:
        return self.elsewhere.token(self.environ)

    def load(self, path: Path | None = None, *, allow_inactive: bool = True) -> Config:
        """Return the whole configuration of a file, by default this session's. Raises ConfigError, NoConfiguration.

        Commands that only look take jobs that need a part which is not active yet as they are.
        """
        from pyscheduler.config import load_config

        return load_config(path or self.config_path, env=self.environ, allow_inactive=allow_inactive)

    def settle(self, moment: T) -> T:
        """Return what a typed moment means here and now: `yesterday` its date, `04:31` that time of today."""
        return settled(moment, self.place.times.local(self.now()).date())

    # ----------------------------------------------------------------- output

    def say(self, text: str = "") -> None:
        """Print a line on stdout."""
        click.echo(text, color=self.terminal.colour)

    def tell(self, text: str = "") -> None:
        """Print a line of prose on stdout, broken between words on a terminal."""
        self.say(wrapped(text, self.terminal.width))

    def say_all(self, lines: Iterable[str]) -> None:
        """Print lines on stdout."""
        for line in lines:
            self.say(line)

    def note(self, text: str) -> None:
        """Print a line on stderr, broken between words on a terminal: a remark that is no part of the answer."""
        click.echo(wrapped(text, self.width_of_notes), err=True)

    def note_all(self, lines: Iterable[str]) -> None:
        """Print lines on stderr."""
        for line in lines:
            self.note(line)

    def print_json(self, value: object) -> None:
        """Print an answer for programs: one JSON document."""
        click.echo(json.dumps(value, indent=2, ensure_ascii=not self.terminal.unicode))


pass_session = click.make_pass_decorator(Session, ensure=True)
