"""Servers die, lines are cut, writers are killed: what was told True is there, once. Field case FC-090."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest
from pymongo.errors import PyMongoError
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, OperationalError

from pypepper.scheduler.store import IJobStore
from pypepper.scheduler.store.sql import SqlJobStore
from tests.contract.pypepper.store_kit import LATER, SERVERS, my_place, opened, record
from tests.servers.fixtures import GetPlace, GetServer
from tests.servers.wire import Wire

ROOT = Path(__file__).resolve().parents[4]
DOWN = (DBAPIError, PyMongoError)
CUT_AT = "the-line-goes-dead-here"

Cut = Callable[[str], tuple[IJobStore, Wire]]


@pytest.fixture
def cut(server_place: GetPlace) -> Iterator[Cut]:
    """Give a store behind a wire, with one row in it."""
    made: list[tuple[IJobStore, Wire]] = []

    def get(kind: str) -> tuple[IJobStore, Wire]:
        place = my_place(server_place(kind))
        wire = Wire(place.port)
        more = {"uri": f"{replace(place, port=wire.port).uri}&retryWrites=false"} if kind == "mongodb" else {}
        store = opened(kind, more or replace(place, port=wire.port).discrete())
        made.append((store, wire))
        store.clear()
        store.put(record())
        return store, wire

    yield get
    for store, wire in made:
        store.close()
        wire.close()


@pytest.mark.parametrize("kind", SERVERS)
def test_an_update_whose_answer_was_lost_is_told_true(kind: str, cut: Cut) -> None:
    """FC-090, H10: the update landed, its answer did not arrive; the store finds out, and it is in the row once."""
    store, wire = cut(kind)
    wire.cut_at = CUT_AT.encode()
    assert store.put(record(status="InProgress", category=CUT_AT, updated=LATER)) is True
    assert wire.was_cut.is_set()
    assert store.get("a") == record(status="InProgress", category=CUT_AT, updated=LATER, version=2)


@pytest.mark.parametrize("kind", SERVERS)
def test_an_insert_whose_answer_was_lost_is_told_true(kind: str, cut: Cut) -> None:
    """FC-090: the same for a first insert: a repeat of it is a legal update."""
    store, wire = cut(kind)
    wire.cut_at = CUT_AT.encode()
    assert store.put(record("new", category=CUT_AT)) is True
    assert wire.was_cut.is_set()
    durable = store.get("new")
    assert durable is not None
    assert durable in (record("new", category=CUT_AT), record("new", category=CUT_AT, version=2))


@pytest.mark.parametrize("kind", SERVERS)
def test_reads_and_deletes_are_made_again(kind: str, cut: Cut) -> None:
    """A line that breaks under a read or a delete costs nobody anything."""
    store, wire = cut(kind)
    wire.cut_at = CUT_AT.encode()
    assert store.get(CUT_AT) is None
    assert wire.was_cut.is_set()
    wire.was_cut.clear()
    wire.cut_at = CUT_AT.encode()
    assert store.list(CUT_AT) == []
    assert wire.was_cut.wait(10)
    wire.was_cut.clear()
    wire.cut_at = CUT_AT.encode()
    store.delete(CUT_AT)
    assert wire.was_cut.wait(10)
    assert store.get("a") == record()


def until(fact: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for a fact."""
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Writer(Thread):
    """Updates one row again and again, and remembers the last version that it was told is there."""

    def __init__(self, store: IJobStore, job: str) -> None:
        super().__init__(daemon=True)
        self.store, self.job = store, job
        self.told = 0
        self.failed = 0
        self.stopping = False

    def run(self) -> None:
        while not self.stopping:
            try:
                current = self.store.get(self.job) or record(self.job, version=0)
                if self.store.put(replace(current, updated=f"{current.version}")):
                    self.told = current.version + 1
            except DOWN:
                self.failed += 1


@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_killed_and_started_again_under_writers(kind: str, own_server: GetServer) -> None:
    """kill -9 of the server in the middle: puts raise while it is away and work again with the same store; every True
    stands, and no row is further than the one put that nobody was told of."""
    server = own_server(kind)
    settings: dict[str, Any] = server.place.discrete()
    if kind == "mongodb":
        settings = {"uri": f"{server.place.uri}&serverSelectionTimeoutMS=1500"}
    store = opened(kind, settings)
    for number in range(3):
        store.put(record(f"job-{number}"))
    writers = [Writer(store, f"job-{number}") for number in range(3)]
    for writer in writers:
        writer.start()
    for _ in range(2):
        before = [writer.told for writer in writers]
        until(lambda: all(writer.told > told + 5 for writer, told in zip(writers, before, strict=True)))  # noqa: B023
        server.kill()
        failed = [writer.failed for writer in writers]
        until(lambda: all(writer.failed > count for writer, count in zip(writers, failed, strict=True)))  # noqa: B023
        server.start()
    before = [writer.told for writer in writers]
    until(lambda: all(writer.told > told + 5 for writer, told in zip(writers, before, strict=True)))
    for writer in writers:
        writer.stopping = True
    for writer in writers:
        writer.join(60)
        assert not writer.is_alive()
        durable = store.get(writer.job)
        assert durable is not None
        assert durable.version == writer.told
    store.close()


