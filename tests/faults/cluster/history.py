"""What happened to a store and in the world, as values: every committed change of a row, and every effect of a task.

Changes come from triggers that the tests add to the store (`recorder.py`), so they are complete: no state that was
committed for a microsecond is missed. They are grouped by transaction, and transactions that touched the same rows
stand in the order in which they were committed. Effects are what the tasks themselves wrote, over no proxy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final

Row = Mapping[str, Any]

TASK: Final = """#!/bin/sh
# One execution: say that it began, work, say that it ended. $1 is the log, $2 the seconds, $3 the exit code.
say() {
    read -r up rest </proc/uptime
    echo "$1 $PYSCHED_RUN_ID ${PYSCHED_ATTEMPT:-0} ${PYSCHED_ATTEMPT_KEY:--} ${PYSCHED_RUN_TOKEN:-0} $$ $up" >>"$log"
}
log=$1
say begin
sleep "$2"
say end
exit "$3"
"""
"""What the jobs of these tests run."""


@dataclass(frozen=True)
class Change:
    """One row that one transaction changed; None for what was not there before, or is not there after."""

    seq: int
    xid: int
    app: str
    """Which process: the `application_name` of its connection."""
    table: str
    old: Row | None
    new: Row | None
    epoch: int | None = None
    holder: str | None = None
    """The authority in force when the transaction was committed."""
    at_s: float = 0.0
    """When it was committed, in seconds of the machine's uptime."""

    @property
    def row(self) -> Row:
        """What it is now, or was."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found

    def was(self, column: str) -> Any:
        return None if self.old is None else self.old[column]

    def turned(self, column: str) -> bool:
        """Whether this column has another value than before."""
        return self.new is not None and (self.old is None or self.old[column] != self.new[column])


@dataclass(frozen=True)
class Effect:
    """A line that a task wrote."""

    what: str
    run_id: str
    attempt: int
    key: str
    token: int
    pid: int
    uptime_s: float


@dataclass(frozen=True)
class Room:
    """How much may run at once (I12, I13)."""

    pools: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Job → its pool and how many places it takes."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    max_active: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Promises:
    """What was asked of this cluster, beyond what always holds."""

    quiet: bool = False
    """No fault, or only outages for all: nobody may lose anything (I14)."""
    wanted: frozenset[tuple[str, int]] = frozenset()
    """Each (job, due instant) that must have ended by now (I15)."""
    room: Room = Room()
    watermarks: tuple[str, ...] = ("last_tick", "watermark.")
    """How the keys begin under which the table `engine` keeps instants that never go back (I16)."""


@dataclass(frozen=True)
class History:
    changes: tuple[Change, ...]
    effects: tuple[Effect, ...] = ()
    promises: Promises = Promises()

    def transactions(self) -> list[tuple[Change, ...]]:
        """Return the changes of each transaction, in the order of their commits."""
        by_xid = sorted(self.changes, key=lambda change: (change.xid, change.seq))
        found = [tuple(group) for _, group in groupby(by_xid, key=lambda change: change.xid)]
        return sorted(found, key=lambda group: group[-1].seq)

    def events(self, *actions: str) -> list[Row]:
        """Return the lines of the logbook with one of these actions."""
        return [
            change.new
            for change in self.changes
            if change.table == "events" and change.new is not None and change.new["action"] in actions
        ]

    def final(self, table: str, *key: str) -> dict[Any, Row]:
        """Return a table as it is at the end, by its key."""
        rows: dict[Any, Row] = {}
        for change in sorted(self.changes, key=lambda change: change.seq):
            if change.table == table:
                name = tuple(change.row[column] for column in key)
                rows.pop(name, None)
                if change.new is not None:
                    rows[name] = change.new
        return rows


def detail_of(event: Row) -> dict[str, Any]:
    """Return what a line of the logbook says beside its action."""
    found: dict[str, Any] = json.loads(event["detail"] or "{}")
    return found


def effects_in(log: Path) -> tuple[Effect, ...]:
    """Read an effects log; a task that was killed in the middle of a line cannot be: a line is one write."""
    return tuple(_effects(log.read_text().splitlines())) if log.exists() else ()


def _effects(lines: Iterable[str]) -> Iterable[Effect]:
    for line in lines:
        what, run_id, attempt, key, token, pid, up = line.split()
        yield Effect(what, run_id, int(attempt), key, int(token), int(pid), float(up))
