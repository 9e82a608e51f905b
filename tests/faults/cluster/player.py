"""Play a plan of faults on a fleet, write down each, and put everything right at the end."""

from __future__ import annotations

import heapq
import itertools
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

import psycopg

from tests.faults.cluster import places, points, recorder
from tests.faults.cluster.fleet import Fleet, Slot
from tests.faults.cluster.nemesis import Fault, Kind, Plan
from tests.faults.cluster.recorder import Connection
from tests.faults.cluster.stable import minders

LOOK_S: Final = 0.02
LOCKED: Final = 3
"""So many rows are held by a lock."""
Deed = Callable[[Fault], Callable[[], None] | None]
"""What a fault does; it returns what ends it."""


class Player:
    """One plan on one fleet."""

    def __init__(self, fleet: Fleet, plan: Plan) -> None:
        self.fleet = fleet
        self.plan = plan
        self.log: list[str] = []
        self.done: Counter[str] = Counter()
        self._began = 0.0
        self._order = itertools.count()
        self._waiting: list[tuple[float, int, Callable[[], None]]] = []
        self._ordered: list[tuple[Slot, float]] = []
        self._highest = 0.0
        self._ahead = 0.0
        self._deeds: dict[Kind, Deed] = {
            Kind.STOP: self._stop,
            Kind.STOP_MINDERS: self._stop_minders,
            Kind.STOP_BOTH: self._stop_both,
            Kind.STOP_AT: self._stop_at,
            Kind.KILL_AT: self._kill_at,
            Kind.KILL: self._kill,
            Kind.KILL_BOTH: self._kill_both,
            Kind.QUIT: self._quit,
            Kind.TERMINATE: self._terminate,
            Kind.RESTART: self._restart,
            Kind.OFFSET: self._offset,
            Kind.LOCK: self._lock,
            Kind.FULL: self._full,
            Kind.EDIT: self._edit,
        }

    def play(self) -> None:
        """Do what the plan says; at its end everything that still lasts is ended, and healed."""
        self._began = time.monotonic()
        for fault in self.plan.faults:
            self._at(fault.at_s, partial(self._begin, fault))
        while self._waiting or self._now_s < self.plan.length_s:
            now = self._now_s if self._now_s < self.plan.length_s else float("inf")
            if self._waiting and self._waiting[0][0] <= now:
                heapq.heappop(self._waiting)[2]()
            self._look_at_orders()
            self.fleet.look()
            time.sleep(LOOK_S)
        self._heal()

    @property
    def _now_s(self) -> float:
        return time.monotonic() - self._began

    def _at(self, at_s: float, deed: Callable[[], None]) -> None:
        heapq.heappush(self._waiting, (at_s, next(self._order), deed))

    def _begin(self, fault: Fault) -> None:
        self.log.append(str(fault))
        self.done[fault.kind] += 1
        undo = self._deeds.get(fault.kind, self._wire)(fault)
        if undo is not None:
            self._at(self._now_s + fault.for_s, undo)

    def _heal(self) -> None:
        """Let nothing be wrong any more; the clock does not go back, or leases would hold for so much longer."""
        for host in self.fleet.hosts:
            host.heal()
        for slot in self.fleet.slots:
            points.take_back(slot.home)
            if slot.life is not None:
                slot.life.signal(signal.SIGCONT)
        if self.done[Kind.FULL]:
            with self.fleet.connect() as on:
                places.limit(on, -1)
        if self.done[Kind.EDIT] and self.fleet.crew.reads_again:
            self._read_again()  # as who edited would, where nobody could
        if self._ahead < self._highest:
            with self.fleet.connect() as on:
                recorder.set_offset(on, self._highest)

    # ---- processes

    def _slot(self, fault: Fault) -> Slot:
        return self.fleet.slot(fault.host, fault.process)

    def _stop(self, fault: Fault) -> Callable[[], None] | None:
        life = self._slot(fault).life
        if life is None:
            return None
        life.signal(signal.SIGSTOP)
        return lambda: life.signal(signal.SIGCONT)

    def _stop_minders(self, fault: Fault) -> Callable[[], None] | None:
        life = self._slot(fault).life
        if life is None:
            return None
        found = minders(life.pid)
        _send(found, signal.SIGSTOP)
        return lambda: _send(found, signal.SIGCONT)

    def _stop_both(self, fault: Fault) -> Callable[[], None] | None:
        return _each(self._stop(fault), self._stop_minders(fault))

    def _stop_at(self, fault: Fault) -> None:
        """How long it lasts counts from when it has come to its point."""
        slot = self._slot(fault)
        points.give(slot.home, "stop", fault.point)
        self._ordered.append((slot, fault.for_s))

    def _look_at_orders(self) -> None:
        """Plan the end of what has been carried out."""
        for slot, for_s in [each for each in self._ordered if not points.is_given(each[0].home)]:
            self._ordered.remove((slot, for_s))
            life = slot.life
            if life is not None:
                self._at(self._now_s + for_s, partial(life.signal, signal.SIGCONT))

    def _kill_at(self, fault: Fault) -> Callable[[], None]:
        """Its end is noticed, and it is started again, as any that nobody asked for."""
        points.give(self._slot(fault).home, "kill", fault.point)
        return partial(points.take_back, self._slot(fault).home)

    def _kill(self, fault: Fault) -> None:
        slot = self._slot(fault)
        if slot.life is not None:
            slot.due_s = time.monotonic() + fault.for_s
            slot.life.signal(signal.SIGKILL)

    def _kill_both(self, fault: Fault) -> None:
        life = self._slot(fault).life
        if life is not None:
            found = minders(life.pid)
            self._kill(fault)
            _send(found, signal.SIGKILL)

    def _quit(self, fault: Fault) -> None:
        slot = self._slot(fault)
        if slot.life is not None:
            slot.due_s = time.monotonic() + fault.for_s
            slot.life.signal(signal.SIGTERM)

    def _edit(self, fault: Fault) -> None:
        """Every file is changed at once; who has it in force, and when, is another matter."""
        for slot in self.fleet.slots:
            slot.edit(int(fault.amount))
        if self.fleet.crew.reads_again:
            self._read_again()
        else:
            self._quit(fault)

    def _read_again(self) -> None:
        for slot in self.fleet.slots:
            if slot.life is not None:
                slot.life.signal(signal.SIGHUP)

    # ---- wires

    def _wire(self, fault: Fault) -> Callable[[], None]:
        proxy = self.fleet.proxy(fault.host)
        if fault.kind is Kind.DELAY:
            proxy.delay(fault.amount)
        elif fault.kind in (Kind.DEAF, Kind.DEAF_THEN_RESET):
            proxy.cut("down")
        elif fault.kind is Kind.DUMB:
            proxy.cut("up")
        elif fault.kind is Kind.BLACK_HOLE:
            proxy.black_hole()
        else:
            assert fault.kind is Kind.RESET, fault
            proxy.reset()
        if fault.kind is Kind.DEAF_THEN_RESET:
            return _each(proxy.reset, proxy.heal)
        return proxy.heal

    # ---- the server

    def _terminate(self, fault: Fault) -> None:
        self._say(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE %s",
            f"h{fault.host}.%",
        )

    def _full(self, fault: Fault) -> Callable[[], None]:
        self._limit(0)
        self._terminate(fault)
        return partial(self._limit, -1)

    def _limit(self, connections: int) -> None:
        with suppress(psycopg.Error), self.fleet.connect() as on:
            places.limit(on, connections)

    def _restart(self, _: Fault) -> None:
        self.fleet.server.crash()
        self.fleet.server.start()

    def _offset(self, fault: Fault) -> None:
        self._ahead, self._highest = fault.amount, max(self._highest, fault.amount)
        self._say("UPDATE faults.clock SET seconds = %s", fault.amount)

    def _lock(self, fault: Fault) -> Callable[[], None] | None:
        """Hold some rows that the schedulers want; the server's restart ends it early."""
        try:
            on: Connection = self.fleet.connect()
            on.autocommit = False
            on.execute(
                "SELECT 1 FROM runs WHERE state IN ('queued', 'running') ORDER BY random() LIMIT %s "
                "FOR UPDATE SKIP LOCKED",
                (LOCKED,),
            )
        except psycopg.Error:
            return None
        return on.close

    def _say(self, words: str, *values: object) -> None:
        with suppress(psycopg.Error), self.fleet.connect() as on:
            on.execute(words.encode(), values)


def _each(*deeds: Callable[[], None] | None) -> Callable[[], None]:
    """Return what does one after the other."""

    def do() -> None:
        for deed in deeds:
            if deed is not None:
                deed()

    return do


def _send(pids: list[int], what: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, what)
