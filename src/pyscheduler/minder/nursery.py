"""The nursery: one light process that forks minders in about a millisecond and stands by to take over from each of
them.

Run as `python -I -S -E nursery.py [FILES]` with its socket to the launcher as stdin; FILES is the job's soft limit
of open files, where the scheduler has raised its own. It imports all it needs before the first fork, from its own
folder and the standard library only.

What always holds: it never waits for the launcher (reports that find no room are dropped, the files say it all); it
never reaps "any child" (it peeks, reaps minders, a ward only after its note, and a stranger only when no ward is
unsettled and 1 s has passed since the last minder's death); at end-of-file it takes no more orders and stays until
its last minder and ward are gone.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":  # a file, not yet a package: become one, so that nothing else is in reach
    _package = type(sys)("minder")
    _package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules["minder"] = _package
    __package__ = "minder"

import gc
import resource
import time
import traceback
from collections import deque

from . import claim, crash, ears, frames, kernel, notes, tap, watch
from .brood import Birth, Minder, Task
from .ears import Ears
from .line import Line
from .rehearsal import rehearse
from .wards import Ward

READ = 64 * 1024
QUEUE_MAX = 4096
"""Orders read and not yet begun; beyond it the launcher's socket fills up, and its 5 s say so."""
STARTS_A_TURN = 8
STRAY_S = 1.0
"""How long after a minder's death its orphans may still be somebody's job."""
UNSETTLED_S = 0.1
OUR_UMASK = 0o027
"""Logs 0640, their folders 0750, whatever umask the scheduler was started under."""


