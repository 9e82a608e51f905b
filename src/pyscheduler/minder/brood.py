"""The nursery's minders: fork one, hand an order to an idle one, forget a dead one.

A fork copies nothing but page tables, so a fresh minder costs about a millisecond; the price is that it is born
with every descriptor of the nursery. Its first act is to close them all but its own: a ward's lock or another
minder's order socket kept open here would hold that lock, or keep that minder waiting, long after the nursery has
let go.
"""

from __future__ import annotations

import os
import resource
import socket
from typing import NoReturn

from . import crash, ears, frames, kernel, notes
from .tap import Pipes
from .watch import run_minder


class Task:
    """An order from its reading to the end of its attempt. `fresh`: no idle minder may take it."""

    __slots__ = ("forks", "fresh", "order")

    def __init__(self, order: frames.Order) -> None:
        self.order = order
        self.forks = 0
        self.fresh = order.special or order.tap is not None or len(order.payload) > frames.PACKET_MAX


class Minder:
    """One minder as the nursery sees it. `orders` is our end of its socket, None once it gets no more."""

    __slots__ = ("first", "orders", "pid", "pipes", "task")

    def __init__(self, pid: int, orders: int, task: Task, pipes: Pipes | None) -> None:
        self.pid, self.pipes, self.first = pid, pipes, task
        self.task: Task | None = task
        self.orders: int | None = orders

    def hand(self, task: Task) -> bool:
        """Give an idle minder its next order; False where it is going or gone."""
        if self.orders is None:
            return False
        try:
            os.write(self.orders, task.order.payload)
        except OSError:
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

    def __init__(self, reports: int, job_umask: int, job_files: int | None) -> None:
        self._reports, self._job_umask, self._job_files = reports, job_umask, job_files
        self._me = kernel.myself()

    @property
    def nursery(self) -> notes.Proc:
        """The nursery itself."""
        return self._me

    def fork(self, task: Task) -> Minder:
        """Fork a minder for this order. OSError where the system has no room for it."""
        pipes = Pipes() if task.order.tap is not None else None
        try:
            mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError:
            if pipes is not None:
                pipes.close()
            raise
        ours, orders = mine.detach(), theirs.detach()
        os.set_blocking(ours, False)
        ears.hush()
        try:
            pid = os.fork()
            if pid == 0:
                self._be(task, pipes, orders)
        except OSError:
            os.close(ours)
            if pipes is not None:
                pipes.close()
            raise
        finally:
            ears.listen()
            os.close(orders)
        if pipes is not None:
            pipes.close_write_ends()
        task.forks += 1
        crash.point("nursery.forked")
        return Minder(pid, ours, task, pipes)

    def _be(self, task: Task, pipes: Pipes | None, orders: int) -> NoReturn:
        """Live as the minder of this order. Signals are still blocked; `Ears.open` lets them in."""
        crash.point("minder.forked")
        keep = {0, 1, 2, orders, self._reports}
        if pipes is not None:
            keep.update(pipes.read_ends, pipes.write_ends)
        kernel.close_all_but(keep)
        if self._job_files is not None:
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (self._job_files, hard))
        run_minder(task.order, pipes, orders, self._reports, self._me, self._job_umask)
