"""The nursery as second guardian: an attempt whose minder died before its note.

It takes the dead minder's lock, reads from the identity how far things had come, and goes on from there: nobody has
begun (another minder may), the file is revoked (nobody will), or a job runs (it is guarded to its note). The job
fell to the nursery with its minder's death, because both are child subreapers, so its exit code can still be read.
Nothing here blocks: a ward is stepped like a guard.
"""

from __future__ import annotations

import os
from typing import Protocol

from . import claim, crash, kernel, kin, notes, tap
from .brood import Task
from .guard import Guard

LOCK_RETRY_S = 0.02
"""Who may still hold a dead minder's lock: its job between fork and exec, or `find` for the time of a look."""
FAULT_RETRY_S = 1.0
FORKS_MAX = 3
KILLED_EARLY = "the minder was killed before it started the job"


class Host(Protocol):
    """What a ward asks of the nursery."""

    @property
    def me(self) -> notes.Proc: ...

    def tell(self, kind: str, **fields: object) -> None: ...

    def again(self, task: Task) -> None: ...

    def spoken_for(self, ward: Ward) -> set[int]: ...


class Ward:
    """One such attempt. `candidates` are the children that this minder's death brought, `copier` copies its output."""

    def __init__(
        self, host: Host, task: Task, minder: int, candidates: set[int], copier: tap.Tap | None = None
    ) -> None:
        self._host, self._task, self._minder, self._candidates = host, task, minder, candidates
        self._copier = copier
        self._status, self._key = task.order.status, task.order.key
        self._guard: Guard | None = None
        self._told_undying = self._told_unwritten = False
        self.due: float | None = 0.0

    @property
    def unsettled(self) -> bool:
        """Whether it is not yet known which of our children is its job."""
        return self._guard is None

    @property
    def leader(self) -> int | None:
        """The job's process: not to be reaped by anyone else."""
        return self._guard.leader if self._guard is not None else None

    @property
    def guard(self) -> Guard | None:
        """The guard, once the lock is ours."""
        return self._guard

    def step(self, now: float) -> bool:
        """Do what is due; True once nothing is left to do."""
        if self._guard is None:
            self.due = now + LOCK_RETRY_S
            try:
                if self._settle(now):
                    return True
            except OSError:  # no descriptor left, or a disk that cannot be read: it may pass
                self.due = now + FAULT_RETRY_S
        if self._guard is None:
            return False
        if not self._guard.step(now):
            self.due = self._guard.wake_at()
            self._tell_trouble(self._guard)
            return False
        self._guard.let_go()
        self._host.tell("ended", key=self._key, pid=self._host.me.pid, note=self._guard.note, idle=False)
        return True

    def _tell_trouble(self, guard: Guard) -> None:
        """Tell once each what keeps an end from being known."""
        if guard.undying is not None and not self._told_undying:
            self._told_undying = True
            self._host.tell("undying", key=self._key, pid=self._host.me.pid, job=guard.undying)
        if guard.unwritten is not None and not self._told_unwritten:
            self._told_unwritten = True
            self._host.tell("unwritten", key=self._key, pid=self._host.me.pid, why=guard.unwritten)

    # ---------------------------------------------------------------- taking over

    def _settle(self, now: float) -> bool:
        """Try to take the lock and see what there is to guard; True if nothing is."""
        note = notes.read_note(self._status, self._key)
        if note is not None:
            self._host.tell("ended", key=self._key, pid=self._minder, note=note, idle=False)
            return True
        path = notes.identity_path(self._status)
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return self._nobodys("the file is gone")
        if self._task.order.lock and not claim.try_lock(fd):
            identity = notes.parse_identity(notes.read_locked(fd), self._key)
            os.close(fd)
            return identity is not None and not self._mine(identity) and self._nobodys("another minder has it")
        crash.point("ward.locked")
        try:
            return self._judge(fd, path, now)
        except OSError:
            if self._guard is None:
                os.close(fd)  # else our own lock would keep us out at the next try
            raise

    def _mine(self, identity: notes.Identity) -> bool:
        return identity.minder.pid == self._minder and identity.nursery == self._host.me

    def _nobodys(self, why: str) -> bool:
        self._host.tell("refused", key=self._key, pid=self._minder, why=why, idle=False)
        return True

    def _judge(self, fd: int, path: str, now: float) -> bool:
        mine = os.fstat(fd)
        identity = notes.parse_identity(notes.read_locked(fd), self._key)
        if mine.st_nlink == 0 or not claim.at_path(mine, path) or (identity and not self._mine(identity)):
            os.close(fd)
            return self._nobodys("the file is gone" if identity is None else "another minder has it")
        if identity is None:
            self._nobody_began(fd, path, empty=mine.st_size == 0)
            return True
        self._take_over(fd, identity, now)
        return False

    def _nobody_began(self, fd: int, path: str, *, empty: bool) -> None:
        """Let another minder try, or revoke the order: in both cases nothing was started."""
        again = empty and self._task.forks < FORKS_MAX
        if not again or not self._task.order.lock:
            _remove(notes.block_path(self._status))
        if not again:
            _remove(path)
        os.close(fd)
        if again:
            self._host.again(self._task)
        else:
            self._host.tell("failed", key=self._key, pid=self._minder, error=KILLED_EARLY, idle=False)

    def _take_over(self, fd: int, identity: notes.Identity, now: float) -> None:
        me = self._host.me
        os.lseek(fd, 0, os.SEEK_END)
        try:
            os.write(fd, _after_unfinished(fd) + notes.line({"guardian": me.as_json()}))
        except OSError:
            pass  # a full disk: the lock says that somebody guards it, only not who
        crash.point("ward.named")
        found = [identity.job] if identity.job else self._unnamed_jobs()
        identity.job = found[0] if len(found) == 1 else None
        tree = kin.Relatives(identity.job, self._key) if identity.job else None
        self._guard = Guard(self._status, identity, fd, tree=tree)
        if self._copier is not None:
            self._guard.last_words = self._copier.drain
        if not found:
            self._guard.start_error = KILLED_EARLY
        elif identity.job is None:
            self._guard.lost = "exit unknown"
        job = identity.job.pid if identity.job else None
        self._host.tell("guardian", key=self._key, job=job, **me.as_json())
        self._guard.take_up(now)

    @property
    def named(self) -> notes.Proc | None:
        """The job that the identity names, whether we have the lock or not."""
        if self._guard is not None:
            return self._guard.identity.job
        identity = notes.parse_identity(notes.read(notes.identity_path(self._status)) or b"", self._key)
        return identity.job if identity else None

    def _unnamed_jobs(self) -> list[notes.Proc]:
        """Find the job of a minder that died before it named it, among the children its death brought.

        It carries the key, or may not be looked into, or is dead already and then the only session leader among them;
        more than one answer means that nobody can tell.
        """
        free = self._candidates - self._host.spoken_for(self)
        leaders = [one for pid in free if (one := kernel.stat(pid)) is not None and one.session == pid]
        carriers = {one.pid: kernel.carries(one.pid, self._key) for one in leaders if one.alive}
        for sure in (True, None):
            found = [one.proc for one in leaders if one.alive and carriers[one.pid] is sure]
            if found:
                return found
        return [one.proc for one in leaders if not one.alive]


def _after_unfinished(fd: int) -> bytes:
    """Return what ends a last line that its writer did not finish."""
    size = os.fstat(fd).st_size
    return b"" if size == 0 or os.pread(fd, 1, size - 1) == b"\n" else b"\n"


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass  # never reserved
