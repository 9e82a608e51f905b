"""`demo --serve`: a living day behind the console, in a scratch folder that goes when the demo ends.

The folder is filled (`living.py`), then a scheduler serves it like any other. Its one long job looks for the
configuration's file and ends when that is gone; the demo waits for it, so nothing is left behind.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import date, datetime
from importlib.resources import files
from pathlib import Path
from typing import Final

from pyscheduler.cli.faults import CommandError
from pyscheduler.cli.living import live_through, write_config
from pyscheduler.cli.session import Session
from pyscheduler.config import load_config
from pyscheduler.model.run import RunState
from pyscheduler.service import Options, serve
from pyscheduler.service.logs import logging_to
from pyscheduler.store import Store
from pyscheduler.store.questions import RunQuery

PORT: Final = 8470
JOBS_END_S: Final = 10.0
LOOK_S: Final = 0.1


def serve_demo(session: Session, folder: Path | None, timezone: str) -> int:
    """Serve a living day until Ctrl-C; returns the exit code. Without a folder it is a scratch one, removed then."""
    from pynet import loop

    home = folder or Path(tempfile.mkdtemp(prefix="pysched-living-"))
    path = home / "pysched.yaml"
    try:
        now = session.now()
        text = files("pyscheduler.cli").joinpath("living.yaml").read_text(encoding="utf-8")
        with closing(hold_port(PORT)) as held, logging_to(home / "pysched.log"):
            write_config(text, path, now, timezone, f"127.0.0.1:{held.getsockname()[1]}")
            code = loop.run(_serve(session, path, now, held))
        if code:
            session.note(f"error: the scheduler ended: {_last_line(home / 'pysched.log')}")
        return code
    finally:
        if folder is None:
            _leave(home)


async def _serve(session: Session, path: Path, now: datetime, held: socket.socket) -> int:
    session.say(f"Thirty days of a small company are lived through in {path.parent} ...")
    await live_through(path, now, _progress())
    held.close()
    ready, stop = asyncio.Event(), asyncio.Event()
    serving = asyncio.create_task(serve(path, options=Options(env=os.environ), ready=ready, stop=stop))
    waiting = asyncio.create_task(ready.wait())
    try:
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if ready.is_set():
            _welcome(session, load_config(path).settings.listen or "")
        return await serving
    finally:
        waiting.cancel()
        stop.set()


def _welcome(session: Session, address: str) -> None:
    session.say(f"\nThe console is at  http://{address}/\n")
    session.say_all(
        (
            "  ledger-export has failed and blocks the bank transfer; why it did is in its log",
            "  extract-rates waits for its next try, and the whole warehouse for it",
            "  partner-import is late: the partner has sent nothing; trigger partner-upload for them",
            "  send-invoices is held, sync-crm is paused, train-model takes longer than it should",
        )
    )
    session.say("\nCtrl-C ends it.")


def _progress() -> Callable[[datetime], None]:
    """Return what shows the day that is being lived through, on a terminal only."""
    if not sys.stderr.isatty():
        return lambda _now: None
    shown: date | None = None

    def show(now: datetime) -> None:
        nonlocal shown
        if now.date() != shown:
            shown = now.date()
            sys.stderr.write(f"\r{shown} ")
            sys.stderr.flush()

    return show


def hold_port(wanted: int) -> socket.socket:
    """Take a port of the loopback that nobody has: this one, else any. It is held until the socket is closed.

    The thirty days take a while, and meanwhile the port would be another's: a second demo's, or a connection's.
    """
    for port in (wanted, 0):
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what a demo of just before has left is no matter
        try:
            held.bind(("127.0.0.1", port))
            held.listen()  # whoever is only bound may be bound beside
        except OSError:
            held.close()
        else:
            return held
    raise CommandError("no port of the loopback is free", where=f"127.0.0.1:{wanted}")


def _last_line(log: Path) -> str:
    """Return what a log says last: the reason, where a scheduler has ended by itself."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[-1] if lines else "its log is empty"


def _leave(home: Path) -> None:
    """Let the jobs end, then remove the folder."""
    (home / "pysched.yaml").unlink(missing_ok=True)
    deadline = time.monotonic() + JOBS_END_S
    guardians = _guardians(home / "state")
    while any(Path(f"/proc/{pid}").exists() for pid in guardians) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    shutil.rmtree(home, ignore_errors=True)


def _guardians(state: Path) -> list[int]:
    """Return the processes that guard running attempts."""
    if not (state / "pysched.db").exists():
        return []
    with closing(Store.open(state, sync=False)) as store:
        running = store.runs(RunQuery(states=(RunState.RUNNING,), limit=100)).items
        return [row.pid for row in store.latest_attempts(run.run_id for run in running).values() if row.pid is not None]
