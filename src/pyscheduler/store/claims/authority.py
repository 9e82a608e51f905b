"""The authority's lease: S9, S10, S14. Spec: claims.md C5, C8."""

from __future__ import annotations

from pyscheduler.model.lease import Identity, Seen, Timing
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.shapes import AuthorityRow


def take(on: Transaction, me: Identity, timing: Timing, seen: Seen | None) -> int | None:
    raise NotImplementedError


def renew(on: Transaction, me: Identity, timing: Timing, epoch: int) -> bool:
    raise NotImplementedError


def resign(on: Transaction, me: Identity, epoch: int) -> None:
    raise NotImplementedError


def look(on: Transaction) -> AuthorityRow:
    raise NotImplementedError
