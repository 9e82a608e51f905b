"""What differs between the backends, row by row of pipeline.md 13."""

from __future__ import annotations

import importlib.util
import json
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import mongoengine
import pytest
from bson.binary import UuidRepresentation
from pymongo.errors import DuplicateKeyError, InvalidOperation, ServerSelectionTimeoutError
from pysqlite3 import dbapi2
from sqlalchemy import event, inspect, text
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError

from pypepper.common.config import config
from pypepper.scheduler.store import (
    IJobStore,
    InMemoryJobStore,
    JobRecord,
    configure_job_store,
    engines,
    guarded_job_store,
    setup_from_config,
    tables,
)
from pypepper.scheduler.store import mongodb as mongodb_module
from pypepper.scheduler.store.mongodb import DEFAULT_ALIAS, MongoJobStore, SchedulerJobDoc
from pypepper.scheduler.store.sql import TABLE_NAME, SqlJobStore, scheduler_jobs
from tests.contract.pypepper.store_kit import ALL, SERVERS, SQL, OpenStore, my_place, record, settings_for
from tests.servers.fixtures import GetPlace
from tests.servers.kinds import free_port

OLD_TABLE = """CREATE TABLE scheduler_jobs (
    id VARCHAR(36) PRIMARY KEY, category VARCHAR(255), channel_id VARCHAR(255) NOT NULL, status VARCHAR(64) NOT NULL,
    created VARCHAR(64) NOT NULL, updated VARCHAR(64) NOT NULL, workflow_count INT NOT NULL, version INT NOT NULL)"""
OLD_INDEX = "CREATE INDEX idx_scheduler_jobs_channel_id ON scheduler_jobs (channel_id)"
OLD_ROW = "INSERT INTO scheduler_jobs VALUES ('old', NULL, 'c', 'Scheduled', 'b', 'b', 0, 0)"


@pytest.mark.parametrize("kind", ALL)
def test_class(kind: str, open_store: OpenStore) -> None:
    """pipeline.md 13 row Class; a store of SQL says which backend it was asked to be."""
    classes = {"memory": InMemoryJobStore, "mongodb": MongoJobStore}
    store = open_store(kind)
    assert vars(store).get("backend") == (kind if kind in SQL else None)
    assert type(store) is classes.get(kind, SqlJobStore)


@pytest.mark.parametrize("kind", SERVERS)
def test_uri(kind: str, server_place: GetPlace, reset_store: None) -> None:
    """pipeline.md 13 row uri: an address whose password needs quoting opens the store; seed 001's program."""
    place = my_place(server_place(kind))
    store = configure_job_store(kind, uri=place.uri)
    store.clear()
    assert store.put(record())
    store.close()
    again = configure_job_store(kind, uri=place.uri, host="nobody.invalid", password="")
    assert again.get("a") == record()
    again.close()


@pytest.mark.parametrize("name", ["username", "user"])
@pytest.mark.parametrize("kind", SERVERS)
def test_discrete_settings(kind: str, name: str, server_place: GetPlace, reset_store: None) -> None:
    """pipeline.md 13 row Discrete settings: space, @, /, %, + in a password need no quoting; `user` is `username`."""
    settings = my_place(server_place(kind)).discrete()
    settings[name] = settings.pop("username")
    store = configure_job_store(kind, **settings)
    store.clear()
    assert store.put(record())
    store.close()


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_first_contact_of_sql_is_when_configured(kind: str) -> None:
    """pipeline.md 13 row First contact: a server that is not there is heard of at once."""
    with pytest.raises(OperationalError):
        SqlJobStore(kind, host="127.0.0.1", port=free_port(), user="u", password="p", db="d")


def test_first_contact_of_mongodb_is_the_first_operation() -> None:
    """pipeline.md 13 row First contact: nothing is asked of MongoDB before it is needed."""
    store = MongoJobStore(uri=f"mongodb://127.0.0.1:{free_port()}/d?serverSelectionTimeoutMS=50", alias="nobody-there")
    with pytest.raises(ServerSelectionTimeoutError):
        store.get("a")
    store.close()


