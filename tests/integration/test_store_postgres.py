"""What is PostgreSQL's own about a store on it: who is refused at the door, what is agreed on, how tables are made."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from sqlalchemy import func, select

from pyscheduler.errors import (
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreLocked,
    StoreUnavailable,
)
from pyscheduler.store import Batch, Peek, RunQuery, Store, schema
from pyscheduler.store.migrations.upgrade import revisions_on
from pyscheduler.store.postgres import migrate
from pyscheduler.store.postgres.connect import Connection, address_of, open_reader, open_writer
from pyscheduler.store.postgres.store import PostgresStore
from pyscheduler.store.readers import SNAPSHOT_S
from pyscheduler.store.statements import compiled
from tests.contract.store_kit import SERVERS, a_run, a_schema
from tests.servers.fixtures import GetPlace
from tests.servers.kinds import PASSWORD, Place


@pytest.fixture(params=SERVERS)
def place(request: pytest.FixtureRequest, server_place: GetPlace) -> Place:
    return server_place(request.param)


@pytest.fixture
def url(place: Place) -> Iterator[str]:
    with a_schema(place) as found:
        yield found


@contextmanager
def opened(state_dir: Path, url: str, *, shared: bool = False) -> Iterator[Store]:
    with closing(Store.open(state_dir, url=url, shared=shared)) as store:
        yield store


def execute(url: str, *statements: str) -> None:
    """Run statements behind the store's back."""
    with closing(psycopg.connect(**address_of(url).arguments, autocommit=True)) as server:
        for statement in statements:
            server.execute(statement.encode())


# --------------------------------------------------------------------------- at the door


@pytest.mark.parametrize(
    ("change", "what", "mend"),
    [
        ({"password": "wrong"}, "password", "look at the password"),
        ({"username": "nobody-here"}, "password", "look at the password"),
        ({"db": "nowhere"}, "no such database", "CREATE DATABASE"),
    ],
)
def test_who_is_not_let_in_is_told_why(
    place: Place, tmp_path: Path, change: dict[str, Any], what: str, mend: str
) -> None:
    """A plain error with what to do; a password is in none, nor in what led to it."""
    with pytest.raises(StoreError, match=what) as refused:
        Store.open(tmp_path, url=replace(place, **change).uri)
    assert not isinstance(refused.value, StoreUnavailable)
    assert mend in refused.value.mend
    told, error = "", cast("BaseException | None", refused.value)
    while error is not None:
        told, error = told + repr(error) + str(error), error.__cause__
    assert PASSWORD not in told
    assert "wrong" not in told


def test_a_server_that_is_away_may_come_back(tmp_path: Path) -> None:
    """Unavailable: the service waits; the address is shown, the password is not."""
    with pytest.raises(StoreUnavailable, match=re.escape("postgresql://u@127.0.0.1:1/d")) as refused:
        Store.open(tmp_path, url="postgresql+psycopg://u:s3cret@127.0.0.1:1/d")
    assert "s3cret" not in str(refused.value)
    assert not refused.value.outcome_unknown


def test_a_database_of_another_encoding_is_refused(place: Place, tmp_path: Path) -> None:
    """UTF-8 or nothing: text would come back as something else."""
    execute(place.uri, "DROP DATABASE IF EXISTS ascii", "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0")
    with pytest.raises(StoreError, match="SQL_ASCII"):
        Store.open(tmp_path, url=replace(place, db="ascii").uri)


def test_what_a_transaction_rests_on_is_said(place: Place) -> None:
    """Not taken from the server's configuration."""
    names = (
        "synchronous_commit",
        "default_transaction_isolation",
        "lock_timeout",
        "idle_in_transaction_session_timeout",
        "default_transaction_read_only",
    )
    question = ", ".join(f"current_setting('{name}')" for name in names)
    for make, expected in (
        (open_writer(address_of(place.uri), name="t"), ("on", "read committed", "2s", "5s", "off")),
        (open_reader(address_of(place.uri), name="t", statement_s=1.0), ("on", "repeatable read", "2s", "5s", "on")),
    ):
        with closing(make) as connection:
            assert connection.execute(f"SELECT {question}".encode()).fetchone() == expected


# --------------------------------------------------------------------------- whose tables


def test_another_programs_database_is_refused(url: str, tmp_path: Path) -> None:
    """Our tables are not put between others', and nothing is changed."""
    execute(url, "CREATE TABLE theirs (x int)")
    with pytest.raises(StoreForeign, match="theirs") as refused:
        Store.open(tmp_path, url=url)
    assert "CREATE DATABASE" in refused.value.mend
    with pytest.raises(StoreForeign):
        Peek.open(tmp_path, url=url)


def test_a_marker_of_another_program_is_refused(url: str, tmp_path: Path) -> None:
    """The one row says whose the tables are."""
    with opened(tmp_path, url):
        pass
    execute(url, "UPDATE pysched_store SET application = 7")
    with pytest.raises(StoreForeign, match="says 7"):
        Store.open(tmp_path, url=url)


