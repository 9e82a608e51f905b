"""What goes wrong, and when: plans drawn from a seed, pure, so that a seed is enough to tell them again.

A plan is a list of faults, each with its time, its host and process, and how long it lasts. It never leaves the last
scheduler of a test stopped for good: whoever plays it heals everything at its end (`player.py`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tests.faults.cluster.editions import EDITIONS
from tests.faults.cluster.points import POINTS


class Kind(StrEnum):
    """The faults that are known."""

    STOP = "stop"
    """SIGSTOP of a scheduler for a while."""
    STOP_MINDERS = "stop minders"
    """The same of its nursery and minders."""
    STOP_BOTH = "stop both"
    KILL = "kill"
    """SIGKILL of a scheduler; it is started again after a while."""
    KILL_BOTH = "kill both"
    """With its nursery and minders."""
    STOP_AT = "stop at"
    """SIGSTOP when it comes to a named point (`points.py`), for a while."""
    KILL_AT = "kill at"
    QUIT = "quit"
    """SIGTERM: a graceful stop, and a start after it."""
    DELAY = "delay"
    DEAF = "deaf"
    """Nothing comes down to the host; then all of it."""
    DEAF_THEN_RESET = "deaf, then reset"
    """Commits arrive and are never acknowledged."""
    DUMB = "dumb"
    BLACK_HOLE = "black hole"
    RESET = "reset"
    TERMINATE = "terminate"
    """pg_terminate_backend of a host's connections."""
    RESTART = "restart"
    """An immediate restart of the server."""
    OFFSET = "offset"
    """The store's clock is set, for good."""
    LOCK = "lock"
    """Somebody holds some rows for a while."""
    FULL = "full"
    """The server has no connection left for a while: a host's are ended, and no new one is let in, whoever asks."""
    EDIT = "edit"
    """The schedule is edited: every `serve` is told to read it again, one `work` is stopped and started with it."""


WEIGHTS: Final[Mapping[Kind, int]] = {
    Kind.STOP_AT: 8, Kind.KILL_AT: 5, Kind.STOP: 3, Kind.STOP_MINDERS: 2, Kind.STOP_BOTH: 3, Kind.KILL: 4,
    Kind.KILL_BOTH: 2, Kind.QUIT: 2, Kind.DELAY: 2, Kind.DEAF: 2, Kind.DEAF_THEN_RESET: 4, Kind.DUMB: 2,
    Kind.BLACK_HOLE: 3, Kind.RESET: 3, Kind.TERMINATE: 3, Kind.RESTART: 1, Kind.OFFSET: 2, Kind.LOCK: 2,
    Kind.FULL: 3, Kind.EDIT: 3,
}  # fmt: skip
"""How often each is drawn, against the others."""
SHORT_S: Final = (0.1, 1.0)
LONG_S: Final = (2.6, 4.0)
"""How long a process is stopped or a wire cut: half of them for less than a lease of these tests, half for more."""
TAIL_S: Final = 2.7
"""In the last seconds of a plan nothing new goes wrong."""
OFFSET_S: Final = 30.0


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong."""

    at_s: float
    kind: Kind
    host: int
    process: int
    for_s: float
    amount: float = 0.0
    """Seconds of delay, or of the clock's offset; or which edition of the schedule it is."""
    point: str = ""
    """Where it is stopped or killed."""

    def __str__(self) -> str:
        amount = f" by {self.amount:+.2f} s" if self.amount else ""
        point = f" {self.point!r}" if self.point else ""
        where = f"host {self.host} process {self.process}"
        return f"{self.at_s:6.2f} s  {self.kind}{point} of {where} {self.for_s:.2f} s{amount}"


@dataclass(frozen=True)
class Plan:
    """What goes wrong under one seed."""

    seed: int
    length_s: float
    faults: tuple[Fault, ...] = ()
    quiet: bool = False
    """Nobody may lose anything: there is no fault, or the only one is an outage for all."""

    @property
    def sort(self) -> str:
        """`storm`, `outage` or `calm`."""
        return "storm" if not self.quiet else "outage" if self.faults else "calm"


def storm(
    seed: int, *, hosts: int, processes: int, length_s: float, pause_s: float = 0.25,
    kinds: tuple[Kind, ...] = (), at: tuple[str, ...] = POINTS,
    lasting: tuple[tuple[float, float], ...] = (SHORT_S, LONG_S),
) -> Plan:  # fmt: skip
    """Draw faults of all kinds (or of `kinds`, at these points), one after `pause_s` seconds on average."""
    chance = random.Random(f"storm {seed}")
    weights = {kind: weight for kind, weight in WEIGHTS.items() if not kinds or kind in kinds}
    faults, at_s = [], 0.3
    while (at_s := at_s + chance.expovariate(1 / pause_s)) < length_s - TAIL_S:
        [kind] = chance.choices(list(weights), list(weights.values()))
        point = chance.choice(at) if kind in (Kind.STOP_AT, Kind.KILL_AT) else ""
        for_s = round(chance.uniform(*chance.choice(lasting)), 3)
        place = chance.randrange(hosts), chance.randrange(processes)
        faults.append(Fault(round(at_s, 3), kind, *place, for_s, _amount(chance, kind), point))
    return Plan(seed, length_s, tuple(faults))


def _amount(chance: random.Random, kind: Kind) -> float:
    if kind is Kind.DELAY:
        return round(chance.uniform(0.02, 0.4), 3)
    if kind is Kind.EDIT:
        return float(chance.randrange(1, len(EDITIONS)))
    return round(chance.uniform(-OFFSET_S, OFFSET_S), 3) if kind is Kind.OFFSET else 0.0


def calm(seed: int, *, length_s: float) -> Plan:
    """No fault: each run must have exactly one effect, and nobody is revoked."""
    return Plan(seed, length_s, quiet=True)


def outage(seed: int, *, hosts: int, lease_s: float, length_s: float) -> Plan:
    """All hosts are cut off at once for three leases, and healed at once: nobody may be revoked (B23)."""
    kind = random.Random(f"outage {seed}").choice((Kind.BLACK_HOLE, Kind.DEAF, Kind.DUMB))
    faults = tuple(Fault(1.0, kind, host, 0, 3 * lease_s) for host in range(hosts))
    return Plan(seed, length_s + 3 * lease_s, faults, quiet=True)