def told_to(store: SqlJobStore, call: Callable[[], object]) -> list[str]:
    """Make a call and return the first words of the statements that it made."""
    statements: list[str] = []

    def hear(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        statements.append(statement.split("\n")[0].split(" (")[0])

    event.listen(store.engine, "before_cursor_execute", hear)
    call()
    event.remove(store.engine, "before_cursor_execute", hear)
    return statements


def test_sqlite_puts_one_record_in_one_statement_and_several_in_one_transaction(tmp_path: Path) -> None:
    """One sync for one record, and one for all that waited together; in memory, shared by threads, none is opened."""
    one, put = record(), "INSERT INTO scheduler_jobs"
    store, shared = SqlJobStore("sqlite", db=str(tmp_path / "jobs.db")), SqlJobStore("sqlite", uri="sqlite://")
    assert told_to(store, lambda: store._write([one])) == [put]
    assert told_to(store, lambda: store._write([one, record("b")])) == ["BEGIN IMMEDIATE", put, put, "COMMIT"]
    assert told_to(shared, lambda: shared._write([one, record("b")])) == [put, put]
    store.close()
    shared.engine.dispose()


def test_a_group_on_sqlite_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trouble with the file is the whole group's, none of it is kept, and the next put finds a clean connection."""
    store = SqlJobStore("sqlite", db=str(tmp_path / "jobs.db"))
    with monkeypatch.context() as patched:
        answers = iter([True, OperationalError("INSERT", {}, Exception("disk I/O error"))])

        def answer(connection: Any, given: JobRecord, honest: Any = store._answer) -> Any:
            honest(connection, given)
            said = next(answers)
            if isinstance(said, Exception):
                raise said
            return said

        patched.setattr(store, "_answer", answer)
        with pytest.raises(OperationalError, match="disk"):
            store._write([record("a"), record("b")])
    assert store.list() == []
    assert store._write([record("a"), record("b")]) == [True, True]
    store.close()


def test_only_a_broken_connection_is_asked_twice() -> None:
    """What a database refuses it would refuse again: the question is put once, and the error is the caller's."""
    store = SqlJobStore("sqlite", uri="sqlite://")

    def ask_nonsense() -> None:
        with pytest.raises(OperationalError, match="no such table"):
            store._ask(lambda connection: connection.exec_driver_sql("SELECT 1 FROM nowhere"))

    assert told_to(store, ask_nonsense) == ["SELECT 1 FROM nowhere"]
    store.engine.dispose()


def test_a_bad_record_in_a_group_on_sqlite_is_its_own_trouble(tmp_path: Path) -> None:
    """What the table or JSON refuses is the answer for that record; the others are kept."""
    store = SqlJobStore("sqlite", db=str(tmp_path / "jobs.db"))
    good, null, odd, again = store._write(
        [record("a"), record("b", channel_id=None), record("c", results=[object()]), record("a", version=9)]
    )
    assert (good, again) == (True, False)
    assert isinstance(null, IntegrityError)
    assert isinstance(odd, Exception)
    assert [found.id for found in store.list()] == ["a"]
    store.close()


def test_a_sqlite_uri_works_under_another_name(tmp_path: Path) -> None:
    """pipeline.md 13: `uri` is not checked against the backend name."""
    store = SqlJobStore("postgres", uri=f"sqlite:///{tmp_path / 'jobs.db'}")
    assert store.put(record())
    store.close()
    assert SqlJobStore("sqlite", db=str(tmp_path / "jobs.db")).get("a") == record()


@pytest.mark.parametrize("uri", ["sqlite://", "sqlite:///:memory:"])
def test_sqlite_in_memory_is_one_place_for_all_threads(uri: str) -> None:
    """A store in memory is shared by the threads of the process, and by nobody else."""
    store = SqlJobStore("sqlite", uri=uri)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda number: store.put(record(str(number))), range(50))) == [True] * 50
    assert len(store.list()) == 50
    store.engine.dispose()


