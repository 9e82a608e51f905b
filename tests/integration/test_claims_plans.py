"""Every statement of the claims follows an index: they run many times a second beside a million ended runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from importlib import import_module

import pytest

from pyscheduler.store import Store
from pyscheduler.store.driver import Connection, open_writer
from pyscheduler.store.files import StoreFiles
from pyscheduler.store.statements import Statement

MODULES = ("authority", "ending", "granting", "making", "nodes", "revoking", "words")
STATEMENTS = {
    f"{name}.{key}": value
    for name in MODULES
    for key, value in vars(import_module(f"pyscheduler.store.claims.{name}")).items()
    if isinstance(value, Statement)
}
PARTIAL = ("runs_open", "runs_offered", "runs_owned")
"""Indexes that hold few runs, however many have ended: reading one whole is cheap."""


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    folder = tmp_path_factory.mktemp("plans")
    Store.open(folder, sync=False).close()
    with closing(open_writer(StoreFiles(folder).database, sync=False)) as found:
        yield found


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_statement_reads_a_whole_table(connection: Connection, name: str) -> None:
    """Neither runs nor attempts nor events: what is searched is searched by a key, or by an index of few."""
    statement = STATEMENTS[name]
    plan = connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", [None] * len(statement.names)).fetchall()
    steps = [str(step[3]) for step in plan]
    scans = [step for step in steps if step.startswith(("SCAN runs", "SCAN attempts", "SCAN events"))]
    assert [step for step in scans if not step.endswith(PARTIAL)] == [], steps
