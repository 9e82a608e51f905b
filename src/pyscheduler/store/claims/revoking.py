"""What the dead leave: S7a, S7b, S17. Spec: claims.md C5, DESIGN 6."""

from __future__ import annotations

from pyscheduler.model.lease import Identity, Proof, Seen
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.shapes import Fenced, Held


def hand_out_unstarted(on: Transaction, me: Identity, inc_id: str, why: Seen | Proof) -> list[str]:
    raise NotImplementedError


def fence(on: Transaction, me: Identity, inc_id: str, proof: Proof, reason: str) -> Fenced:
    raise NotImplementedError


def adopt(on: Transaction, me: Identity, inc_id: str, held: Held, proof: Proof) -> bool:
    raise NotImplementedError