def test_sqlite_makes_its_folder_and_has_a_name_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a server and without settings, jobs are kept in one file of the present folder, on disk."""
    monkeypatch.chdir(tmp_path)
    store = SqlJobStore("sqlite")
    store.put(record())
    store.close()
    assert (tmp_path / "scheduler_jobs.db").exists()
    deep = SqlJobStore("sqlite", db="not/yet/there.db")
    assert deep.put(record())
    deep.close()


def test_a_sqlite_uri_of_sqlites_own_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`file:` addresses name a file in SQLite's own way; no folder is made after their letters."""
    monkeypatch.chdir(tmp_path)
    store = SqlJobStore("sqlite", uri=f"sqlite:///file:{tmp_path / 'jobs.db'}?uri=true")
    assert store.put(record())
    store.close()
    assert {path.name for path in tmp_path.iterdir()} == {"jobs.db"}


def test_sqlite_of_the_standard_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no newer SQLite is installed, one whose write-ahead log is not safe keeps a rollback journal instead."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr(engines, "SAFE_WAL", (99, 0, 0))
    store = SqlJobStore("sqlite", db=str(tmp_path / "jobs.db"))
    assert store.put(record())
    assert store.put(record(status="InProgress"))
    assert store.get("a") == record(status="InProgress", version=2)
    with store.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "delete"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3
    assert vars(store.engine.dialect)["dbapi"].__name__ == "sqlite3.dbapi2"
    store.close()


def test_sqlite_keeps_a_synced_log(open_store: OpenStore) -> None:
    """A safe SQLite writes ahead, syncs each commit, and waits for other writers for half a minute."""
    with _engine(open_store("sqlite")).connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 30_000


