"""One attempt under guard, from its identity to its note: a machine that is stepped, never one that waits.

The minder steps one of these, the nursery one for each ward; neither blocks in here but for the disk. What always
holds: the lock is ours; the group is signalled only while the leader is unreaped; the note is on disk before the
leader is reaped; who ended the job is written before the first signal. Durations are CLOCK_MONOTONIC seconds.
A job that must not outlive its node's lease is ended like one that is out of time, whatever had been begun with it.

```text
RUNS ──timeout, order──▶ TERM ──grace──▶ KILL ──10 s──▶ NOTE ──on disk──▶ DONE
  └──────────────────── the leader has ended ───────────▶┘ (retried each second)
```
A leader that outlives KILL keeps the attempt in KILL: it still runs, and an "undying" line says so.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from . import crash, kernel, kin, lease, notes
from .noting import NoteWriter

RUNS, TERM, KILL, NOTE, DONE = range(5)
KILL_WAIT_S = 10.0
"""How long what was killed may take to vanish before it counts as a survivor."""
NOTE_RETRY_S = 1.0
ERROR_MAX = 1000
LOOK_S = 0.1
"""How often a tree that is being ended is looked at, beside each SIGCHLD."""


class Guard:
    """The guard of one attempt. `lock` is the descriptor of its identity, locked."""

    def __init__(
        self, status: str, identity: notes.Identity, lock: int, block: int | None = None, tree: kin.Tree | None = None
    ) -> None:
        self.status, self.identity, self.lock = status, identity, lock
        self.note: dict[str, object] | None = None
        self.start_error: str | None = None
        self.lost: str | None = None
        self.unwritten: str | None = None
        """Why the note could not be put in its place at the last try."""
        self.last_words: Callable[[], None] | None = None
        """What is to be done between the job's end and its note, once."""
        self.stopped_by = identity.ending if identity.ending in ("kill", "timeout", "lease") else None
        self._reason = ""
        self._tree: kin.Tree = tree or kin.OwnTree()
        self._place = NoteWriter(status, block)
        self._phase = RUNS
        self._due: float | None = None
        self._end: kernel.End | None = None
        self._ended_at = ""
        self._passed_on: int | None = None
        self._others: list[kernel.Stat] = []
        self._last_look = 0.0
        self._ends_tree = False
        self._whole = True
        self._term = None if identity.limits.lease_grace_s is None else lease.Term(self._word)

    @property
    def leader(self) -> int | None:
        """The job's own process."""
        return self.identity.job.pid if self.identity.job else None

    @property
    def undying(self) -> int | None:
        """The leader, if it has outlived KILL."""
        return self.identity.undying

    @property
    def clean(self) -> bool:
        """Whether it ended by itself and left nothing alive: then its minder may take another order."""
        return not (self._ends_tree or self._others or self._passed_on or self.lost or self.stopped_by)

    def started(self, job: notes.Proc) -> None:
        """Name the job in the identity."""
        self.identity.job = job
        self._append({"job": job.as_json()})
        crash.point("job.named")

    def tapped(self, bases: list[int]) -> None:
        """Remember where in its logs the attempt's output begins."""
        self._append({"bases": bases})

    def take_up(self, now: float) -> None:
        """Go on where a dead guardian stopped: an ending it had begun, or an order that came meanwhile."""
        leader = self.leader
        if self.stopped_by is not None and leader is not None and not self._look_at_leader(leader):
            self._begin(self.identity.limits.kill_grace_s, now)
        self.look_for_stop(now)

    def look_for_stop(self, now: float) -> None:
        """Obey the order to stop this attempt if there is one."""
        try:
            order = notes.read_stop(self.status, self.identity.key)
        except OSError:
            return  # a disk that cannot be read gives no orders; the launcher signals again
        if order is None or self._phase >= NOTE:
            return
        grace = order.get("grace_s")
        grace_s = float(grace) if isinstance(grace, int | float) else self.identity.limits.kill_grace_s
        self._reason = str(order.get("reason") or "")
        self._stop(str(order.get("by")), grace_s, now)

    def pass_on(self, signum: int) -> None:
        """Hand a signal from outside to the whole tree; the note will name it."""
        leader = self.leader
        if leader is None or self._look_at_leader(leader):
            return
        self._passed_on = self._passed_on or signum
        kin.signal_tree(leader, self._tree.others(leader), signum)

    def deadline(self) -> float | None:
        """Return the monotonic instant at which `step` is due even if nothing happens."""
        if self._phase != RUNS:
            return self._due
        timeout = self.identity.limits.timeout_s
        return None if timeout is None else self.identity.monotonic + timeout

    def _term_at(self, now: float) -> float | None:
        """Return when its node's word has to be looked up again: soon after its deadline on the other clock."""
        term = self._term
        if term is None or term.is_over or self._phase > TERM:
            return None
        return now if term.until is None else now + max(0.0, term.until - lease.boot_now())

    def step(self, now: float) -> bool:
        """Do what is due; True once the note is on disk."""
        leader = self.leader
        if self._phase == RUNS:
            self._step_running(leader, now)
        if self._phase in (RUNS, TERM) and leader is not None:
            self._step_lease(now)
        if self._phase in (TERM, KILL) and leader is not None:
            self._step_ending(leader, now)
        if self._phase == NOTE and (self._due is None or now >= self._due):
            self._write_note(now)
        return self._phase == DONE

    def let_go(self) -> None:
        """Reap the leader and give the lock back. Only after the note."""
        if self.leader is not None:
            kernel.reap(self.leader)
            self._tree.bury(0)
        crash.point("guard.reaped")
        os.close(self.lock)
        crash.point("guard.released")

    # ---------------------------------------------------------------- running and ending

    def _look_at_leader(self, leader: int) -> bool:
        """Whether the leader has ended; the moment of its end is the moment it is first seen."""
        if self._end is None:
            try:
                self._end = kernel.peek(leader)
            except ChildProcessError:
                return self._look_from_outside(leader)
            if self._end is not None:
                self._ended_at = notes.instant()
                crash.point("job.ended")
        return self._end is not None

    def _look_from_outside(self, leader: int) -> bool:
        """Judge a leader that is not our child: its exit code will never be known."""
        if self.identity.job is not None and kernel.start_ticks(leader) == self.identity.job.start_ticks:
            return False
        self._end, self.lost = kernel.End(None, None), "exit unknown"
        self._ended_at = notes.instant()
        return True

    def _step_running(self, leader: int | None, now: float) -> None:
        if leader is None:
            self._phase = NOTE
        elif self._look_at_leader(leader):
            self._others = self._tree.others(leader)
            if self._others and self.identity.limits.leftovers == "kill":
                self._begin(self.identity.limits.kill_grace_s, now)
            else:
                self._phase = NOTE
        else:
            self._tree.bury(leader)
            if (due := self.deadline()) is not None and now >= due:
                self._stop("timeout", self.identity.limits.kill_grace_s, now)

    def _word(self) -> float | None:
        return lease.read(lease.link_path(self.status))

    def _step_lease(self, now: float) -> None:
        """End the job where nobody vouches for its node any more; one that is being ended gets no longer for it."""
        term, limits = self._term, self.identity.limits
        if term is None or term.is_over or limits.lease_grace_s is None or not term.look(lease.boot_now()):
            return
        if self._end is None and self.stopped_by is None:
            self._reason = lease.REASON
        self._stop("lease", min(limits.kill_grace_s, limits.lease_grace_s), now)

    def _stop(self, by: str, grace_s: float, now: float) -> None:
        leader = self.leader
        if leader is None:
            self.stopped_by = self.stopped_by or by
            return
        if self._look_at_leader(leader) and self._phase == RUNS:
            return  # it ended by itself first, and that is what counts
        if self._end is None and self.stopped_by is None:
            self.stopped_by = by
            self._append({"ending": by})
        if self._phase == RUNS:
            self._begin(grace_s, now)
        elif self._phase == TERM and self._due is not None:
            self._due = min(self._due, now + grace_s)

    def _begin(self, grace_s: float, now: float) -> None:
        self._phase, self._due, self._last_look, self._ends_tree = TERM, now + grace_s, now, True
        if grace_s > 0:
            self._signal(signal.SIGTERM)

    def _signal(self, signum: int) -> None:
        if (leader := self.leader) is not None:
            self._others = self._tree.others(leader)
            kin.signal_tree(leader, self._others, signum)

    def _step_ending(self, leader: int, now: float) -> None:
        ended = self._look_at_leader(leader)
        due = self._due is not None and now >= self._due
        if ended and self._gone(leader, now, due=due):
            self._others, self._phase, self._due = [], NOTE, None
        elif due and self._phase == TERM:
            self._phase, self._due = KILL, now + KILL_WAIT_S
            self._signal(signal.SIGKILL)
        elif due and ended:
            self._phase, self._due = NOTE, None
        elif due:
            self._name_undying(leader)
            self._due = now + KILL_WAIT_S
            self._signal(signal.SIGKILL)

    def _gone(self, leader: int, now: float, *, due: bool) -> bool:
        """Whether the whole tree has ended. A big tree is looked at ten times a second, not at each death in it."""
        self._tree.bury(leader)
        if self._tree.only(leader):
            return True
        if not due and now - self._last_look < LOOK_S:
            return False
        self._last_look = now
        self._others = self._tree.others(leader)
        if self._others and self._phase == KILL:
            kin.signal_tree(leader, self._others, signal.SIGKILL)
        return not self._others

    def wake_at(self) -> float | None:
        """Return when to step next: the deadline, or soon while a tree is being ended."""
        due = _sooner(self.deadline(), self._term_at(time.monotonic()))
        if self._phase in (TERM, KILL) and self._end is not None:
            soon = self._last_look + LOOK_S
            return soon if due is None else min(soon, due)
        return due

    def _name_undying(self, leader: int) -> None:
        if self.identity.undying is None:
            self.identity.undying = leader
            self._append({"undying": leader})

    def _append(self, value: dict[str, object]) -> None:
        """Add a line to the identity. The disk may be full: then the successor has to do without."""
        data = notes.line(value) if self._whole else b"\n" + notes.line(value)
        self._whole = False
        try:
            os.lseek(self.lock, 0, os.SEEK_END)
            self._whole = os.write(self.lock, data) == len(data)
        except OSError:
            return

    # ---------------------------------------------------------------- the note

    def _compose(self) -> dict[str, object]:
        end = self._end or kernel.End(None, None)
        pids = [one.pid for one in self._others][: notes.NAMED_PIDS]
        return notes.blank_note(self.identity) | {
            "exit_code": end.exit_code,
            "signal": end.signal if end.signal is not None else self._passed_on,
            "ended_at": self._ended_at or notes.instant(),
            "start_error": self.start_error[:ERROR_MAX] if self.start_error else None,
            "stopped_by": self.stopped_by,
            "lost": self.lost,
            "reason": self._reason[:500],
            "survivors": pids if self._ends_tree else [],
            "leftovers": [] if self._ends_tree else pids,
            "rusage": kernel.usage(self.leader) if self.leader is not None and self.lost is None else None,
        }

    def _write_note(self, now: float) -> None:
        """Put the note in its place, or try again in a second: a full disk delays an end, it loses none.

        Where the identity has been unlinked nobody can ask for the note any more, so nobody waits for it either.
        """
        if self.note is None:
            if self.last_words is not None:
                self.last_words()
            self.note = self._compose()
        try:
            self._place.put(self.note)
        except OSError as error:
            if os.fstat(self.lock).st_nlink:
                self._due, self.unwritten = now + NOTE_RETRY_S, error.strerror
                return
            self._place.close()
        self._phase, self._due = DONE, None


def _sooner(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return one if other is None else other
    return min(one, other)
