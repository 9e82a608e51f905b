"""What stands in the tables beside what our own reads show: rows of other parts, and what they may rely on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pyscheduler.errors import StoreError
from pyscheduler.model.run import RunState
from pyscheduler.store import Batch, driver, schema
from pyscheduler.store.files import StoreFiles
from tests.contract.store_kit import STORES, OpenAgain, a_line, a_run, an_attempt, opener


@pytest.fixture(params=STORES)
def open_again(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    with opener(tmp_path / "state", request.param, monkeypatch) as again:
        yield again


def execute(open_again: OpenAgain, *statements: str) -> list[list[object]]:
    """Run statements on the closed store's file, as a later part of the product would; returns each one's rows."""
    open_again.close()
    with closing(driver.open_writer(StoreFiles(open_again.state_dir).database, sync=False)) as connection:
        return [connection.execute(statement).fetchall() for statement in statements]


def test_a_save_leaves_a_claim_alone(open_again: OpenAgain) -> None:
    """`token owner_inc` and `inc_id` belong to whoever owns the run: our own saves never touch them.

    `offered_at` is the engine's: the offer is over when the run has started.
    """
    run = a_run(attempt=1)
    open_again().apply(Batch(runs=(run,), attempts=(an_attempt(run),)))
    execute(
        open_again,
        "UPDATE runs SET token = 3, owner_inc = 'node-1', offered_at = 12",
        "UPDATE attempts SET token = 3, inc_id = 'node-1'",
    )
    open_again().apply(
        Batch(runs=(replace(run, state=RunState.RUNNING),), attempts=(replace(an_attempt(run), pid=4711),))
    )
    claims = execute(
        open_again,
        "SELECT state, token, owner_inc, offered_at FROM runs",
        "SELECT pid, token, inc_id FROM attempts",
    )
    assert claims == [[("running", 3, "node-1", None)], [(4711, 3, "node-1")]]


def test_a_new_run_is_nobodys(open_again: OpenAgain) -> None:
    """Token 0, no owner: claims.md's even token."""
    open_again().apply(Batch(runs=(a_run(),)))
    assert execute(open_again, "SELECT token, owner_inc, offered_at FROM runs") == [[(0, None, None)]]


def test_alerts_deliveries_and_files_go_with_their_run(open_again: OpenAgain) -> None:
    """What names a run is gone with it; alerts of no run, and of others, stay."""
    gone, kept = a_run("gone", state=RunState.FAILED), a_run("kept", state=RunState.FAILED)
    open_again().apply(Batch(runs=(gone, kept)))
    alert = "INSERT INTO alerts VALUES ('{0}', 'failed', {1}, NULL, NULL, NULL, 'normal', 1, 'm', '{{}}')"
    execute(
        open_again,
        alert.format("a1", f"'{gone.run_id}'"),
        alert.format("a2", f"'{kept.run_id}'"),
        alert.format("a3", "NULL"),
        *(f"INSERT INTO deliveries VALUES ('{a}|mail', '{a}', 'mail', 'sent', 1, NULL, 1)" for a in ("a1", "a2", "a3")),
        f"INSERT INTO run_files VALUES ('{gone.run_id}', '[]'), ('{kept.run_id}', '[]')",
    )
    open_again().apply(Batch(deleted_runs=(gone.run_id,)))
    left = execute(
        open_again,
        "SELECT alert_id FROM alerts ORDER BY 1",
        "SELECT alert_id FROM deliveries ORDER BY 1",
        "SELECT run_id FROM run_files",
    )
    assert left == [[("a2",), ("a3",)], [("a2",), ("a3",)], [(kept.run_id,)]]


@pytest.mark.parametrize("wrong", [{"run_id": "nightly.2027-05-20.2"}, {"seq": 2}, {"job": "other"}])
def test_a_run_id_is_made_of_its_parts(open_again: OpenAgain, wrong: dict[str, object]) -> None:
    """Number, date and job cannot contradict the id, so the id's uniqueness is theirs."""
    with pytest.raises(StoreError, match="run_id_is_made_of_its_parts"):
        open_again().apply(Batch(runs=(replace(a_run(), **wrong),)))  # type: ignore[arg-type]


def test_a_lines_number_is_never_given_twice(open_again: OpenAgain) -> None:
    """Even when the newest lines are pruned: a cursor and a reader's last seen number stay true."""
    store, run = open_again(), a_run(state=RunState.FAILED)
    store.apply(Batch(runs=(run,), lines=(a_line(), a_line(run), a_line(run))))
    store.apply(Batch(deleted_runs=(run.run_id,)))
    store.apply(Batch(lines=(a_line(),)))
    assert execute(open_again, "SELECT id FROM events ORDER BY id") == [[(1,), (4,)]]


def test_the_file_carries_our_mark(open_again: OpenAgain) -> None:
    """`application_id` and `user_version` tell what it is without reading a table."""
    open_again()
    found = execute(open_again, "PRAGMA application_id", "PRAGMA user_version")
    assert found == [[(schema.APPLICATION_ID,)], [(int(schema.REVISION),)]]


def test_facts_for_the_doctor(open_again: OpenAgain) -> None:
    """Which SQLite, whether it is one that can lose pages, which schema, how large."""
    store = open_again()
    facts = store.facts()
    assert facts.driver == driver.sqlite().__name__
    assert facts.is_safe == (driver.sqlite().sqlite_version_info >= (3, 51, 3))
    assert facts.revision == schema.REVISION
    assert facts.file_bytes > 0
    before = facts.log_bytes
    store.apply(Batch(runs=(a_run(),)))
    assert store.facts().log_bytes > before


def test_a_sqlite_that_is_too_old_is_refused(open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the way out: the driver that brings a newer one."""
    monkeypatch.setattr(driver, "OLDEST", (99, 0, 0))
    with pytest.raises(StoreError, match=r"too old.*pysqlite3"):
        open_again()


def test_an_unknown_driver_is_said_and_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks for a driver by hand gets that one or an error; who does not, gets one that is there."""
    import importlib

    monkeypatch.setattr(importlib, "import_module", _nothing_is_installed)
    monkeypatch.setenv("PYSCHED_SQLITE", "pysqlite3")
    with pytest.raises(ImportError):
        driver.sqlite()
    monkeypatch.delenv("PYSCHED_SQLITE")
    assert driver.sqlite().__name__ == "sqlite3"


def _nothing_is_installed(name: str) -> None:
    raise ImportError(name)
