"""Every question follows an index: SQLite's own plan for each statement the store runs says so.

A plan that reads a whole table, or sorts a million rows for a page of a hundred, answers right and slowly; no other
test would notice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from pyscheduler.model.run import RunState, Trigger
from pyscheduler.store import AuditQuery, Batch, LineQuery, RunQuery, Store
from pyscheduler.store.driver import Connection, open_writer
from pyscheduler.store.files import StoreFiles
from pyscheduler.store.readers import Snapshot
from pyscheduler.store.rows import Row
from pyscheduler.store.statements import Statement
from tests.contract.store_kit import DAY, NOON, STORES, OpenAgain, a_line, a_run, an_attempt, opener

BIG_TABLES = ("runs", "attempts", "events", "audit", "choice", "other")
MAY_BE_SORTED = {
    "DISTINCT": "SELECT DISTINCT",  # the (job, date) pairs of a hundred jobs
    "GROUP BY": "GROUP BY",  # counts, and numbers of a hundred jobs
}


@pytest.fixture(params=STORES)
def open_again(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    with opener(tmp_path / "state", request.param, monkeypatch) as again:
        yield again


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[object, ...]]:
    """Record each statement that is run from here on, with its values."""
    seen: dict[str, tuple[object, ...]] = {}
    rows, row = Snapshot.rows, Snapshot.row

    def record_rows(self: Snapshot, statement: Statement, **values: object) -> list[Row]:
        seen[statement.sql] = statement.bind(**values)
        return rows(self, statement, **values)

    def record_row(self: Snapshot, statement: Statement, **values: object) -> Row | None:
        seen[statement.sql] = statement.bind(**values)
        return row(self, statement, **values)

    monkeypatch.setattr(Snapshot, "rows", record_rows)
    monkeypatch.setattr(Snapshot, "row", record_row)
    return seen


def ask_everything(store: Store) -> None:
    """Ask every question there is, and each kind of list."""
    run = a_run()
    store.open_runs()
    store.latest_attempts([run.run_id])
    store.attempts_of([run.run_id])
    store.starts_told([run.run_id])
    list(store.final_runs_since(DAY, 10))
    store.memory_window(DAY, 10)
    store.ended_of_date(DAY, 10)
    store.runs_of_days([("nightly", DAY)])
    list(store.latest_index(DAY))
    store.max_seqs(DAY)
    store.max_seq("nightly", DAY)
    store.firings_with_runs("nightly", NOON, NOON + timedelta(days=1))
    store.has_runs("nightly")
    store.first_dates(["nightly"])
    store.jobs_with_runs()
    store.engine_values()
    store.final_runs_before(DAY + timedelta(days=1), 10, {"x"})
    list(store.log_paths_between(DAY, DAY + timedelta(days=1)))
    store.keys_of_runs([run.run_id])
    store.get_run(run.run_id)
    store.attempts(run.run_id)
    store.counts_by_state(DAY)
    store.recent_durations("nightly")
    store.existing_run_ids("night")
    store.latest_config()
    store.config(1)
    store.config_versions()
    store.audit_last_before(NOON, 10)
    store.verify_audit()
    for newest_first in (True, False):
        ask_for_runs(store, newest_first)
        ask_for_lines(store, newest_first)
        store.audit_entries(AuditQuery(newest_first=newest_first))
        store.audit_entries(AuditQuery(newest_first=newest_first, actor="ada", since=NOON, text="night"))


def ask_for_runs(store: Store, newest_first: bool) -> None:
    many = {f"job-{number}" for number in range(3000)} | {"nightly"}
    for query in (
        RunQuery(newest_first=newest_first),
        RunQuery(newest_first=newest_first, states={RunState.FAILED}, trigger=Trigger.MANUAL),
        RunQuery(newest_first=newest_first, job="nightly"),
        RunQuery(newest_first=newest_first, jobs=many),
        RunQuery(newest_first=newest_first, run_date=DAY),
        RunQuery(newest_first=newest_first, run_date=DAY, job="nightly"),
        RunQuery(newest_first=newest_first, run_date=DAY, jobs=many),
        RunQuery(newest_first=newest_first, text="night"),
        RunQuery(newest_first=newest_first, text="nightly.2027"),
        RunQuery(newest_first=newest_first, text="exit", since=NOON),
        RunQuery(newest_first=newest_first, text="exit", run_date=DAY, states={RunState.FAILED}),
    ):
        store.runs(query)


def ask_for_lines(store: Store, newest_first: bool) -> None:
    for query in (
        LineQuery(newest_first=newest_first),
        LineQuery(newest_first=newest_first, run_id=a_run().run_id),
        LineQuery(newest_first=newest_first, job="nightly", since=NOON),
        LineQuery(newest_first=newest_first, actor="ada"),
        LineQuery(newest_first=newest_first, actor="scheduler", action="created"),
    ):
        store.lines(query)


def test_no_question_reads_a_whole_table_or_sorts_one(
    open_again: OpenAgain, asked: dict[str, tuple[object, ...]]
) -> None:
    """Big tables are searched by an index, and walked in the order that is wanted."""
    store = open_again()
    runs = [a_run(seq=seq, state=RunState.SUCCEEDED, reason="exit 1", attempt=1) for seq in range(1, 30)]
    store.apply(
        Batch(
            runs=(*runs, a_run("other", state=RunState.HELD)),
            attempts=tuple(an_attempt(run, took_s=1) for run in runs),
            lines=tuple(a_line(run, actor=actor) for run in runs for actor in ("scheduler", "ada")),
        )
    )
    ask_everything(store)
    assert len(asked) > 50
    store.close()
    with closing(open_writer(StoreFiles(open_again.state_dir).database, sync=False)) as connection:
        for step, sql in plans(connection, asked):
            assert not reads_it_all(step), f"{step}\n{sql}"
            assert not sorts(step, sql), f"{step}\n{sql}"


def plans(connection: Connection, asked: dict[str, tuple[object, ...]]) -> Iterator[tuple[str, str]]:
    for sql, values in asked.items():
        for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values):
            yield step, sql


def reads_it_all(step: str) -> bool:
    words = step.split()
    if words[0] != "SCAN" or words[1] not in BIG_TABLES:
        return False
    return not step.endswith("USING COVERING INDEX runs_open")  # open runs are few


def sorts(step: str, sql: str) -> bool:
    if not step.startswith("USE TEMP B-TREE FOR"):
        return False
    if step.endswith("ORDER BY") and any(bounded in sql for bounded in (") AS looked", ") AS newest")):
        return False  # a hundred durations, or what a sieve has left of one bounded piece
    return not any(step.endswith(kind) and word in sql for kind, word in MAY_BE_SORTED.items())
