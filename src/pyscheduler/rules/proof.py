"""When another scheduler's process is certainly dead. Spec: claims.md C2.

What must always hold: a live pid never extends a lease, and an absent one proves death only inside the same boot of the
same machine and the same pid namespace. Where any part of an identity is not known nothing is proved, and only the
window is left. The death of a scheduler proves nothing about its attempts: they live under minders of their own, so
whoever uses a proof looks for each of them first and names those that are gone (`covering`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from pyscheduler.model.lease import Identity, Proof, ProofKind


class Presence(StrEnum):
    """What the signal-0 probe of a pid has said. PRESENT: it was delivered, or not permitted."""

    ABSENT = "absent"
    PRESENT = "present"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """What the kernel says of a pid. A missing entry in /proc alone proves nothing: it may be hidden."""

    presence: Presence = Presence.UNKNOWN
    start_ticks: int | None = None
    is_zombie: bool = False
    threads: int | None = None


class Verdict(StrEnum):
    """What is known of another incarnation."""

    UNKNOWN = "unknown"
    """It may live: only the window is left."""
    DEAD = "dead"
    """P1: its process is gone."""
    REBOOT = "reboot"
    """P2: its machine has booted since."""
    CLONED = "cloned"
    """Two machines share a host id: raise an alarm, and believe no proof about that id until one is renamed."""


def judge(
    them: Identity,
    renewed_at: datetime,
    me: Identity,
    process: ProcessFacts,
    *,
    db_now: datetime,
    uptime_s: float,
    cloned: Collection[str] = (),
) -> Verdict:
    """Return what is known of an incarnation, of which the store has last heard at `renewed_at` (its own clock).

    `db_now` must be read before `uptime_s` (the boot clock of this machine). `cloned` are host ids found out before.
    """
    if not them.host_id or them.host_id != me.host_id or them.host_id in cloned:
        return Verdict.UNKNOWN
    if not them.boot_id or not me.boot_id:
        return Verdict.UNKNOWN
    if them.boot_id != me.boot_id:
        return Verdict.REBOOT if renewed_at < db_now - timedelta(seconds=uptime_s) else Verdict.CLONED
    if not them.pid_ns or them.pid_ns != me.pid_ns or not them.pid or not them.start_ticks:
        return Verdict.UNKNOWN
    return Verdict.DEAD if is_gone(them.start_ticks, process) else Verdict.UNKNOWN


def is_gone(start_ticks: int, process: ProcessFacts) -> bool:
    """Whether the process that began at these ticks runs no more, given what its number says now.

    A zombie leader with more threads is alive: its other threads run.
    """
    if process.presence is Presence.ABSENT:
        return True
    if process.start_ticks is None:
        return False
    if process.start_ticks != start_ticks:
        return True
    return process.is_zombie and process.threads == 1


def prove(inc_id: str, verdict: Verdict, by: str = "") -> Proof | None:
    """Return the proof that a verdict is, None where it is none."""
    kinds = {Verdict.DEAD: ProofKind.DEAD, Verdict.REBOOT: ProofKind.REBOOT}
    return Proof(inc_id=inc_id, kind=kinds[verdict], by=by) if verdict in kinds else None


def covering(proof: Proof, lost: Iterable[tuple[str, int]]) -> Proof:
    """Return the proof with the (run_id, token) of attempts that were looked for and cannot run any more."""
    return replace(proof, lost=proof.lost | frozenset(lost))
