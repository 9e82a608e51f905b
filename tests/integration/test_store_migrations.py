"""Upgrading: every released schema becomes the newest, with all that was in it, or stays what it was.

`schema_NNNN.sql` beside this file is the dump of a store of that release. When the next revision comes: dump one of
this release first (`python -m tests.integration.test_store_migrations DIR` prints it), then every test here covers
it.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from pyscheduler.errors import StoreError
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.job import ConfigSource
from pyscheduler.model.run import RunState
from pyscheduler.store import Batch, LineQuery, Store, driver, migrate, schema
from pyscheduler.store.files import StoreFiles
from pyscheduler.store.migrations.upgrade import alembic_config, upgrade_to_head
from tests.contract.store_kit import NOON, STORES, OpenAgain, a_line, a_run, a_session, an_attempt, opener

SOURCE = ConfigSource(path="a.yaml", text="jobs: {}")
DUMPS = sorted(Path(__file__).parent.glob("schema_*.sql"))


@pytest.fixture(params=STORES)
def open_again(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    with opener(tmp_path / "state", request.param, monkeypatch) as again:
        yield again


def content() -> Batch:
    """Return one of each thing that a store remembers."""
    run, ended = a_run(reason="held by ada"), a_run("other", 2, state=RunState.FAILED, attempt=1, reason="exit 1")
    return Batch(
        runs=(run, ended),
        attempts=(an_attempt(ended, key="k1", took_s=2.5, pid=4711, note="leftovers: 12"),),
        lines=(a_line(run, detail={"trigger": "schedule"}), a_line(action="reload", actor="ada")),
        engine={"last_tick": "2027-05-20T12:00:00Z"},
        configs=(
            ConfigRecord(
                version=3, loaded_at=NOON, digest="d3", sources=(ConfigSource(path="a.yaml", text="jobs: {}"),)
            ),
        ),
    )


def from_dump(dump: Path, files: StoreFiles) -> None:
    """Make the store of an earlier release."""
    files.state_dir.mkdir()
    with closing(driver.open_new(files.database)) as connection:
        connection.executescript(dump.read_text())
        connection.execute(f"PRAGMA application_id={schema.APPLICATION_ID}")
        driver.use_write_ahead_log(connection)
    files.generation.write_text("4\n")


def shape(connection: driver.Connection) -> list[tuple[str, str]]:
    """Return every table and index as SQL, spaces and newlines apart."""
    found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
    return [(name, "".join(sql.split())) for name, sql in found]


def test_there_is_a_dump_of_every_released_schema() -> None:
    """Who adds a revision leaves the dump of the one before; no release is forgotten."""
    assert [dump.stem.removeprefix("schema_") for dump in DUMPS] == list(schema.REVISIONS)


def test_the_revisions_are_those_that_the_store_knows() -> None:
    """`schema.REVISIONS` names the files under `versions`, in their order, and the last is where they lead."""
    scripts = ScriptDirectory.from_config(alembic_config())
    assert [script.revision for script in scripts.walk_revisions()][::-1] == list(schema.REVISIONS)


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.stem)
def test_a_released_store_opens_with_all_that_was_in_it(open_again: OpenAgain, dump: Path) -> None:
    """Runs, attempts, lines, values and configurations of an earlier release are there after the upgrade."""
    from_dump(dump, StoreFiles(open_again.state_dir))
    store, expected = open_again(), content()
    assert store.open_runs() == [expected.runs[0]]
    assert list(store.final_runs_since(NOON.date(), 10)) == [expected.runs[1]]
    assert store.attempts(expected.runs[1].run_id) == list(expected.attempts)
    assert [line.action for line in store.lines(LineQuery(newest_first=False)).items] == ["created", "reload"]
    assert store.engine_values() == {"last_tick": "2027-05-20T12:00:00Z"}
    assert store.latest_config() == expected.configs[0]
    store.apply(Batch(runs=(a_run("after"),), sessions=(a_session(),)))
    assert store.sessions(10) == [a_session()]


def test_the_revisions_lead_to_the_tables_that_a_new_store_has(open_again: OpenAgain, tmp_path: Path) -> None:
    """A store that was upgraded all the way and one made today have the same schema, to the letter."""
    open_again().close()
    empty = tmp_path / "empty.db"
    with closing(driver.open_new(empty)) as upgraded:
        upgrade_to_head(upgraded, empty)
        with closing(driver.open_reader(StoreFiles(open_again.state_dir).database)) as made:
            assert shape(upgraded) == shape(made)


def test_an_upgrade_that_fails_changes_nothing(
    open_again: OpenAgain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All revisions are one transaction: a full disk or a bug in the last leaves the schema before the first."""
    path = tmp_path / "old.db"

    def breaks_halfway(config: Config, _: str) -> None:
        config.attributes["connection"].exec_driver_sql("CREATE TABLE half (x)")
        config.attributes["connection"].exec_driver_sql("CREATE TABLE half (x)")

    monkeypatch.setattr("alembic.command.upgrade", breaks_halfway)
    with closing(driver.open_new(path)) as connection:
        connection.execute("CREATE TABLE kept (x)")
        with pytest.raises(StoreError, match="half already exists"):
            upgrade_to_head(connection, path)
        assert [name for name, _ in shape(connection)] == ["kept"]
        assert not connection.in_transaction


def test_opening_a_store_of_today_does_not_import_alembic(open_again: OpenAgain) -> None:
    """The upgrade's machinery costs a second of start-up: only who needs it pays."""
    open_again().close()
    script = (
        "import sys; from pathlib import Path; from pyscheduler.store import Store\n"
        "Store.open(Path(sys.argv[1])).close(); print('alembic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(open_again.state_dir)],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "False\n"


def test_the_migrations_travel_with_the_package() -> None:
    """They are found beside the code, not through a path of the repository: an installed wheel has them."""
    folder = Path(migrate.__file__).parent / "migrations"
    assert Path(ScriptDirectory.from_config(alembic_config()).dir) == folder
    assert {path.name for path in (folder / "versions").glob("0*.py")} == {
        "0001_first.py",
        "0002_people.py",
        "0003_claims.py",
    }


def test_an_older_store_is_upgraded_when_it_is_opened(open_again: OpenAgain, monkeypatch: pytest.MonkeyPatch) -> None:
    """A revision below the newest is brought up to it on opening, once, and what it adds is there to use."""
    open_again().close()
    monkeypatch.setattr(schema, "REVISION", "9999")
    monkeypatch.setattr(schema, "REVISIONS", (*schema.REVISIONS, "9999"))
    upgrades: list[str] = []

    def add_a_column(config: Config, target: str) -> None:
        upgrades.append(target)
        config.attributes["connection"].exec_driver_sql("ALTER TABLE engine ADD COLUMN more")
        config.attributes["connection"].exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")

    monkeypatch.setattr("alembic.command.upgrade", add_a_column)
    open_again().close()
    open_again().apply(Batch(engine={"a": "1"}))
    assert upgrades == ["head"]
    with closing(driver.open_reader(StoreFiles(open_again.state_dir).database)) as connection:
        assert connection.execute("SELECT key, value, more FROM engine").fetchall() == [("a", "1", None)]
        assert connection.execute("PRAGMA user_version").fetchone() == (9999,)


if __name__ == "__main__":
    source = Store.open(Path(sys.argv[1]), sync=False)
    source.apply(content())
    source.close()
    with closing(sqlite3.connect(StoreFiles(Path(sys.argv[1])).database)) as whole:
        print("\n".join(whole.iterdump()))
