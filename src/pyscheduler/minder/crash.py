"""Named crash points: where a test may kill launcher, nursery or minder with SIGKILL, and nowhere else in effect.

`PYSCHED_CRASH=point[:n][,point…]` makes a process kill itself when it passes that point for the n-th time (default
the first). With `PYSCHED_CRASH_ONCE=PATH` only the process that creates PATH.<point> dies, so that one of many
minders does; its pid and start ticks are left in that file, so that the test knows whom it has killed. Unset, a point
costs one `if`. The launcher hands the variables to the nursery only when a test tells it to.
"""

from __future__ import annotations

import os
import signal

POINTS = (
    # the launcher's process
    "launch.created",  # the empty identity exists, no order is sent
    "launch.sent",  # the order is with the nursery
    "launch.started",  # the identity names a minder, launch() has not returned
    "stop.written",  # the order to stop exists, no signal was sent
    "find.locked",  # find holds the lock
    "find.unlinked",  # find has revoked the order
    # the nursery
    "nursery.taken",  # an order was read
    "nursery.handed",  # an idle minder has it
    "nursery.forked",  # a fresh minder has it
    "nursery.told",  # a report was read, the launcher was not told
    "ward.locked",  # the dead minder's lock was taken
    "ward.named",  # the nursery's own line is in the identity
    # the minder; from job.ended to guard.released also the nursery with a ward
    "minder.forked",  # a fresh minder before its first act
    "claim.opened",  # the identity is open, not locked
    "claim.locked",  # locked and found empty
    "claim.reserved",  # the note's block exists
    "claim.named",  # the identity is written
    "spawn.before",  # logs are open
    "spawn.after",  # the job runs, unnamed
    "job.named",  # the job's line is in the identity
    "job.ended",  # the leader is a zombie
    "note.written",  # the block holds the note, not synced
    "note.synced",  # synced, not renamed
    "note.renamed",  # renamed, the folder not synced
    "note.durable",  # all synced, the leader not reaped
    "guard.reaped",  # reaped, the lock still held
    "guard.released",  # the lock let go, nobody told
    "minder.told",  # the nursery was told
)


def _armed(text: str) -> dict[str, int]:
    points: dict[str, int] = {}
    for part in text.split(",") if text else ():
        name, _, count = part.partition(":")
        if name not in POINTS:
            raise ValueError(f"{name!r} is no crash point")
        points[name] = int(count or 1)
    return points


ARMED = _armed(os.environ.get("PYSCHED_CRASH", ""))
ONCE = os.environ.get("PYSCHED_CRASH_ONCE", "")


def point(name: str) -> None:
    """Die here if a test asked for it."""
    if ARMED:
        _pass(name)


def _pass(name: str) -> None:
    left = ARMED.get(name, 0)
    if left == 0:
        return
    ARMED[name] = left - 1
    if left == 1 and _mine(name):
        os.kill(os.getpid(), signal.SIGKILL)


def _mine(name: str) -> bool:
    if not ONCE:
        return True
    try:
        fd = os.open(f"{ONCE}.{name}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return False
    os.write(fd, b"%d %s\n" % (os.getpid(), _start_ticks()))
    os.close(fd)
    return True


def _start_ticks() -> bytes:
    """Return field 22 of our own stat: `kernel` is above this module and cannot be asked."""
    with open("/proc/self/stat", "rb") as stat:
        return stat.read().rpartition(b")")[2].split()[19]
