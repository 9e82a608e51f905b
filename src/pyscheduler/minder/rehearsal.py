"""Run once, before the first fork, what every minder will run: its memory is then shared instead of copied.

The interpreter adapts code as it runs (PEP 659) and fills caches on first use, each time writing to pages that a fork
shares until somebody writes. Done sixteen times in the nursery, it need not be done in each minder: a quarter of what a
minder has for itself. Nothing here has an effect: no file is written, no process started, no signal handled.
"""

from __future__ import annotations

import os
import time

from . import frames, kernel, notes, program, spawn, tap
from .ears import Ears

ROUNDS = 16
_VARIABLES = {f"VARIABLE_{number}": "x" * number for number in range(40)}


def rehearse(signals: int) -> None:
    """Walk through an attempt with nothing at the other end. About 10 ms."""
    me = kernel.myself()
    for _ in range(ROUNDS):
        order = _order(me)
        identity = _identity(me, order.body())
        identity.job = me
        notes.parse_identity(identity.first_line() + notes.line({"job": me.as_json()}), order.key)
        _reports(identity)
        _surroundings(order, signals)


def _order(me: notes.Proc) -> frames.Order:
    head = {"key": "k" * 16, "status": "/nowhere/x.json", "lock": True, "special": False, "tap": None}
    body = {
        "argv": ["/bin/sh", "-c", "true"],
        "env": _VARIABLES,
        "cwd": "/",
        "stdout": "/nowhere/x.out",
        "stderr": "/nowhere/x.err",
        "timeout_s": 3600.0,
        "kill_grace_s": 10.0,
        "leftovers": "leave",
        "user": None,
        "umask": None,
        "nice": None,
        "limits": {},
    }
    reader = frames.Reader()
    return frames.Order(reader.feed(frames.frame(notes.line(head) + notes.line(body)))[0])


def _identity(me: notes.Proc, body: frames.Body) -> notes.Identity:
    return notes.Identity(
        key="k" * 16,
        minder=me,
        nursery=me,
        boot_id=kernel.boot_id(),
        started_at=notes.instant(),
        minder_at=notes.instant(),
        monotonic=time.monotonic(),
        limits=notes.Limits(body.timeout_s, body.kill_grace_s, body.leftovers),
    )


def _reports(identity: notes.Identity) -> None:
    note = notes.blank_note(identity)
    notes.parse_note(notes.line(note), identity.key)
    frames.report("started", key=identity.key, pid=identity.minder.pid, start_ticks=identity.minder.start_ticks)
    frames.report("ended", key=identity.key, pid=identity.minder.pid, idle=True, note=note)
    notes.read_stop("/nowhere/x.json", identity.key)


def _surroundings(order: frames.Order, signals: int) -> None:
    around, ears = spawn.Surroundings(0o022), Ears(signals)
    ears.wait(0.0, tap.sooner(0.0, None) or 0.0)
    program.find_program("sh", order.body().env)
    kernel.children()
    os.fstat(0)
    os.stat("/")
    around.close()