def test_a_newer_releases_tables_are_refused(url: str, tmp_path: Path) -> None:
    """And left as they are."""
    with opened(tmp_path, url):
        pass
    execute(url, "UPDATE alembic_version SET version_num = '9999'")
    for open_it in (Store.open, Peek.open):
        with pytest.raises(StoreForeign, match="9999"):
            open_it(tmp_path, url=url)
    execute(url, "DELETE FROM alembic_version")
    with pytest.raises(StoreDamaged, match="does not say"):
        Store.open(tmp_path, url=url)


def test_an_empty_database_is_no_first_start_twice(url: str, place: Place, tmp_path: Path) -> None:
    """FC-056: an empty history would make every missed firing look new."""
    with opened(tmp_path, url):
        pass
    with a_schema(place) as empty:
        with pytest.raises(StoreDamaged, match="has had a store before") as refused:
            Store.open(tmp_path, url=empty)
        assert "move `generation`" in refused.value.mend
        (tmp_path / "generation").unlink()
        with opened(tmp_path, empty):
            pass


def test_a_schema_that_is_not_there(place: Place, tmp_path: Path) -> None:
    """Said, not made."""
    with pytest.raises(StoreError, match="no schema") as refused:
        Store.open(tmp_path, url=f"{place.uri}?options=-csearch_path%3Dnowhere")
    assert "CREATE SCHEMA" in refused.value.mend


def test_there_is_nothing_to_look_at_before_the_first_start(url: str, tmp_path: Path) -> None:
    """Looking makes nothing."""
    assert Peek.open(tmp_path, url=url) is None
    assert Peek.open(tmp_path, url=url) is None


# --------------------------------------------------------------------------- making and upgrading


_SHAPE = (
    """SELECT table_name, column_name, data_type, character_maximum_length, collation_name, is_nullable, column_default
    FROM information_schema.columns WHERE table_schema = current_schema()""",
    "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()",
    """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = current_schema()::regnamespace""",
    """SELECT tgrelid::regclass::text, tgname FROM pg_trigger JOIN pg_class ON tgrelid = pg_class.oid
    WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace""",
)


def shape(connection: Connection) -> list[str]:
    """Return every column, index, constraint and trigger of the schema, the schema's own name apart."""
    found = [repr(row) for question in _SHAPE for row in connection.execute(question.encode()).fetchall()]
    return sorted(re.sub(r"s_[0-9a-f]{32}\.", "", row) for row in found)


def test_the_revisions_lead_to_the_tables_that_a_new_store_has(url: str, place: Place, tmp_path: Path) -> None:
    """The same files as for SQLite: an upgraded store and one made today have the same columns, indexes, triggers."""
    with opened(tmp_path / "new", url), closing(open_writer(address_of(url), name="t")) as made:
        expected = [row for row in shape(made) if "pysched_store" not in row]
    with a_schema(place) as old, closing(open_writer(address_of(old), name="t")) as upgraded:
        with revisions_on(upgraded, "postgresql+psycopg://") as run:
            upgraded.execute("BEGIN")
            run()
            upgraded.execute("COMMIT")
        assert shape(upgraded) == expected
        assert len(expected) > 100


def test_two_that_start_at_once_make_one_store(url: str) -> None:
    """The second waits for the first and finds the work done."""
    address = address_of(url)

    def start(_number: int) -> None:
        with closing(open_writer(address, name="t")) as connection:
            migrate.prepare(connection, address.shown, may_make=True)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(start, range(6)))
    with closing(open_writer(address, name="t")) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(schema.REVISION,)]


# --------------------------------------------------------------------------- who decides


def test_one_scheduler_has_it(url: str, tmp_path: Path) -> None:
    """A second is told who, and comes in once the first has closed."""
    with opened(tmp_path / "a", url):
        with pytest.raises(StoreLocked, match=r"another scheduler \(pysched .*, from 127.0.0.1\)"):
            Store.open(tmp_path / "b", url=url)
        with pytest.raises(StoreLocked):
            Store.open(tmp_path / "b", url=url, shared=True)
    with opened(tmp_path / "b", url):
        pass


def test_a_store_that_was_closed_can_be_opened_at_once(url: str, tmp_path: Path) -> None:
    """Closing waits until the server has let go."""
    for _ in range(30):
        with opened(tmp_path, url):
            pass


def test_those_that_agree_by_claims_share_it(url: str, tmp_path: Path) -> None:
    """And keep out one that does not."""
    two = opened(tmp_path / "a", url, shared=True), opened(tmp_path / "b", url, shared=True)
    with two[0], two[1], pytest.raises(StoreLocked):
        Store.open(tmp_path / "c", url=url)


def test_two_schemas_are_two_stores(url: str, place: Place, tmp_path: Path) -> None:
    """The lock is the schema's."""
    with a_schema(place) as other, opened(tmp_path / "a", url), opened(tmp_path / "b", other):
        pass


