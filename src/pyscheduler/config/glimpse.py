"""The settings alone, quickly: for commands that only want to know where a scheduler lives.

Reads no further than the end of the main file's `scheduler:` section, follows no include, checks nothing else, and
imports neither pydantic nor anything heavy. What `load_config` would refuse elsewhere in the file is no fault here.
DESIGN 9 (thin commands).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import tzdata  # type: ignore[import-untyped]
from yaml import MappingEndEvent, MarkedYAMLError, SequenceEndEvent
from yaml.reader import ReaderError

from pyscheduler.config.builder import MAX_NODES, Builder
from pyscheduler.config.complaints import shown
from pyscheduler.config.settings import beside, check_zone
from pyscheduler.config.source import check_text, read_bytes
from pyscheduler.config.store_address import store_of
from pyscheduler.config.tree import Block, Tree, TreeError
from pyscheduler.config.values import BadValue
from pyscheduler.config.variables import Variables
from pyscheduler.config.yaml_words import translated, unprintable
from pyscheduler.errors import ConfigError
from pyscheduler.model.problem import Problem

T = TypeVar("T")
_ZONES: Final = os.path.join(os.path.dirname(tzdata.__file__), "zoneinfo")
_SECTION: Final = "scheduler"


@dataclass(frozen=True, slots=True)
class Glance:
    """Where a scheduler lives: its name, its time zone, its two folders (absolute)."""

    name: str
    timezone: str
    state_dir: Path
    log_dir: Path


class _Seen(Exception):
    """The section has been read: the rest does not matter."""


class _Until(Builder):
    """Builds the tree as far as the end of the section; `top` is then the unfinished root."""

    top: Tree | None = None

    def _close(self, event: MappingEndEvent | SequenceEndEvent) -> None:
        super()._close(event)
        if len(self._stack) == 1 and _SECTION in self._stack[0].node:
            self.top = self._stack[0].node
            raise _Seen


def glance(path: str | os.PathLike[str], *, env: Mapping[str, str] | None = None) -> Glance:
    """Return where the scheduler of a main file lives. Raises ConfigError where that cannot be read.

    `env` is where `${NAME}` is read, None for this process's environment.
    """
    file = Path(path)
    reader = _Reader(file, _section_of(file), Variables(os.environ if env is None else env))
    return Glance(
        name=reader.read("name", str, "pysched"),
        timezone=reader.read("timezone", _known_zone, "UTC"),
        state_dir=beside(file, reader.read("state_dir", str, "state")),
        log_dir=beside(file, reader.read("log_dir", str, "logs")),
    )


def store_at(path: str | os.PathLike[str], *, env: Mapping[str, str] | None = None) -> str | None:
    """Return the address of the store of a main file, None where it is the file in state_dir. Raises ConfigError.

    Apart from `glance`, because it may need a password of the environment, which most commands need not have.
    """
    file = Path(path)
    variables = Variables(os.environ if env is None else env)
    return _Reader(file, _section_of(file), variables).taken("store", store_of)


def _section_of(file: Path) -> Block:
    try:
        return _section(read_bytes(os.path.normpath(file)))
    except BadValue as error:
        raise ConfigError([Problem(str(file), 0, 0, error.what, error.mend)]) from None
    except TreeError as error:
        raise ConfigError([Problem(str(file), error.line, error.column, error.what, error.mend)]) from None


def _section(data: bytes) -> Block:
    check_text(data)
    builder = _Until(data, MAX_NODES)
    root: Tree | None
    try:
        root = builder.run().root
    except _Seen:
        root = builder.top
    except MarkedYAMLError as error:
        raise translated(error) from None
    except ReaderError as error:
        raise unprintable(data, error) from None
    section = root.get(_SECTION) if isinstance(root, Block) else None
    return section if isinstance(section, Block) else Block()


def _known_zone(text: str) -> str:
    """Return `text` if it names a zone: one whose file is there is one; only else the whole list is looked through."""
    path = os.path.join(_ZONES, text)
    if os.path.normpath(path) == path:
        try:
            with open(path, "rb") as file:
                if file.read(4) == b"TZif":
                    return text
        except (OSError, ValueError):
            return check_zone(text)
    return check_zone(text)


class _Reader:
    def __init__(self, file: Path, section: Block, variables: Variables) -> None:
        self._file, self._section, self._variables = file, section, variables

    def read(self, key: str, parse: Callable[[str], T], default: str) -> T:
        if key not in self._section:
            return parse(default)
        value = self._section[key]
        try:
            if not isinstance(value, str) or not value:
                raise BadValue("must be text")
            return parse(self._variables.expand(value))
        except BadValue as error:
            line, column = self._section.value_place(key)
            typed = f"{shown(value)} " if isinstance(value, str) else ""
            message = self._variables.redact(f"scheduler.{key}: {typed}{error.what}")
            raise ConfigError([Problem(str(self._file), line, column, message, error.mend)]) from None

    def taken(self, key: str, take: Callable[[str, Variables], T]) -> T | None:
        """Return what `take` makes of a key's text, None where it is not written. The text is in no complaint."""
        if key not in self._section:
            return None
        value = self._section[key]
        try:
            if not isinstance(value, str) or not value:
                raise BadValue("must be text")
            return take(value, self._variables)
        except BadValue as error:
            line, column = self._section.value_place(key)
            message = self._variables.redact(f"scheduler.{key}: {error.what}")
            raise ConfigError([Problem(str(self._file), line, column, message, error.mend)]) from None
