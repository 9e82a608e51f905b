"""Making runs, offering them, ending them by a person's wish: S12, S13, S15. Spec: claims.md C5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from pyscheduler.store.claims.door import Transaction
from pyscheduler.store.claims.shapes import Cancelled, Occurrence, Offer, Watermark


def materialise(on: Transaction, occurrences: Sequence[Occurrence], watermarks: Sequence[Watermark]) -> list[str]:
    raise NotImplementedError


def watermarks(on: Transaction, jobs: Sequence[str]) -> Mapping[str, datetime]:
    raise NotImplementedError


def admit(on: Transaction) -> list[str]:
    raise NotImplementedError


def offer(on: Transaction, offers: Sequence[Offer]) -> set[str]:
    raise NotImplementedError


def withdraw(on: Transaction, run_ids: Sequence[str]) -> set[str]:
    raise NotImplementedError


def cancel(on: Transaction, run_id: str) -> Cancelled:
    raise NotImplementedError
