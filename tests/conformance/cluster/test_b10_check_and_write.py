"""B10: the check and the write are one (claims.md B10). On SQLite too.

On PostgreSQL A stands in the middle of its commit, held up by the database, while B completes the other run.
SQLite has one writer at a time, so that nobody can come in between there: the last moment before A's write is met by a
hook in its journal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import pyscheduler.store.claims
from pyscheduler.cluster.journal import Journal
from pyscheduler.store.claims import ending, granting, making, revoking
from pyscheduler.store.statements import Statement
from tests.conformance.cluster.gates import gate
from tests.conformance.cluster.kit import Ticking, World, numbers, until

ROOMS = (ending, granting, making, revoking)


def test_another_ones_completion_in_between_changes_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A knows how 00:01 has ended and is about to say so; B completes 00:02 at that very moment."""
    task = world.minutely(gated=True, overlap="allow")
    a, b, c = (world.scheduler(task) for _ in range(3))
    a.tick()
    world.at(1)
    first = Ticking(a)
    until(world.effects)
    world.at(2)
    world.open_gate("job.2027-05-20.2")
    plain = Journal.note_all
    in_between: list[tuple[int, int, int]] = []

    def note(self: Journal, reports: Sequence[Any], now: float) -> None:
        plain(self, reports, now)
        if [report.run_id for report in reports] == ["job.2027-05-20.1"]:
            in_between.append(numbers(b.tick()))

    monkeypatch.setattr(Journal, "note_all", note)
    world.open_gate("job.2027-05-20.1")
    assert numbers(first.end()) == (1, 0, 0)
    assert in_between == [(1, 0, 0)]
    assert numbers(c.tick()) == (0, 0, 0)
    assert world.states() == ["succeeded", "succeeded"]
    assert len(world.effects()) == 2


def test_another_completes_while_the_write_is_under_way(two_hosts: World) -> None:
    """The same with nothing of the scheduler replaced: A has decided, and stands in the middle of its commit."""
    world, run = two_hosts, "job.2027-05-20.1"
    assert world.store is not None
    task = world.minutely(gated=True, overlap="allow")
    a, b, c = (world.scheduler(task) for _ in range(3))
    a.tick()
    world.at(1)
    with gate(world.store, "end", run) as shut:
        shut.shut()
        first = Ticking(a)
        until(world.effects)
        world.at(2)
        world.open_gate(run)
        until(shut.is_stood_at, "A stands before its commit")
        world.open_gate("job.2027-05-20.2")
        assert numbers(b.tick()) == (1, 0, 0)
        shut.open()
        assert numbers(first.end()) == (1, 0, 0)
    assert numbers(c.tick()) == (0, 0, 0)
    assert world.states() == ["succeeded", "succeeded"]
    assert len(world.effects()) == 2


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__.rpartition(".")[2])
def test_every_write_to_a_run_names_token_and_owner(room: Any) -> None:
    """Read from the SQL itself. Runs that nobody owns are told by `owner_inc IS NULL`."""
    writes = [each.sql for each in vars(room).values() if isinstance(each, Statement) and "UPDATE runs" in each.sql]
    assert writes
    for sql in writes:
        where = sql.rpartition("WHERE" if "RETURNING" not in sql else "\nWHERE")[2] or sql
        guarded = re.search(r"token = ", sql) or "skip_locked" in where or "IS NULL" in sql
        assert guarded, sql
        assert "owner_inc" in sql.partition("WHERE")[2], sql


def test_no_other_module_writes_to_runs_of_claims() -> None:
    """The statements that change a run's owner or token are in this one folder."""
    package = Path(pyscheduler.store.claims.__file__).parent
    others = [path for path in package.parent.rglob("*.py") if package not in path.parents]
    assert others
    for path in others:
        assert "token + 1" not in path.read_text(), path
