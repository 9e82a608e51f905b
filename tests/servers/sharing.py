"""One server for a whole test run, however many workers it has.

The first who needs a server starts a keeper (`keeper.py`), which starts the server and writes down where it is. Every
user holds a shared lock on one file, which the kernel lets go when the user ends, however it ends; the keeper waits for
the exclusive lock, so it goes when nobody is left, and takes the server with it.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from tests.servers.kinds import READY_S, Place

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def shared(kind: str, meeting: Path) -> Iterator[Place]:
    """Give the place of the run's server of this kind; `meeting` is a folder that all workers of the run know."""
    meeting.mkdir(parents=True, exist_ok=True)
    with (meeting / f"{kind}.users").open("a") as users:
        with locked(meeting / f"{kind}.start", fcntl.LOCK_EX):
            fcntl.flock(users, fcntl.LOCK_SH)  # while a keeper is closing, this waits
            place = found(kind, meeting) or _kept(kind, meeting)
        yield place


@contextmanager
def locked(path: Path, how: int) -> Iterator[IO[str]]:
    """Hold a lock on a file, which is made if it is missing."""
    with path.open("a") as file:
        fcntl.flock(file, how)
        yield file


def found(kind: str, meeting: Path) -> Place | None:
    """Return where the server is, if one is kept."""
    try:
        said: dict[str, Any] = json.loads((meeting / f"{kind}.place").read_text())
    except FileNotFoundError:
        return None
    return Place(**said)


def tell(place: Place, meeting: Path) -> None:
    """Write down where the server is, whole or not at all."""
    draft = meeting / f"{place.kind}.draft"
    draft.write_text(json.dumps(asdict(place)))
    draft.rename(meeting / f"{place.kind}.place")


def _kept(kind: str, meeting: Path) -> Place:
    log = meeting / f"{kind}.keeper"
    command = [sys.executable, "-m", "tests.servers.keeper", kind, str(meeting)]
    with log.open("ab") as out:
        keeper = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "PYTHONWARNINGS": "default"},
        )
    deadline = time.monotonic() + 2 * READY_S
    while (place := found(kind, meeting)) is None:
        if keeper.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"no {kind} could be started:\n{log.read_text()[-4000:]}")
        time.sleep(0.02)
    keeper.returncode = 0  # it outlives us on purpose, and is nobody's zombie to warn about
    return place