@pytest.mark.parametrize("hold", ["EXCLUSIVE", "IMMEDIATE"])
def test_sqlite_waits_for_a_busy_file_when_it_is_made(hold: str, tmp_path: Path) -> None:
    """Another program that holds the file for a moment does not keep a store from coming up."""
    file = tmp_path / "jobs.db"
    other = dbapi2.connect(str(file), isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE theirs (x)")
    other.execute(f"BEGIN {hold}")
    with ThreadPoolExecutor(1) as threads:
        made = threads.submit(SqlJobStore, "sqlite", db=str(file))
        assert not wait([made], timeout=0.2).done
        other.execute("COMMIT")
        store = made.result(30)
    other.close()
    assert store.put(record())
    store.close()


def test_sqlite_says_at_once_that_a_file_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a file that others hold is waited for: a folder in its place will not become one."""
    naps: list[float] = []
    monkeypatch.setattr(time, "sleep", naps.append)
    with pytest.raises(OperationalError, match="unable to open"):
        SqlJobStore("sqlite", db=str(tmp_path))
    assert naps == []


@pytest.mark.parametrize("hold", ["EXCLUSIVE", "IMMEDIATE"])
def test_sqlite_gives_up_on_a_file_that_stays_busy(hold: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every wait has a bound, and none keeps a processor busy: where SQLite refuses at once, there is a nap."""
    monkeypatch.setattr(engines, "BUSY_S", 1.0)  # so long that one nap at least is taken on a busy machine
    naps, sleep = list[float](), time.sleep

    def nap(seconds: float) -> None:
        naps.append(seconds)
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", nap)
    file = tmp_path / "jobs.db"
    other = dbapi2.connect(str(file), isolation_level=None)
    other.execute("CREATE TABLE theirs (x)")
    other.execute(f"BEGIN {hold}")
    with pytest.raises(OperationalError, match="locked"):
        SqlJobStore("sqlite", db=str(file))
    other.close()
    assert set(naps) == (set() if hold == "EXCLUSIVE" else {0.01})


def test_a_put_on_mysql_is_one_trip(open_store: OpenStore) -> None:
    """Each statement is a transaction of its own: giving the connection back asks the server for nothing more."""
    store = open_store("mysql")
    assert store.put(record())
    assert store.put(record(status="InProgress"))
    assert store.get("a") == record(status="InProgress", version=2)
    with _engine(store).connect() as connection:
        status = connection.exec_driver_sql("SHOW SESSION STATUS")
        counted = {name: int(count) for name, count in status if name in {"Com_update", "Com_rollback", "Com_commit"}}
    assert counted == {"Com_update": 2, "Com_rollback": 0, "Com_commit": 0}


@pytest.mark.parametrize("kind", SQL)
def test_columns(kind: str, open_store: OpenStore) -> None:
    """pipeline.md 13: the table's name, its columns, its key and what may be null; `results` and `error` are ours."""
    inspector = inspect(_engine(open_store(kind)))
    nullable = {column["name"]: column["nullable"] for column in inspector.get_columns(TABLE_NAME)}
    assert nullable == dict.fromkeys(
        ["id", "channel_id", "status", "created", "updated", "workflow_count", "version"], False
    ) | dict.fromkeys(["category", "payload", "results", "error"], True)
    lengths = {column["name"]: getattr(column["type"], "length", None) for column in inspector.get_columns(TABLE_NAME)}
    assert [lengths[name] for name in ("id", "category", "channel_id")] == [36, 255, 255]
    assert [lengths[name] for name in ("status", "created", "updated")] == [64, 64, 64]
    assert inspector.get_pk_constraint(TABLE_NAME)["constrained_columns"] == ["id"]
    assert inspector.get_indexes(TABLE_NAME) == []
    assert scheduler_jobs.name == TABLE_NAME == "scheduler_jobs"


@pytest.fixture(params=SQL)
def old(request: pytest.FixtureRequest, open_store: OpenStore) -> Iterator[tuple[str, Callable[[], None]]]:
    """Give a kind of store, and what puts the table of an older release in place of its own; leave none behind."""
    kind: str = request.param
    engine = _engine(open_store(kind))

    def do(*statements: str) -> None:
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    yield kind, lambda: do("DROP TABLE scheduler_jobs", OLD_TABLE, OLD_INDEX, OLD_ROW)
    do("DROP TABLE scheduler_jobs")


def test_an_older_table_gets_its_columns(old: tuple[str, Callable[[], None]], open_store: OpenStore) -> None:
    """pipeline.md 13: a table without `payload` gets it; its rows and an index made by hand stay; version 0 reads 1."""
    kind, put_in_place = old
    put_in_place()
    store = open_store(kind)
    assert store.get("old") == record("old", created="b", updated="b", category=None, channel_id="c", workflow_count=0)
    assert store.put(record("new", payload={"k": 1}, results=[2], error="e"))
    assert store.get("new") == record("new", payload={"k": 1}, results=[2], error="e")
    indexes = inspect(_engine(store)).get_indexes(TABLE_NAME)
    assert [index["name"] for index in indexes] == ["idx_scheduler_jobs_channel_id"]


def test_several_may_bring_an_older_table_up_to_date(
    old: tuple[str, Callable[[], None]], open_store: OpenStore
) -> None:
    """Stores that come up at the same instant add each column once."""
    kind, put_in_place = old
    for _ in range(3):
        put_in_place()
        with ThreadPoolExecutor(4) as threads:
            stores = list(threads.map(lambda _number: open_store(kind), range(4)))
        assert [store.list()[0].id for store in stores] == ["old"] * 4


@pytest.mark.parametrize("kind", SQL)
def test_a_change_of_the_table_that_fails_is_raised(kind: str, open_store: OpenStore) -> None:
    """Only "another process was quicker" is passed over."""
    engine = _engine(open_store(kind))
    with pytest.raises(DBAPIError):
        tables._do(engine, text("ALTER TABLE no_such_table ADD COLUMN x INT"), lambda: False)


@pytest.mark.parametrize("kind", ["sqlite", *SERVERS])
def test_a_stored_version_of_0_reads_back_as_1(kind: str, open_store: OpenStore) -> None:
    """pipeline.md 13: rows of the first releases."""
    store = open_store(kind)
    store.put(record(version=0))
    assert store.get("a") == record(version=1)
    assert store.list() == [record(version=1)]


def test_memory_keeps_the_given_object() -> None:
    """pipeline.md 13: the payload dict is shared, the version is as given, and the order is that of first inserts."""
    store, payload = InMemoryJobStore(), {"workflows": [1]}
    given = record("z", version=0, payload=payload)
    store.put(given)
    store.put(record("b"))
    store.put(replace(given, status="InProgress"))
    found = store.get("z")
    assert found is not None
    assert found.payload is payload
    assert [one.id for one in store.list()] == ["z", "b"]


@pytest.mark.parametrize("kind", ALL)
def test_an_empty_payload(kind: str, open_store: OpenStore) -> None:
    """pipeline.md 13: an empty payload reads back as None from MongoDB and as itself from the others."""
    store = open_store(kind)
    store.put(record(payload={}))
    found = store.get("a")
    assert found is not None
    assert found.payload == (None if kind == "mongodb" else {})


@pytest.mark.parametrize("kind", SQL)
def test_what_must_not_be_null_looks_like_a_skip(
    kind: str, open_store: OpenStore, caplog: pytest.LogCaptureFixture
) -> None:
    """pipeline.md 13: a not-null violation is False and changes nothing; here an error line says so."""
    store = open_store(kind)
    broken = record(channel_id=None)
    with caplog.at_level(logging.ERROR):
        assert store.put(broken) is False
        assert store.get("a") is None
        store.put(record())
        assert store.put(broken) is False
    assert store.get("a") == record()
    assert len(caplog.records) == 2
    assert all("breaks a rule" in line.message for line in caplog.records)


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_too_long_values_raise(kind: str, open_store: OpenStore) -> None:
    """pipeline.md 13: a text longer than its column is refused, never cut."""
    store = open_store(kind)
    for too_long in (record("x" * 37), record(category="x" * 256), record(status="x" * 65)):
        with pytest.raises(DataError):
            store.put(too_long)
    assert store.list() == []


@pytest.mark.parametrize("kind", SQL)
def test_what_json_cannot_say_raises(kind: str, open_store: OpenStore) -> None:
    """A result that is no JSON is trouble of the caller, said before anything is written."""
    store = open_store(kind)
    with pytest.raises(TypeError):
        store.put(record(results=[object()]))
    assert store.list() == []


def test_settings_of_other_backends_are_passed_over() -> None:
    """pipeline.md 14.1: a section may hold keys that MongoDB has no use for."""
    store = MongoJobStore(host="h", username="u", password="p", db="d", sslmode="x", charset="y", alias="other-keys")
    assert vars(store)["_uri"] == "mongodb://u:p@h:27017/d?authSource=admin"
    store.close()


def test_a_second_store_of_an_alias_disconnects_the_first(server_place: GetPlace, tmp_path: Path) -> None:
    """pipeline.md 13: one alias, one connection; another alias disturbs nobody; `uuid_representation` is accepted."""
    settings = settings_for("mongodb", server_place, tmp_path)
    first = MongoJobStore(**settings)
    first.clear()
    assert first.put(record())
    second = MongoJobStore(**settings)
    assert second.get("a") == record()
    assert first.alias == DEFAULT_ALIAS == "pypepper_scheduler_jobs"
    with pytest.raises(InvalidOperation):
        first.get("a")
    other = MongoJobStore(**settings, alias="another", uuid_representation="pythonLegacy")
    assert second.get("a") == other.get("a") == record()
    second.close()
    assert other.get("a") == record()
    other.close()


def test_an_error_of_disconnecting_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 13: only "no such connection" is passed over."""

    def no_such(_alias: str) -> None:
        raise mongoengine.ConnectionFailure("no such connection")

    def trouble(_alias: str) -> None:
        raise OSError("the network is on fire")

    with monkeypatch.context() as patched:
        patched.setattr(mongodb_module, "disconnect", no_such)
        MongoJobStore(uri="mongodb://127.0.0.1:1/d", alias="nobody")
        patched.setattr(mongodb_module, "disconnect", trouble)
        with pytest.raises(OSError, match="on fire"):
            MongoJobStore(uri="mongodb://127.0.0.1:1/d", alias="nobody")
    mongoengine.disconnect("nobody")


class _Vanishing:
    """A collection whose insert always finds the id taken by somebody who then goes."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def insert_one(self, _document: Any) -> None:
        raise DuplicateKeyError("taken a moment ago")


def test_a_row_that_goes_in_the_middle_of_a_put(open_store: OpenStore) -> None:
    """pipeline.md 13 and 18: row gone after the duplicate key, RuntimeError; still there and unfit, False."""
    store = cast("MongoJobStore", open_store("mongodb"))
    store.put(record("b", "Completed"))
    real = store._collection
    store._collection = cast("Any", _Vanishing(real))
    with pytest.raises(RuntimeError, match="missing after DuplicateKeyError"):
        store.put(record("a"))
    assert store.put(record("b")) is False
    store._collection = real


def test_the_document_reads_what_the_store_wrote(open_store: OpenStore) -> None:
    """SchedulerJobDoc is for programs that query the collection `scheduler_jobs` with mongoengine."""
    store = open_store("mongodb")
    store.put(record(payload={"workflows": [1]}))
    found = SchedulerJobDoc.objects(channel_id="demo-channel").first()
    assert (found.id, found.status, found.payload) == ("a", "Scheduled", {"workflows": [1]})
    assert SchedulerJobDoc._get_collection_name() == "scheduler_jobs"


def test_the_store_reads_what_the_document_wrote(open_store: OpenStore) -> None:
    """A document that a program saves is a job: what it does not say is null, one workflow short, of version 1."""
    store = open_store("mongodb")
    SchedulerJobDoc(id="d", channel_id="c", status="Scheduled", created="b", updated="u").save()
    assert store.get("d") == JobRecord("d", None, "c", "Scheduled", "b", "u", workflow_count=0, version=1)
    found = cast("MongoJobStore", store)._collection
    assert found is not None
    nothing = dict.fromkeys(["category", "payload", "results", "error"])
    assert found.find_one({"_id": "d"}) == {
        "_id": "d", "channel_id": "c", "status": "Scheduled", "created": "b", "updated": "u", "workflow_count": 0,
        "version": 1, **nothing,
    }  # fmt: skip
    assert list(found.index_information()) == ["_id_"]


@pytest.mark.parametrize("name", ["channel_id", "status", "created", "updated"])
def test_a_document_says_what_a_job_must_have(name: str) -> None:
    """pipeline.md 12.1: the fields without a default; a document that lacks one is not saved."""
    said = {"id": "d", "channel_id": "c", "status": "Scheduled", "created": "b", "updated": "u"}
    SchedulerJobDoc(**said).validate()
    with pytest.raises(mongoengine.ValidationError, match=name):
        SchedulerJobDoc(**{key: value for key, value in said.items() if key != name}).validate()


def test_a_document_of_a_newer_release_is_read(open_store: OpenStore) -> None:
    """A field that this release does not know stands in nobody's way, neither the document's nor the store's."""
    store = cast("MongoJobStore", open_store("mongodb"))
    store.put(record())
    assert store._collection is not None
    store._collection.update_one({"_id": "a"}, {"$set": {"mood": "bright"}})
    assert SchedulerJobDoc.objects(id="a").first().status == "Scheduled"
    assert store.get("a") == record()


MONGO_SAYS = {
    "serverSelectionTimeoutMS": "server_selection_timeout",
    "connectTimeoutMS": "connect_timeout",
    "socketTimeoutMS": "socket_timeout",
}


@pytest.mark.parametrize("said", [None, *MONGO_SAYS, "SOCKETTIMEOUTMS"])
def test_every_wait_of_mongodb_has_a_bound(said: str | None) -> None:
    """Ten seconds to find and to reach it, thirty for an answer; an address that says otherwise is obeyed."""
    store = MongoJobStore(uri=f"mongodb://127.0.0.1:1/d{f'?{said}=7000' if said else ''}", alias="bounds")
    assert store._collection is not None
    client = store._collection.database.client
    pool = client.options.pool_options
    seconds = {
        "server_selection_timeout": client.options.server_selection_timeout,
        "connect_timeout": pool.connect_timeout,
        "socket_timeout": pool.socket_timeout,
    }
    expected = {"server_selection_timeout": 10, "connect_timeout": 10, "socket_timeout": 30}
    for name, option in MONGO_SAYS.items():
        if said and name.lower() == said.lower():
            expected[option] = 7
    assert seconds == expected
    store.close()


@pytest.mark.parametrize(("said", "journal"), [("", True), ("?journal=false", False)])
def test_mongodb_answers_when_the_write_is_in_the_journal(said: str, journal: bool) -> None:
    """What was told True is on disk, unless the address says otherwise; ids are written as the standard has it."""
    store = MongoJobStore(uri=f"mongodb://127.0.0.1:1/d{said}", alias="bounds", uuid_representation="javaLegacy")
    assert store._collection is not None
    assert store._collection.write_concern.document == {"j": journal}
    assert store._collection.codec_options.uuid_representation == UuidRepresentation.STANDARD
    assert store._collection.full_name == "d.scheduler_jobs"
    store.close()


def test_closing_mongodb_ends_its_client(open_store: OpenStore) -> None:
    """Closing gives the connections back; doing it twice, or before anything was asked, is fine."""
    store = cast("MongoJobStore", open_store("mongodb"))
    assert store.get("a") is None
    assert store._collection is not None
    client = store._collection.database.client
    store.close()
    store.close()
    with pytest.raises(InvalidOperation):
        client.admin.command("ping")


@pytest.mark.parametrize("kind", SQL)
def test_closing_sql_ends_its_connections(kind: str, open_store: OpenStore) -> None:
    """Closing gives the connections back."""
    store, closed = open_store(kind), list[object]()
    event.listen(_engine(store), "close", lambda connection, _entry: closed.append(connection))
    assert store.get("a") is None
    assert closed == []
    store.close()
    assert len(closed) == 1


def _engine(store: IJobStore) -> Any:
    return cast("SqlJobStore", store).engine


@pytest.mark.parametrize("kind", SERVERS)
def test_a_settings_file_names_the_store(kind: str, server_place: GetPlace, reset_store: None, tmp_path: Path) -> None:
    """Seed 001: `config.load_config`, `setup_from_config`, and jobs are on the server; the password is in quotes."""
    settings = my_place(server_place(kind)).discrete()
    settings["user"] = settings.pop("username")
    file = tmp_path / "app.config.yaml"
    file.write_text(json.dumps({"scheduler": {"jobStore": {"backend": kind, **settings}}}))
    config.load_config(file)
    with pytest.raises(ValueError, match=kind):
        guarded_job_store()
    setup_from_config(config.get_yml_config())
    store = guarded_job_store()
    store.clear()
    assert store.put(record())
    assert store.get("a") == record()
    store.close()
    file.write_text("{serviceInfo: {serviceName: nobody}}")
    config.load_config(file)
