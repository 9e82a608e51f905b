"""Which processes belong to a job, seen from its parent or from outside, and how each is signalled.

`OwnTree` is the minder's view: everything below it is the job's, because it is a child subreaper and has one job at
a time. `relatives` is the view of whoever is not above the whole tree (the nursery with a ward, the launcher
without any guardian): the named job, its session and group, whoever carries the attempt's key, and their
descendants. What has left the session, dropped the environment and lost its parents cannot be told from a stranger:
it is left alone, never guessed at.

A group or session number that is in use keeps the kernel from giving that number to a new process. So members of
group P belong to the job exactly as long as no process P with other start ticks exists.
"""

from __future__ import annotations

import os
import signal

from . import kernel, notes


class OwnTree:
    """The processes below this one, where all of them are the job's."""

    def others(self, leader: int) -> list[kernel.Stat]:
        """Return the living members of the job's tree but for the leader."""
        if self.only(leader):
            return []
        table = kernel.processes()
        return [one for one in descendants({os.getpid()}, table) if one.alive and one.pid != leader]

    def only(self, leader: int) -> bool:
        """Whether no child but the leader is left, dead or alive: then there are no further descendants either."""
        return all(pid == leader for pid in kernel.children())

    def bury(self, leader: int) -> None:
        """Reap the orphans that fell to this process and have ended; the leader stays."""
        try:
            while (pid := kernel.peek_any()) is not None and pid != leader:
                kernel.reap(pid)
        except ChildProcessError:
            return
        if pid is not None:  # the dead leader hides the others from a peek
            for child in kernel.children():
                if child != leader:
                    kernel.reap(child)


class Relatives:
    """The processes of a job whose tree hangs under a process with other children too."""

    def __init__(self, job: notes.Proc, key: str) -> None:
        self._job, self._key = job, key

    def others(self, leader: int) -> list[kernel.Stat]:
        """Return the living members of the job's tree but for the leader."""
        found = relatives(self._job, self._key, kernel.processes())
        return [one for one in found if one.alive and one.pid != leader]

    def only(self, leader: int) -> bool:
        """Whether it is plain at a glance that the leader is alone: here it never is."""
        return False

    def bury(self, leader: int) -> None:
        """Reap nothing: which ended children may go is the nursery's rule."""


Tree = OwnTree | Relatives


def descendants(roots: set[int], table: dict[int, kernel.Stat]) -> list[kernel.Stat]:
    """Return everything below the roots, the roots not included."""
    below: dict[int, list[kernel.Stat]] = {}
    for one in table.values():
        below.setdefault(one.parent, []).append(one)
    found, open_ends, seen = [], list(roots), set(roots)
    while open_ends:
        for one in below.get(open_ends.pop(), ()):
            if one.pid not in seen:
                seen.add(one.pid)
                found.append(one)
                open_ends.append(one.pid)
    return found


def relatives(
    job: notes.Proc | None, key: str, table: dict[int, kernel.Stat], carriers: frozenset[int] | None = None
) -> list[kernel.Stat]:
    """Return what belongs to the job, zombies included. `carriers` are the processes known to carry the key."""
    if carriers is None:
        carriers = frozenset(pid for pid in table if kernel.carries(pid, key))
    roots = {pid for pid, one in table.items() if pid in carriers or (job is not None and _of(job, one, table))}
    return [table[pid] for pid in roots] + descendants(roots, table)


def _of(job: notes.Proc, one: kernel.Stat, table: dict[int, kernel.Stat]) -> bool:
    """Whether a process is the job or in its session or group."""
    if one.pid == job.pid:
        return one.start_ticks == job.start_ticks
    if job.pid not in (one.group, one.session):
        return False
    leader = table.get(job.pid)
    return leader is None or leader.start_ticks == job.start_ticks


def signal_tree(leader: int, others: list[kernel.Stat], signum: int) -> None:
    """Signal the unreaped leader's group at once, then every other member by itself.

    A stopped process hears TERM only once it is continued, so that follows.
    """
    signals = (signum, signal.SIGCONT) if signum == signal.SIGTERM else (signum,)
    for each in signals:
        try:
            os.killpg(leader, each)
        except (ProcessLookupError, PermissionError):
            pass  # everything in it now belongs to another user: no signal of ours reaches it
        for one in others:
            if one.group != leader:
                kernel.send(one.proc, each)
