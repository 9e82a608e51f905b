"""The store as one transaction after the other leaves it, and what the checker says of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final, TypeVar

from pyscheduler.model.run import FINAL_STATES
from tests.faults.cluster.history import Change, Row

FINAL: Final = frozenset(str(state) for state in FINAL_STATES)
DUE: Final = frozenset({"schedule", "catch_up", "backfill"})
Key = TypeVar("Key")


@dataclass(frozen=True)
class Broken:
    """One thing that must never be."""

    invariant: str
    words: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.words}"


@dataclass
class World:
    """The store as one transaction after the other leaves it."""

    runs: dict[str, Row] = field(default_factory=dict)
    attempts: dict[tuple[str, int], Row] = field(default_factory=dict)
    nodes: dict[str, Row] = field(default_factory=dict)
    grants: dict[tuple[str, int], str] = field(default_factory=dict)
    """(run, token) → who was granted it."""
    apps: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The incarnations that each process registered."""
    ends: dict[tuple[str, int], str] = field(default_factory=dict)
    """(run, attempt) → how its end came into the store: applied, superseded or revoked."""
    ended_runs: Counter[str] = field(default_factory=Counter)
    """Ends of tries that were applied and were no success."""

    def take(self, change: Change) -> None:
        row, gone = change.row, change.new is None
        if change.table == "runs":
            _put(self.runs, row["run_id"], row, gone=gone)
        elif change.table == "attempts":
            _put(self.attempts, (row["run_id"], row["attempt"]), row, gone=gone)
        elif change.table == "leases":
            _put(self.nodes, row["name"], row, gone=gone)
            if change.old is None and row["kind"] == "node":
                self.apps[change.app].add(row["name"])


def _put(rows: dict[Key, Row], key: Key, row: Row, *, gone: bool) -> None:
    if gone:
        rows.pop(key, None)
    else:
        rows[key] = row
