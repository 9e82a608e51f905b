"""Nouns of many schedulers on one store: who one is, what was seen of him, what proves his death, which times hold.

An *incarnation* is one life of one scheduler process; `inc_id` names it for ever. All durations are seconds. Spec:
claims.md C2 and C3, DESIGN 6. How these values come to be, and what may be concluded from them, is in
`rules/leases.py` and `rules/proof.py`; here they only lie still.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

AUTHORITY: Final = "authority"
"""The name of the one lease that makes a scheduler the authority."""
DAY_S: Final = 86_400.0
MAX_LOST: Final = 3
"""Starts that may be lost before a run with `on_lost: rerun` fails all the same: it may be what kills its hosts."""


class OnLost(StrEnum):
    """Who decides about a run whose started attempt was lost, and what.

    ENGINE: the authority's engine, by the job's retry rules. RERUN, FAIL: whoever revokes it, at once (`tick`, `work`).
    """

    ENGINE = ""
    RERUN = "rerun"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """One life of one scheduler process, as its row says it. An empty text or None says "not to be had here".

    `host_id` is the machine's id salted with the deployment's name, `boot_id` the kernel's, `pid_ns` the inode of the
    process's pid namespace, `start_ticks` the ticks since boot at which it began. `node` is the name that people gave
    the host, `tags` what jobs may ask for, `capacity` how many attempts run at once, `address` where its API listens.
    """

    inc_id: str
    host_id: str = ""
    boot_id: str = ""
    pid_ns: str = ""
    pid: int | None = None
    start_ticks: int | None = None
    state_dir: str = ""
    node: str = ""
    tags: tuple[str, ...] = ()
    capacity: int = 0
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Every time of claims.md C3; made by `rules.leases.timing`, which refuses what does not hold together."""

    heartbeat_s: float = 5.0
    lease_s: float = 45.0
    kill_grace_s: float = 5.0
    margin_s: float = 10.0
    observe_s: float = 15.0
    sweep_s: float = 5.0
    authority_lease_s: float = 15.0
    authority_heartbeat_s: float = 3.0
    authority_observe_s: float = 9.0
    authority_margin_s: float = 3.0
    wedge_s: float = 60.0
    heartbeat_timeout_s: float = 5.0
    statement_timeout_s: float = 5.0
    lock_timeout_s: float = 2.0
    idle_timeout_s: float = 5.0
    reclaim_after_s: float = DAY_S


@dataclass(frozen=True, slots=True)
class Seen:
    """A lease's row stood still: the same counter for at least the observation time, no store error between.

    Made by `rules.leases.Observer` only. `name` is an `inc_id` or AUTHORITY; `epoch` counts for the latter.
    """

    name: str
    hb_seq: int
    epoch: int = 0


class ProofKind(StrEnum):
    """Why an incarnation may be fenced. Spec: claims.md C2, DESIGN 6 "Two windows"."""

    DEAD = "dead"
    """P1: this boot, this pid namespace, and its process is gone."""
    REBOOT = "reboot"
    """P2: its host has booted since it last gave a sign of life."""
    WINDOW = "window"
    """Nobody knows; `reclaim_after` has passed since its last heartbeat."""
    HAND = "hand"
    """An administrator said so, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What S7b and S17 ask for; made by `rules.proof`, and by the command `fence` (HAND).

    `lost` are the (run_id, token) of the incarnation's started attempts that were looked for and cannot run any more:
    the death of a scheduler proves nothing about its attempts, which outlive it. REBOOT and HAND cover them all.
    `seen` and `reclaim_after_s` belong to WINDOW. `by` says who, for the record.
    """

    inc_id: str
    kind: ProofKind
    lost: frozenset[tuple[str, int]] = frozenset()
    seen: Seen | None = None
    reclaim_after_s: float = DAY_S
    by: str = ""
