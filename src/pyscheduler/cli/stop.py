"""`stop`: the polite end of the scheduler that serves this configuration, and the wait for it. Spec: jobs.md 14.2."""

from __future__ import annotations

import os
import signal
import time
from typing import Final

from pyscheduler.cli import at_home
from pyscheduler.cli.faults import CommandError, Unreachable
from pyscheduler.cli.options import only_at_home, verb
from pyscheduler.cli.session import Session, pass_session

PATIENCE_S: Final = 60.0
"""A polite stop takes at most 45 s, and most of the time none."""
LOOK_S: Final = 0.1


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
    _signal(pid, session)
    end = time.monotonic() + PATIENCE_S
    while at_home.scheduler_of(state_dir) == pid:
        if time.monotonic() > end:
            raise CommandError(f"the scheduler (pid {pid}) has not ended within {PATIENCE_S:.0f} s", mend="see its log")
        time.sleep(LOOK_S)
    session.say(f"stopped (pid {pid}); running jobs go on")


def _signal(pid: int, session: Session) -> None:
    """Send SIGTERM to the process that has the lock. Its number may be another's once it has ended: a pidfd is not."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return  # it has ended by itself
    try:
        if at_home.scheduler_of(session.place.state_dir) == pid:
            signal.pidfd_send_signal(handle, signal.SIGTERM)
    except PermissionError:
        mend = "only root and the scheduler's own user may: use sudo -u with that user"
        raise CommandError("this user may not stop the scheduler", where=f"pid {pid}", mend=mend) from None
    except ProcessLookupError:
        return
    finally:
        os.close(handle)
