"""The minder: claims one attempt after another, starts its job, guards it to its note.

It is a fork of the nursery, in a session of its own, and knows nothing of the scheduler: the order holds all, the
identity file is its licence, the note its answer. It waits in one place (`Ears.wait`): for a child's end, a signal,
a deadline, or, when idle, the next order. With a clean end it takes the next order; it ends when idle 10 s, when
the nursery has closed the order pipe, after 1,000 attempts, and after anything out of the ordinary, because a
fresh minder is cheaper than a doubt.
"""

from __future__ import annotations

import os
import time

from . import claim, crash, frames, kernel, notes, spawn, tap
from .ears import INT, TERM, USR1, Ears
from .guard import Guard
from .program import CannotStart

IDLE_S = 10.0
ATTEMPTS_MAX = 1000


class Minder:
    """One minder process. `orders` is its pipe from the nursery, `reports` the pipe shared by all minders."""

    def __init__(
        self, orders: int, reports: int, hearing: Ears, nursery: notes.Proc, boot_id: str, job_umask: int
    ) -> None:
        self._orders, self._reports, self._nursery = orders, reports, nursery
        self._orders_in = frames.Reader()
        self._me = kernel.myself()
        self._born = notes.instant()
        self._boot_id = boot_id
        self._around = spawn.Surroundings(job_umask)
        self._ears = hearing

    def live(self, order: frames.Order, pipes: tap.Pipes | None) -> None:
        """Take this order and those that follow, until it is time to go."""
        for _ in range(ATTEMPTS_MAX):
            if not self.serve(order, pipes):
                return
            pipes, following = None, self._await_order()
            if following is None:
                return
            order = following

    def close(self) -> None:
        """Give back what only this object holds. A minder that ends does not bother."""
        self._around.close()

    # ---------------------------------------------------------------- one attempt

    def serve(self, order: frames.Order, pipes: tap.Pipes | None) -> bool:
        """Serve one order; True if nothing of it is left behind in this process, so that it may take another."""
        body = order.body()
        identity = self._identity(order, body)
        ordinary = pipes is None and not order.special
        try:
            taken = claim.take(order.status, identity, lock=order.lock)
        except claim.Refused as refusal:
            self._tell("refused", key=order.key, idle=ordinary, why=str(refusal))
            return ordinary
        except claim.Failed as failure:
            self._tell("failed", key=order.key, idle=ordinary, error=str(failure))
            return ordinary
        self._tell("started", key=order.key, start_ticks=self._me.start_ticks)
        guard = Guard(order.status, identity, taken.lock, taken.block)
        guard.look_for_stop(time.monotonic())
        copier = None
        if guard.stopped_by is None:
            copier = self._start(guard, order, body, pipes)
        self._watch(guard, copier)
        guard.let_go()
        clean = ordinary and guard.clean
        self._tell("ended", key=order.key, idle=clean, note=guard.note)
        crash.point("minder.told")
        if copier is not None:
            self._copy_on(copier)
        return clean

    def _identity(self, order: frames.Order, body: frames.Body) -> notes.Identity:
        return notes.Identity(
            key=order.key,
            minder=self._me,
            nursery=self._nursery,
            boot_id=self._boot_id,
            started_at=notes.instant(),
            minder_at=self._born,
            monotonic=time.monotonic(),
            limits=notes.Limits(body.timeout_s, body.kill_grace_s, body.leftovers, body.lease_grace_s),
        )

    def _start(self, guard: Guard, order: frames.Order, body: frames.Body, pipes: tap.Pipes | None) -> tap.Tap | None:
        """Start the job, or leave the reason in the guard for the note."""
        copier = None
        try:
            if pipes is None:
                outputs = spawn.open_logs(body)
            else:
                copier = tap.open_tap(pipes, body, order.tap or 0, self._ears)
                guard.tapped(copier.bases)
                outputs = copier.outputs(pipes)
            pid = spawn.start(body, order.key, outputs, self._around)
        except CannotStart as reason:
            guard.start_error = str(reason)
            return copier
        guard.started(notes.Proc(pid, kernel.start_ticks(pid) or 0))
        guard.look_for_stop(time.monotonic())
        return copier

    def _watch(self, guard: Guard, copier: tap.Tap | None) -> None:
        """Wait for whatever comes until the note is on disk."""
        told_undying, told_unwritten = False, False
        if copier is not None:
            guard.last_words = copier.drain  # what the job wrote before its end is in the log before its note
        while not guard.step(now := time.monotonic()):
            if guard.undying is not None and not told_undying:
                told_undying = True
                self._tell("undying", key=guard.identity.key, job=guard.undying)
            if guard.unwritten is not None and not told_unwritten:
                told_unwritten = True
                self._tell("unwritten", key=guard.identity.key, why=guard.unwritten)
            signals, ready = self._ears.wait(tap.sooner(guard.wake_at(), copier), now)
            if copier is not None:
                copier.pump(ready)
            obey(guard, signals)

    def _copy_on(self, copier: tap.Tap) -> None:
        """Serve what still holds the pipes, without the lock, until the last has let go."""
        while not copier.done:
            _, ready = self._ears.wait(tap.sooner(None, copier), time.monotonic())
            copier.pump(ready)

    # ---------------------------------------------------------------- between attempts

    def _await_order(self) -> frames.Order | None:
        """Return the next order, None when it is time to go."""
        self._ears.also(self._orders)
        try:
            until = time.monotonic() + IDLE_S
            while (now := time.monotonic()) < until:
                signals, ready = self._ears.wait(until, now)
                if TERM in signals or INT in signals:
                    return None
                if self._orders in ready:
                    data = os.read(self._orders, frames.HAND_MAX + frames.LENGTH)
                    if not data:
                        return None
                    for payload in self._orders_in.feed(data):
                        return frames.Order(payload)
            return None
        finally:
            self._ears.forget(self._orders)

    def _tell(self, kind: str, **fields: object) -> None:
        tell(self._reports, kind, pid=self._me.pid, **fields)


def obey(guard: Guard, signals: set[int]) -> None:
    """Act on the signals a guardian has heard."""
    if USR1 in signals:
        guard.look_for_stop(time.monotonic())
    for signum in (TERM, INT):
        if signum in signals:
            guard.pass_on(signum)


def tell(reports: int, kind: str, **fields: object) -> None:
    """Report to the nursery, in one piece."""
    try:
        os.write(reports, frames.short_report(kind, **fields))
    except OSError:
        return  # the nursery is gone, or has not read for 64 kB: the files say it all