def test_a_store_made_from_a_dump_is_older(place: Place, tmp_path: Path) -> None:
    """DESIGN 5: what it takes for missed is held, whichever host starts first; the same database is not."""
    for name in ("first", "copy"):
        execute(place.uri, f"DROP DATABASE IF EXISTS {name}")
    execute(place.uri, "CREATE DATABASE first")
    with opened(tmp_path / "a", replace(place, db="first").uri) as store:
        assert [store.raise_generation().older for _ in range(2)] == [False, False]
    execute(place.uri, "CREATE DATABASE copy TEMPLATE first")
    with opened(tmp_path / "b", replace(place, db="copy").uri) as store:
        assert store.raise_generation().older
    execute(place.uri, "DROP DATABASE first", "DROP DATABASE copy")


def test_a_user_without_any_rights_but_its_own_schema_will_do(place: Place, url: str, tmp_path: Path) -> None:
    """Nothing needs a superuser: not the tables, not the locks, not the words to who comes second."""
    name = re.findall("s_[0-9a-f]+", url)[0]
    password = "plain"
    execute(
        url,
        f"CREATE ROLE {name} LOGIN PASSWORD '{password}'",
        f"ALTER SCHEMA {name} OWNER TO {name}",
    )
    plain = url.replace(place.uri, replace(place, username=name, password=password).uri)
    try:
        with opened(tmp_path / "a", plain) as store:
            assert not store.raise_generation().older
            store.apply(Batch(runs=(a_run(),)))
            assert len(store.runs(RunQuery()).items) == 1
            assert store.facts().file_bytes > 0
            store.tidy()
            with pytest.raises(StoreLocked, match=r"pysched .*, from 127\.0\.0\.1"):
                Store.open(tmp_path / "b", url=plain)
            peek = Peek.open(tmp_path, url=plain)
            assert peek is not None
            with peek:
                assert len(peek.open_runs()) == 1
    finally:
        execute(url, f"DROP OWNED BY {name}", f"DROP ROLE {name}", f"CREATE SCHEMA IF NOT EXISTS {name}")


# --------------------------------------------------------------------------- reading


def test_a_read_changes_nothing(url: str, tmp_path: Path) -> None:
    """The server refuses it."""
    with opened(tmp_path, url):
        address = address_of(url)
        reading = closing(open_reader(address, name="t", statement_s=SNAPSHOT_S))
        with reading as reader, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            reader.execute("DELETE FROM runs")


def test_a_read_that_takes_too_long_is_cut_off(url: str, tmp_path: Path) -> None:
    """Tried once more, then an error that says so; the next read is answered."""
    with opened(tmp_path, url) as store:
        slow = compiled(select(func.pg_sleep(60)))
        with pytest.raises(StoreUnavailable, match="longer than it may"):
            store._read(lambda snapshot: snapshot.rows(slow))
        assert store.engine_values() == {}


def test_readers_whose_connections_died_are_replaced(url: str, tmp_path: Path) -> None:
    """Nobody is told of connections that only lay there."""
    with opened(tmp_path, url) as store:
        assert isinstance(store, PostgresStore)
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _number: store.runs(RunQuery()), range(8)))
        execute(
            url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE application_name LIKE 'pysched % {os.getpid()}' AND query LIKE '%ROLLBACK%'",
        )
        assert store.runs(RunQuery()).items == ()


def test_all_of_one_read_is_of_one_instant(url: str, tmp_path: Path) -> None:
    """What is saved between two statements of a read is not seen by the second."""
    with opened(tmp_path, url) as store:
        count = compiled(select(func.count()).select_from(schema.runs))

        def twice(snapshot: object) -> tuple[object, object]:
            before = snapshot.value(count)  # type: ignore[attr-defined]
            store.apply(Batch(runs=(a_run(),)))
            return before, snapshot.value(count)  # type: ignore[attr-defined]

        assert store._read(twice) == (0, 0)
        assert len(store.open_runs()) == 1


# --------------------------------------------------------------------------- what a file has and a server has not


def test_copies_are_the_servers_own_affair(url: str, tmp_path: Path) -> None:
    """Refused, with the words to use."""
    with opened(tmp_path, url) as store:
        with pytest.raises(StoreError, match="pg_dump"):
            store.backup(tmp_path / "copy")
        peek = Peek.open(tmp_path, url=url)
        assert peek is not None
        with peek, pytest.raises(StoreError, match="pg_dump"):
            peek.backup(tmp_path / "copy")
        assert not (tmp_path / "copy").exists()


def test_facts_name_server_and_driver(url: str, tmp_path: Path) -> None:
    """What `pysched doctor` and a bug report need."""
    with opened(tmp_path, url) as store:
        facts = store.facts()
        store.tidy()
    assert facts.driver.startswith("psycopg 3")
    assert facts.sqlite_version.startswith("PostgreSQL 1")
    assert facts.revision == schema.REVISION
    assert facts.file_bytes > 0


def test_a_closed_store_says_so(url: str, tmp_path: Path) -> None:
    """Closing twice is harmless."""
    with opened(tmp_path, url) as store:
        pass
    for call in (lambda: store.apply(Batch()), store.engine_values, store.tidy, store.facts):
        with pytest.raises(StoreUnavailable, match="closed"):
            call()
