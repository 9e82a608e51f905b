"""The seed's two questions, for file systems whose locks decide nothing: is that pid ours to signal, and did it start
when the minder did?

What they leave to chance is listed in docs/concepts/recovery.md: no `ps`, two processes within 10 s, a clock step.
Blocks for some milliseconds: for a helper thread.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from datetime import datetime, timedelta
from typing import Final

from pyscheduler.engine.clock import SystemClock
from pyscheduler.minder import notes

TOLERANCE: Final = timedelta(seconds=10)
PS_PATIENCE_S: Final = 10.0
_log = logging.getLogger(__name__)
_clock = SystemClock()


def has_ps() -> bool:
    """Whether there is a `ps` to ask."""
    return shutil.which("ps") is not None


def lives(identity: notes.Identity) -> bool:
    """Whether the attempt's guardian is alive, as far as its pid and its age tell."""
    pid = identity.guardian.pid
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False  # gone, or a stranger's: a guardian runs as our own user
    age = _age_of(pid)
    if age is None:
        return True
    try:
        began = datetime.fromisoformat(identity.minder_at)
    except ValueError:
        return True
    if identity.guardian != identity.minder:
        return True  # the nursery took over; its own start is not in the file
    return abs((_clock.now() - age) - began) <= TOLERANCE


def _age_of(pid: int) -> timedelta | None:
    """Return how long the process has been running, None where that cannot be learnt."""
    program = shutil.which("ps")
    if program is None:
        _log.warning("there is no ps here: a reused pid of our own user cannot be told from a minder")
        return None
    command = [program, "-o", "stat=,etime=", "-p", str(pid)]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=PS_PATIENCE_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        _log.warning("ps cannot be run (%s): a reused pid of our own user cannot be told from a minder", error)
        return None
    words = answer.stdout.split()
    if len(words) != 2 or words[0].startswith("Z"):
        return timedelta(days=36500)  # no such process any more: as old as no minder can be
    return _etime(words[1])


def _etime(text: str) -> timedelta:
    """Return `[[dd-]hh:]mm:ss` as a duration."""
    days, _, clock = text.rpartition("-")
    parts = [int(part) for part in clock.split(":")]
    hours, minutes, seconds = [0] * (3 - len(parts)) + parts
    return timedelta(days=int(days or 0), hours=hours, minutes=minutes, seconds=seconds)
