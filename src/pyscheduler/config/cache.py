"""Parsed configurations kept in a folder, so that a restart need not read ten thousand jobs again.

One file a main file: `<hash of its path>.config`. Format, version 1, valid if and only if all of it holds:

    line 1      `pysched-config 1`
    line 2      JSON: who made it (release and the very code, Python, zone and holiday data), from what (`files`: path
                as loaded and SHA-256 of its text; `patterns`: include patterns and what they named), when
                (`loaded_on`), the digest, and `sha256` of the rest
    the rest    the Config as `pickled` makes it: no value of the environment is in it

Written to a temporary file, mode 0600, and renamed: a crash leaves the old one or the new one. A file that is damaged,
not ours, readable by others, made by another release, from other texts, in another year or more than 31 days ago is as
if it were not there. A configuration that filled `${NAME}` into anything but a template is never kept: it would hold
the value in clear. Warnings are those of the day it was read.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from pyscheduler import collector
from pyscheduler.__about__ import __version__
from pyscheduler.config.patterns import matches
from pyscheduler.config.pickled import ForeignBytes, dumps, loads
from pyscheduler.config.process import today_utc
from pyscheduler.config.result import Config
from pyscheduler.config.source import read_bytes
from pyscheduler.config.values import BadValue

_MAGIC: Final = b"pysched-config 1\n"
MAX_AGE_DAYS: Final = 31
MAX_CACHE_BYTES: Final = 512 << 20
READERS: Final = ("model", "timetable", "rules", "config")
"""The rooms whose code decides what a text becomes."""


def load_cached(
    path: str | os.PathLike[str],
    folder: Path,
    env: Mapping[str, str] | None = None,
    *,
    today: date | None = None,
    allow_inactive: bool = False,
) -> Config:
    """Return the configuration of a main file, from `folder` where that holds it unchanged, else loaded and kept there.

    Arguments and errors are those of `load_config`. A folder that cannot be written is no fault: nothing is kept.
    """
    env = os.environ if env is None else env
    today = today or today_utc()
    kept = _file(folder, path, allow_inactive=allow_inactive)
    config = _read(kept, env, today)
    if config is None:
        from pyscheduler.config.load import load_config

        config = load_config(path, env=env, today=today, allow_inactive=allow_inactive)
        if not config.variables_in_clear:
            _write(kept, config)
    return config


def _file(folder: Path, path: str | os.PathLike[str], *, allow_inactive: bool) -> Path:
    # The path as given too: complaints and sources name files by it.
    named = "\0".join((os.path.abspath(path), os.path.normpath(path), str(allow_inactive)))
    return folder / f"{hashlib.sha256(os.fsencode(named)).hexdigest()[:32]}.config"


def _makers() -> dict[str, str]:
    """Return what must be the same for a kept configuration to mean the same."""
    made_by = {"pyscheduler": __version__, "python": sys.version, "cache": sys.implementation.cache_tag or ""}
    made_by["code"] = _code()
    for package in ("tzdata", "holidays", "icalendar"):
        try:
            made_by[package] = version(package)
        except PackageNotFoundError:
            made_by[package] = ""
    return made_by


@cache
def _code() -> str:
    """Return what changes with the code that a Config is made by and of: a working copy has one release's number.

    Sizes and times of files, not their text: reading it all would take longer than a start may.
    """
    digest = hashlib.sha256()
    for room in READERS:
        for file in sorted((Path(__file__).parent.parent / room).rglob("*.py")):
            found = file.stat()
            digest.update(f"{file}\0{found.st_size}\0{found.st_mtime_ns}\n".encode())
    return digest.hexdigest()


# --------------------------------------------------------------------------- reading


def _read(kept: Path, env: Mapping[str, str], today: date) -> Config | None:
    data = _own_bytes(kept)
    if data is None or not data.startswith(_MAGIC):
        return None
    line, _, payload = data[len(_MAGIC) :].partition(b"\n")
    try:
        head: dict[str, Any] = json.loads(line)
        sound = head["sha256"] == hashlib.sha256(payload).hexdigest() and head["made_by"] == _makers()
        if not sound or not _recent(head["loaded_on"], today) or not _unchanged(head):
            return None
        with collector.at_rest():
            config = loads(payload)
        if not isinstance(config, Config) or config.digest != head["digest"]:
            return None
        return config.with_environment(env)
    except (ValueError, KeyError, TypeError, ForeignBytes):
        # Damaged, or a variable is not set any more: a full loading says which.
        return None


def _own_bytes(kept: Path) -> bytes | None:
    """Return the file's bytes if it is a regular file of this user that nobody else may touch."""
    try:
        with open(os.open(kept, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as handle:
            status = os.fstat(handle.fileno())
            ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
            return handle.read() if ours and status.st_size <= MAX_CACHE_BYTES else None
    except OSError:
        return None


def _recent(loaded_on: str, today: date) -> bool:
    then = date.fromisoformat(loaded_on)
    return then.year == today.year and 0 <= (today - then).days <= MAX_AGE_DAYS


def _unchanged(head: Mapping[str, Any]) -> bool:
    try:
        if any(matches(pattern) != names for pattern, names in head["patterns"].items()):
            return False
        return all(_hash(read_bytes(path)) == known for path, known in head["files"])
    except BadValue:
        return False


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --------------------------------------------------------------------------- writing


def _write(kept: Path, config: Config) -> None:
    payload = dumps(config)
    head = {
        "made_by": _makers(),
        "files": [[source.path, _hash(source.text.encode())] for source in config.sources],
        "patterns": {pattern: list(names) for pattern, names in config.patterns.items()},
        "loaded_on": config.loaded_on.isoformat(),
        "digest": config.digest,
        "sha256": _hash(payload),
    }
    data = _MAGIC + json.dumps(head).encode() + b"\n" + payload
    try:
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=kept.parent, prefix=".", suffix=".new")
    except OSError:
        return
    try:
        with open(descriptor, "wb") as handle:
            handle.write(data)
        os.replace(temporary, kept)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
