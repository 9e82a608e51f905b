"""Taking runs, starting them, giving them back: S2, S3, S5, S6, S8. Spec: claims.md C5."""

from __future__ import annotations

from collections.abc import Sequence

from pyscheduler.model.lease import Identity
from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.shapes import Claim, Held, Owned, Start


def claim(on: Transaction, me: Identity, count: int, node: str, tags: Sequence[str]) -> list[Claim]:
    raise NotImplementedError


def start(on: Transaction, me: Identity, starts: Sequence[Start]) -> set[str]:
    raise NotImplementedError


def hand_back(on: Transaction, me: Identity, held: Sequence[Held], *, cancelled: bool) -> set[str]:
    raise NotImplementedError


def abort_start(on: Transaction, me: Identity, held: Held) -> bool:
    raise NotImplementedError


def owned(on: Transaction, inc_id: str) -> list[Owned]:
    raise NotImplementedError
