"""My own row and everybody's: S0, S1, S16, drain, and what may be seen of nodes. Spec: claims.md C5."""

from __future__ import annotations

from datetime import datetime

from pyscheduler.model.lease import Identity, Seen, Timing
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.shapes import Beat, NodeRow


def register(on: Transaction, me: Identity, timing: Timing) -> None:
    raise NotImplementedError


def heartbeat(on: Transaction, me: Identity, timing: Timing) -> Beat | None:
    raise NotImplementedError


def set_stopping(on: Transaction, me: Identity) -> None:
    raise NotImplementedError


def unregister(on: Transaction, me: Identity) -> bool:
    raise NotImplementedError


def mark_stale(on: Transaction, seen: Seen) -> None:
    raise NotImplementedError


def stale(on: Transaction, inc_id: str, timing: Timing) -> Seen | None:
    raise NotImplementedError


def listed(on: Transaction) -> list[NodeRow]:
    raise NotImplementedError


def drain(on: Transaction, node: str, *, draining: bool) -> list[str]:
    raise NotImplementedError


def now(on: Transaction) -> datetime:
    raise NotImplementedError
