"""The nursery's minders: fork one, hand an order to an idle one, forget a dead one.

A fork copies nothing but page tables, so a fresh minder costs about a millisecond; the price is that it is born
with every descriptor of the nursery. Its first act is to close them all but its own: a ward's lock or another
minder's order pipe kept open here would hold that lock, or keep that minder waiting, long after the nursery has
let go.
"""

from __future__ import annotations

import errno
import os
import resource
import traceback
from typing import NoReturn

from . import crash, frames, kernel, notes, watch
from .ears import Ears
from .tap import Pipes

RESERVE = 32
"""Descriptors the nursery keeps for itself, so that too many minders never cost the wards their guardian."""
FAULT = 70
"""The exit status of a minder that met a fault of ours."""


class Task:
    """An order from its reading to the end of its attempt. `fresh`: no idle minder may take it."""

    __slots__ = ("forks", "fresh", "order")

    def __init__(self, order: frames.Order) -> None:
        self.order = order
        self.forks = 0
        self.fresh = order.special or order.tap is not None or len(order.payload) > frames.HAND_MAX


class Minder:
    """One minder as the nursery sees it. `orders` is our end of its pipe, None once it gets no more."""

    __slots__ = ("first", "orders", "pid", "pipes", "task")

    def __init__(self, pid: int, orders: int, task: Task, pipes: Pipes | None) -> None:
        self.pid, self.pipes, self.first = pid, pipes, task
        self.task: Task | None = task
        self.orders: int | None = orders

    def hand(self, task: Task) -> bool:
        """Give an idle minder its next order; False where it is going or gone."""
        if self.orders is None:
            return False
        data = frames.frame(task.order.payload)
        try:
            whole = os.write(self.orders, data) == len(data)
        except OSError:
            return False
        if not whole:  # the user's pipes are so many that this one is small: half an order is none
            self.dismiss()
            return False
        self.task = task
        crash.point("nursery.handed")
        return True

    def dismiss(self) -> None:
        """Give it no more orders: it ends with its present attempt."""
        if self.orders is not None:
            os.close(self.orders)
            self.orders = None


class Birth:
    """What every minder is born with."""

    def __init__(self, reports: int, signals: int, job_umask: int, job_files: int | None) -> None:
        self._reports, self._signals, self._job_umask, self._job_files = reports, signals, job_umask, job_files
        self._me, self._boot_id = kernel.myself(), kernel.boot_id()

    @property
    def nursery(self) -> notes.Proc:
        """The nursery itself."""
        return self._me

    def fork(self, task: Task) -> Minder:
        """Fork a minder for this order. OSError where the system has no room for it."""
        pipes = Pipes() if task.order.tap is not None else None
        orders = ours = -1
        try:
            orders, ours = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            if max(orders, ours) + RESERVE > resource.getrlimit(resource.RLIMIT_NOFILE)[0]:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            pid = os.fork()
            if pid == 0:
                self._be(task, pipes, orders)
        except OSError:
            if ours >= 0:
                os.close(ours)
            if pipes is not None:
                pipes.close()
            raise
        finally:
            if orders >= 0:
                os.close(orders)
        if pipes is not None:
            pipes.close_write_ends()
        task.forks += 1
        crash.point("nursery.forked")
        return Minder(pid, ours, task, pipes)

    def _be(self, task: Task, pipes: Pipes | None, orders: int) -> NoReturn:
        """Live as the minder of this order, never to return.

        A fault of ours is told and leaves the attempt to the nursery.
        """
        try:
            crash.point("minder.forked")
            keep = {0, 1, 2, orders, self._reports, self._signals}
            if pipes is not None:
                keep.update(pipes.read_ends, pipes.write_ends)
            kernel.close_all_but(keep)
            if self._job_files is not None:
                _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
                resource.setrlimit(resource.RLIMIT_NOFILE, (self._job_files, hard))
            os.setsid()
            kernel.become_subreaper()
            watch.Minder(orders, self._reports, Ears(self._signals), self._me, self._boot_id, self._job_umask).live(
                task.order, pipes
            )
        except BaseException:  # noqa: BLE001 - a forked process must never fall back into the nursery's code
            watch.tell(self._reports, "crashed", pid=os.getpid(), text=traceback.format_exc()[-3000:])
            os._exit(FAULT)
        os._exit(0)
