"""Do once, before the first fork, what every minder will do: its memory is then shared instead of copied.

The interpreter adapts code as it runs (PEP 659, after eight calls) and fills caches on first use, each time writing
to pages that a fork shares until somebody writes. Eight attempts of `/bin/sh -c :` in a scratch folder in memory,
played in the nursery itself, need not be paid for in each minder: a quarter of the memory it has for itself, and of
the CPU it starts with. Where there is no such folder nothing is rehearsed, and everything works all the same.
"""

from __future__ import annotations

import os

from . import crash, frames, kernel, notes, watch
from .ears import Ears

ROUNDS = 8
MEMORY = "/dev/shm"
PREFIX = "pysched-rehearsal."
ENVIRONMENT = {"PATH": os.defpath} | {f"VARIABLE_{number}": "x" * number for number in range(40)}


def rehearse(signals: int) -> None:
    """Play ROUNDS attempts with nobody to hear of them. About 20 ms, once."""
    _tidy_up()
    folder = os.path.join(MEMORY, f"{PREFIX}{os.getpid()}.{os.urandom(8).hex()}")
    armed = dict(crash.ARMED)
    crash.ARMED.clear()  # a test's crash points are meant for real attempts
    try:
        os.mkdir(folder, 0o700)
    except OSError:
        return
    else:
        try:
            _play(folder, signals)
        finally:
            _remove(folder)
    finally:
        crash.ARMED.update(armed)


def _play(folder: str, signals: int) -> None:
    me, nobody = kernel.myself(), os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        for number in range(ROUNDS):
            minder = watch.Minder(nobody, nobody, Ears(signals), me, kernel.boot_id(), 0o022)
            minder.serve(_order(folder, number), None)
            minder.close()
    except OSError:
        return  # a full /dev/shm: what was played so far is good enough
    finally:
        os.close(nobody)


def _order(folder: str, number: int) -> frames.Order:
    status = os.path.join(folder, f"{number}.json")
    os.close(os.open(notes.identity_path(status), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    head = {"key": f"rehearsal-{number}", "status": status, "lock": True, "special": False, "tap": None}
    body = {
        "argv": ["/bin/sh", "-c", ":"],
        "env": ENVIRONMENT,
        "cwd": "/",
        "stdout": os.path.join(folder, f"{number}.out"),
        "stderr": os.path.join(folder, f"{number}.err"),
        "timeout_s": 3600.0,
        "kill_grace_s": 10.0,
        "leftovers": "leave",
        "user": None,
        "umask": None,
        "nice": None,
        "limits": {},
    }
    (payload,) = frames.Reader().feed(frames.frame(notes.line(head) + notes.line(body)))
    return frames.Order(payload)


def _tidy_up() -> None:
    """Remove what nurseries left that were killed in the middle of their rehearsal."""
    try:
        names = [name for name in os.listdir(MEMORY) if name.startswith(PREFIX)]
    except OSError:
        return
    for name in names:
        pid = name.split(".")[1]
        if pid.isdigit() and kernel.start_ticks(int(pid)) is None:
            _remove(os.path.join(MEMORY, name))


def _remove(folder: str) -> None:
    try:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:
        return  # a few kilobytes in memory, gone with the boot
