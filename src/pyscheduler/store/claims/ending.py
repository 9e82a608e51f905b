"""How an attempt ended: S4. Spec: claims.md C5."""

from __future__ import annotations

from collections.abc import Sequence

from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.shapes import Applied, Report


def outcomes(on: Transaction, reports: Sequence[Report]) -> dict[tuple[str, int], Applied]:
    raise NotImplementedError