class Nursery:
    """The whole nursery: its minders, its wards, its launcher."""

    def __init__(self, link: int, signals: int, job_umask: int, job_files: int | None) -> None:
        self._ears = Ears(signals)
        self._line = Line(link, self._ears)
        self._reports, reports = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._reports_in = frames.Reader()
        self._ears.also(self._reports)
        self._birth = Birth(reports, signals, job_umask, job_files)
        self._queue: deque[Task] = deque()
        self._tasks: dict[str, Task] = {}
        self._minders: dict[int, Minder] = {}
        self._idle: list[Minder] = []
        self._wards: list[Ward] = []
        self._taps: list[tap.Tap] = []
        self._strays: set[int] = set()
        self._strays_due: float | None = None
        self._last_death = 0.0

    @property
    def me(self) -> notes.Proc:
        """The nursery's own process."""
        return self._birth.nursery

    def run(self) -> None:
        """Serve until the launcher is gone and the last minder and ward after it."""
        while self._line.open or self._queue or self._minders or self._wards or self._taps:
            now = time.monotonic()
            signals, ready = self._ears.wait(self._due(now), now)
            if self._line.fd in ready:
                self._hear_launcher()
            if self._reports in ready:
                self._hear_minders()
            if signals:
                self._obey(signals)
            for _ in range(min(STARTS_A_TURN, len(self._queue))):
                self._begin(self._queue.popleft())
            self._step(time.monotonic(), ready)

    def _due(self, now: float) -> float | None:
        """Return when to look again even if nothing is heard."""
        if self._queue:
            return now
        dues = [self._line.due, self._strays_due]
        dues += [ward.due for ward in self._wards]
        dues += [copier.due for copier in self._taps]
        return min((due for due in dues if due is not None), default=None)

    def _step(self, now: float, ready: set[int]) -> None:
        if self._wards:
            self._wards = [ward for ward in self._wards if not ward.step(now)]
        for copier in self._taps:
            copier.pump(ready)
        self._taps = [copier for copier in self._taps if not copier.done]
        if self._strays_due is not None and now >= self._strays_due:
            self._bury_strays(now)
        if not self._line.flush(now):
            self.part()

    def tell(self, kind: str, **fields: object) -> None:
        """Report to the launcher, if there still is one."""
        self._line.tell(kind, **fields)

    def tell_fault(self) -> None:
        """Report the exception being handled: a fault of ours, for the scheduler's log."""
        self.tell("crashed", pid=os.getpid(), text=traceback.format_exc()[-3000:])

    def _hear_launcher(self) -> None:
        """Take in orders, at most a full queue of them."""
        for order in self._line.orders(QUEUE_MAX - len(self._queue), time.monotonic()):
            self._queue.append(Task(order))
        if not self._line.open:
            self.part()

    def part(self) -> None:
        """Take no more orders: the launcher is gone, or the host is going down."""
        self._line.flush(0.0)
        self._line.close()
        for minder in self._minders.values():
            minder.dismiss()
        self._idle.clear()

    # ---------------------------------------------------------------- orders

    def again(self, task: Task) -> None:
        """Give an order that nobody had begun to a fresh minder."""
        task.fresh = True
        self._queue.append(task)

    def spoken_for(self, ward: Ward) -> set[int]:
        """Return the jobs that the other wards' identities name."""
        return {job.pid for other in self._wards if other is not ward and (job := other.named) is not None}

    def _begin(self, task: Task) -> None:
        self._tasks[task.order.key] = task
        while self._idle and not task.fresh:
            if self._idle.pop().hand(task):
                return
        try:
            minder = self._birth.fork(task)
        except OSError as error:
            self._revoke(task, f"cannot start: {error.strerror}")
            return
        self._minders[minder.pid] = minder
        if not self._line.open:
            minder.dismiss()

    def _revoke(self, task: Task, why: str) -> None:
        """Make sure that nobody begins an order that we cannot serve, then say so."""
        self._tasks.pop(task.order.key, None)
        fault = claim.revoke(task.order.status, lock=task.order.lock)
        if fault is None:
            self.tell("failed", key=task.order.key, pid=self.me.pid, error=why, idle=False)
        else:
            self.tell("refused", key=task.order.key, pid=self.me.pid, why=fault, idle=False)

    # ---------------------------------------------------------------- minders

    def _hear_minders(self) -> None:
        """Read what the minders report and hand it on."""
        while True:
            try:
                data = os.read(self._reports, READ)
            except BlockingIOError:
                return
            for payload in self._reports_in.feed(data):
                self._note(notes.loads(payload.decode()))
                crash.point("nursery.told")
                self._line.report(frames.frame(payload))
            if len(data) < READ:
                return

    def _note(self, report: dict[str, object]) -> None:
        """Keep up with what a minder says of itself."""
        kind, key, pid = report["r"], report.get("key"), report["pid"]
        if kind == "started" and isinstance(key, str) and key in self._tasks:
            self._tasks[key].order.forget_body()
        if kind not in ("ended", "refused", "failed") or not isinstance(pid, int):
            return
        self._tasks.pop(str(key), None)
        minder = self._minders.get(pid)
        if minder is None:
            return
        minder.task = None
        if report.get("idle") and minder.orders is not None:
            self._idle.append(minder)

    # ---------------------------------------------------------------- signals and deaths

    def _obey(self, signals: set[int]) -> None:
        if ears.CHLD in signals:
            self._look_at_children()
        ends = signals & {ears.TERM, ears.INT}
        if ends:
            self.part()
        for ward in self._wards:
            if ward.guard is not None:
                watch.obey(ward.guard, signals)
            ward.due = 0.0

    def _look_at_children(self) -> None:
        """Find dead minders without reaping anything else."""
        try:
            while (pid := kernel.peek_any()) is not None and pid in self._minders:
                self._lose(pid)
        except ChildProcessError:
            self._strays.clear()
            return
        everyone = set(kernel.children())
        if pid is not None:  # it hides the dead behind it
            self._strays_due = self._strays_due or self._last_death + STRAY_S
            for child in everyone & self._minders.keys():
                if kernel.peek(child) is not None:
                    self._lose(child)
        self._strays = self._stray(everyone)

    def _stray(self, everyone: set[int]) -> set[int]:
        """Return the children that are neither minders nor wards' jobs."""
        return everyone - self._minders.keys() - {ward.leader for ward in self._wards if ward.leader is not None}

    def _lose(self, pid: int) -> None:
        """A minder has ended: bury it, and take over what it had in hand."""
        self._hear_minders()
        minder = self._minders.pop(pid)
        end = kernel.peek(pid)
        kernel.reap(pid)
        minder.dismiss()
        if minder in self._idle:
            self._idle.remove(minder)
        self._last_death = time.monotonic()
        copier = None
        if minder.pipes is not None and (end is None or end.exit_code != 0):
            copier = self._take_tap(minder.first.order, minder.pipes)
        elif minder.pipes is not None:
            minder.pipes.close()
        if minder.task is not None:
            self._tasks.pop(minder.task.order.key, None)
            brought = self._stray(set(kernel.children())) - self._strays
            self._wards.append(Ward(self, minder.task, pid, brought, copier))

    def _take_tap(self, order: frames.Order, pipes: tap.Pipes) -> tap.Tap:
        """Copy the output of a job whose minder was killed."""
        copier = tap.take_over(pipes, order.body(), order.tap or 0, self._ears)
        identity = notes.parse_identity(notes.read(notes.identity_path(order.status)) or b"", order.key)
        copier.resume(identity.bases if identity else [])
        self._taps.append(copier)
        return copier

    def _bury_strays(self, now: float) -> None:
        """Reap the dead that belong to nobody any more, once no ward is unsettled and 1 s has passed since a death."""
        if any(ward.unsettled for ward in self._wards) or now < self._last_death + STRAY_S:
            self._strays_due = max(now + UNSETTLED_S, self._last_death + STRAY_S)
            return
        self._strays_due = None
        for pid in self._stray(set(kernel.children())):
            if kernel.reap(pid):
                self._strays.discard(pid)


def main() -> None:
    """Be the nursery of whoever holds the other end of stdin."""
    kernel.close_all_but({0, 1, 2})
    link = os.dup(0)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    os.set_blocking(link, False)
    job_umask = os.umask(OUR_UMASK)
    os.chdir("/")
    kernel.call_myself("pysched-nursery")
    kernel.become_subreaper()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    signals = ears.open_signals()
    nursery = Nursery(link, signals, job_umask, int(sys.argv[1]) if len(sys.argv) > 1 else soft)
    try:
        rehearse(signals)
    except Exception:  # noqa: BLE001 - a rehearsal that fails is told, and costs nothing else
        nursery.tell_fault()
    gc.collect()
    gc.freeze()
    try:
        nursery.run()
    except BaseException:
        nursery.tell_fault()
        nursery.part()
        raise


if __name__ == "__main__":
    main()
