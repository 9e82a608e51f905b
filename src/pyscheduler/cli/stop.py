"""`stop`: the polite end of the scheduler that serves this configuration, and the wait for it. Spec: jobs.md 14.2."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyscheduler.cli import at_home
from pyscheduler.cli.faults import CommandError, Unreachable
from pyscheduler.cli.options import only_at_home, verb
from pyscheduler.cli.session import Session, pass_session

PATIENCE_S: Final = 60.0
"""A polite stop takes at most 45 s, and most of the time none."""


@only_at_home
@verb("stop", "pysched stop", "pysched stop -c /etc/pysched/pysched.yaml")
@pass_session
def stop(session: Session) -> None:
    """Stop the scheduler; running jobs go on.

    Sends SIGTERM to the scheduler that has this configuration's state folder, and returns when it has ended. Jobs that
    run are left alone: the next start finds them. A scheduler that systemd keeps is started again by it: use
    `systemctl stop` there.
    """
    state_dir = session.place.state_dir
    pid = at_home.scheduler_of(state_dir)
    if pid is None:
        raise Unreachable("no scheduler is running", where=str(session.place.config), mend="there is nothing to stop")
    with _handle(pid) as handle:
        if handle is not None and _signal(handle, pid, session) and not _ends(handle):
            what = f"the scheduler (pid {pid}) has not ended within {PATIENCE_S:.0f} s"
            raise CommandError(what, mend="see its log")
    session.say(f"stopped (pid {pid}); running jobs go on")


@contextmanager
def _handle(pid: int) -> Iterator[int | None]:
    """Open a process's pidfd, which becomes readable at its end; None where it has ended by itself."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        yield None
        return
    except OSError as error:
        raise CommandError(f"pid {pid} cannot be signalled safely: {error.strerror}", mend=f"kill {pid}") from None
    try:
        yield handle
    finally:
        os.close(handle)


def _ends(handle: int) -> bool:
    """Wait for the process itself: its lock may be free, and some of its work not done yet."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(round(PATIENCE_S * 1000)))


def _signal(handle: int, pid: int, session: Session) -> bool:
    """Send SIGTERM to the process that has the lock; False where that has ended, and its number may be another's."""
    try:
        if at_home.scheduler_of(session.place.state_dir) != pid:
            return False
        signal.pidfd_send_signal(handle, signal.SIGTERM)
    except PermissionError:
        mend = "only root and the scheduler's own user may: use sudo -u with that user"
        raise CommandError("this user may not stop the scheduler", where=f"pid {pid}", mend=mend) from None
    except ProcessLookupError:
        return False
    return True