@pytest.mark.parametrize("kind", SERVERS)
def test_while_the_server_is_away_everything_raises(kind: str, own_server: GetServer) -> None:
    """pipeline.md 12.2 put: trouble raises, it is never a silent False; and afterwards the store is as it was."""
    server = own_server(kind)
    place = server.place
    store = opened(
        kind, {"uri": f"{place.uri}&serverSelectionTimeoutMS=1000"} if kind == "mongodb" else place.discrete()
    )
    store.put(record())
    server.kill()
    calls: list[Callable[[], object]] = [
        lambda: store.put(record()),
        lambda: store.get("a"),
        store.list,
        lambda: store.delete("a"),
        store.clear,
    ]
    for call in calls:
        with pytest.raises(DOWN):
            call()
    server.start()
    if kind == "mongodb":
        until(lambda: answers(store))
    assert store.get("a") == record()
    store.close()


def answers(store: IJobStore) -> bool:
    """Whether an impatient driver has noticed that its server is back."""
    try:
        store.list()
    except DOWN:
        return False
    return True


def test_a_killed_server_leaves_nobody_who_answers(own_server: GetServer) -> None:
    """The tests above mean a machine's crash: PostgreSQL's child is ended with its parent, frozen as it is here."""
    server = own_server("postgres")
    with psycopg.connect(server.place.uri.replace("+psycopg", "")) as client:
        child = client.info.backend_pid
        os.kill(child, signal.SIGSTOP)
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
    assert not Path(f"/proc/{child}/exe").exists()


@pytest.mark.parametrize("round_", range(2))
def test_sqlite_writers_killed_in_the_middle(round_: int, tmp_path: Path) -> None:
    """SIGKILL of two of three writers: the file is whole, and every put that a writer was told of is in it."""
    settings = {"db": str(tmp_path / "jobs.db")}
    store = opened("sqlite", settings)
    env = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "tests.faults.pypepper.store.teller", json.dumps(settings)]
    tellers = [
        subprocess.Popen([*command, str(number)], cwd=ROOT, stdout=subprocess.PIPE, env=env) for number in range(3)
    ]
    told: list[list[str]] = [[], [], []]

    def listen(number: int) -> None:
        out = tellers[number].stdout
        assert out is not None
        told[number].extend(line.decode().strip() for line in out if line.endswith(b"\n"))

    listeners = [Thread(target=listen, args=(number,), daemon=True) for number in range(3)]
    for listener in listeners:
        listener.start()
    for number in range(2):
        until(lambda: len(told[number]) > 20 * (round_ + 1))  # noqa: B023
        tellers[number].send_signal(signal.SIGKILL)
        tellers[number].wait(30)
    survivor = len(told[2])
    until(lambda: len(told[2]) > survivor + 20)
    tellers[2].send_signal(signal.SIGKILL)
    tellers[2].wait(30)
    for listener in listeners:
        listener.join(30)
    for teller in tellers:
        assert teller.stdout is not None
        teller.stdout.close()
    there = {found.id for found in store.list()}
    assert {job for lines in told for job in lines} <= there
    assert len(there) <= sum(map(len, told)) + 3
    store.close()


def test_a_full_disk_under_sqlite_writers(tmp_path: Path) -> None:
    """A file that may not grow: puts raise, alone or in company; what was told True is there; room helps."""
    store = opened("sqlite", {"db": str(tmp_path / "jobs.db")})
    assert isinstance(store, SqlJobStore)
    store.close()
    pages = 12

    def bound(connection: Any, _entry: Any) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    event.listen(store.engine, "connect", bound)

    def put_until_full(thread: int) -> list[str]:
        told: list[str] = []

        def go_on() -> None:
            for turn in range(100):
                assert store.put(record(f"{thread}-{turn}", error="x" * 500))
                told.append(f"{thread}-{turn}")

        with pytest.raises(OperationalError, match="full"):
            go_on()
        return told

    with ThreadPoolExecutor(8) as threads:
        told = {job for jobs in threads.map(put_until_full, range(8)) for job in jobs}
    assert {found.id for found in store.list()} == told
    store.close()
    pages = 1000
    assert store.put(record("after"))
    store.close()
