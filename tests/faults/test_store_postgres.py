"""A store on a server that is killed, cut off or in somebody's way: nothing acknowledged is lost, none half there.

A COMMIT whose answer never came is *unknown*: opening the store again and reading it back settles it, because the lock
is only had again when the old session has ended. Spec: claims.md A10, field case FC-090.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from pyscheduler.errors import StoreLocked, StoreUnavailable
from pyscheduler.store import Batch, Store
from pyscheduler.store.catalogue import ENGINE_VALUES
from pyscheduler.store.hints import Hint
from pyscheduler.store.postgres import transaction
from pyscheduler.store.postgres.connect import Connection, address_of
from pyscheduler.store.postgres.listener import notify
from pyscheduler.store.postgres.store import PostgresStore
from pyscheduler.store.statements import PUT_ENGINE
from pyscheduler.store.transaction import Transaction
from tests.contract.store_kit import a_run, a_schema
from tests.faults.cluster.proxy import Proxy, network
from tests.servers.fixtures import GetPlace, GetServer

WAIT_S = 30.0


def until(fact: Callable[[], bool]) -> None:
    """Wait for a fact."""
    deadline = time.monotonic() + WAIT_S
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def opened_again(state_dir: Path, url: str) -> Store:
    """Open the store as the service does: for as long as the server is away or the old session not ended."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            return Store.open(state_dir, url=url, wait_s=5.0)
        except (StoreUnavailable, StoreLocked):
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.fixture
def url(server_place: GetPlace) -> Iterator[str]:
    """A schema, reached directly."""
    with a_schema(server_place("postgres")) as found:
        yield found


@pytest.fixture
def wire(server_place: GetPlace) -> Iterator[Proxy]:
    """A wire to the server that can be cut."""
    place = server_place("postgres")
    with network() as net:
        yield net.proxy(place.host, place.port)


@pytest.fixture
def far(server_place: GetPlace, url: str, wire: Proxy) -> str:
    """The same schema, reached over the wire."""
    place = server_place("postgres")
    return url.replace(place.uri, replace(place, port=wire.port).uri)


def values_at(url: str) -> dict[str, str]:
    """Ask the server itself."""
    with closing(psycopg.connect(**address_of(url).arguments, autocommit=True)) as server:
        return dict(server.execute("SELECT key, value FROM engine").fetchall())


def saving(threads: ThreadPoolExecutor, store: Store, key: str) -> Future[None]:
    """Save a value and a run, on a thread."""
    return threads.submit(store.apply, Batch(engine={key: "1"}, runs=(a_run(key),)))


def test_a_commit_whose_answer_is_lost_is_unknown_and_there(tmp_path: Path, url: str, far: str, wire: Proxy) -> None:
    """The server has done it; reading back says so."""
    with ThreadPoolExecutor(1) as threads, closing(Store.open(tmp_path, url=far)) as store:
        store.apply(Batch(engine={"first": "1"}))
        wire.cut("down")
        saved = saving(threads, store, "second")
        until(lambda: "second" in values_at(url))
        wire.reset()
        with pytest.raises(StoreUnavailable) as lost:
            saved.result(WAIT_S)
        assert lost.value.outcome_unknown
        with pytest.raises(StoreUnavailable):
            store.apply(Batch(engine={"third": "1"}))
    wire.heal()
    with closing(opened_again(tmp_path, far)) as store:
        assert store.engine_values() == {"first": "1", "second": "1"}
        assert [run.job for run in store.open_runs()] == ["second"]


def test_a_commit_that_never_arrived_is_unknown_and_not_there(
    tmp_path: Path, url: str, far: str, wire: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can tell the two apart before reading back."""
    at_its_commit = threading.Event()

    def say(connection: Connection, hints: set[Hint]) -> None:
        notify(connection, hints)
        at_its_commit.set()

    with ThreadPoolExecutor(1) as threads, closing(Store.open(tmp_path, url=far)) as store:
        store.apply(Batch(engine={"first": "1"}))
        wire.cut("up")
        monkeypatch.setattr(transaction, "notify", say)
        saved = saving(threads, store, "second")
        assert at_its_commit.wait(WAIT_S)
        with pytest.raises(TimeoutError):
            saved.result(0.3)
        wire.reset()
        with pytest.raises(StoreUnavailable) as lost:
            saved.result(WAIT_S)
        assert lost.value.outcome_unknown
    wire.heal()
    with closing(opened_again(tmp_path, far)) as store:
        assert store.engine_values() == {"first": "1"} == values_at(url)
        assert store.open_runs() == []


def test_what_is_lost_before_its_commit_is_known_not_to_be_there(tmp_path: Path, far: str, wire: Proxy) -> None:
    """A connection that breaks while the work still asks has committed nothing: that is said for certain."""
    with closing(Store.open(tmp_path, url=far)) as store:

        def cut_off(transaction: Transaction) -> None:
            transaction.rows(ENGINE_VALUES)
            wire.reset()
            transaction.rows(ENGINE_VALUES)

        with pytest.raises(StoreUnavailable) as lost:
            store.write(cut_off)
        assert not lost.value.outcome_unknown


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_server_has_all_that_was_acknowledged(own_server: GetServer, tmp_path: Path, seed: int) -> None:
    """kill -9 amid commits: every acknowledged batch is there, whole; the one in doubt is whole or absent."""
    server = own_server("postgres")
    acknowledged, doubtful = set[str](), set[str]()
    for life in range(2):
        with closing(opened_again(tmp_path, server.place.uri)) as store:
            ready = threading.Event()

            def write(store: Store = store, ready: threading.Event = ready, life: int = life) -> None:
                for number in range(100_000):
                    key = f"k{life}x{number}"
                    try:
                        store.apply(Batch(engine={key: "1"}, runs=(a_run(key),)))
                    except StoreUnavailable as error:
                        if error.outcome_unknown:
                            doubtful.add(key)
                        return
                    acknowledged.add(key)
                    if number == 20 + 17 * seed:
                        ready.set()

            writer = threading.Thread(target=write)
            writer.start()
            assert ready.wait(WAIT_S)
            server.kill()
            writer.join(WAIT_S)
            assert not writer.is_alive()
        server.start()
    with closing(opened_again(tmp_path, server.place.uri)) as store:
        there = set(store.engine_values())
        assert acknowledged <= there <= acknowledged | doubtful
        assert {run.job for run in store.open_runs()} == there


def test_a_server_that_does_nothing_is_not_waited_for_without_end(
    tmp_path: Path, own_server: GetServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P6: stopped, but reached: a write ends as unknown and a read as out of reach; a new opening goes on."""
    monkeypatch.setattr("pyscheduler.store.postgres.connect.GRACE_S", 0.5)
    # what the server is asked for while it works has to be done in these, on a busy machine too
    monkeypatch.setattr("pyscheduler.store.postgres.store.WRITE_S", 3.0)
    monkeypatch.setattr("pyscheduler.store.postgres.readers.SNAPSHOT_S", 3.0)
    server = own_server("postgres")
    with closing(Store.open(tmp_path, url=server.place.uri)) as store:
        store.apply(Batch(engine={"first": "1"}))
        store.engine_values()
        with closing(psycopg.connect(**address_of(server.place.uri).arguments)) as shell:
            found = shell.execute("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'pysched %'")
            pids = [pid for (pid,) in found.fetchall()]
        assert len(pids) == 2
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(StoreUnavailable, match="cannot be reached") as stuck:
                store.apply(Batch(engine={"second": "1"}))
            assert stuck.value.outcome_unknown
            assert store.engine_values() == {"first": "1"}  # from another connection
            with pytest.raises(StoreLocked):
                Store.open(tmp_path, url=server.place.uri)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
    with closing(opened_again(tmp_path, server.place.uri)) as store:
        assert set(store.engine_values()) in ({"first"}, {"first", "second"})


def test_a_row_that_somebody_holds_is_waited_for_and_then_refused(tmp_path: Path, url: str) -> None:
    """Two seconds, twice; then an error that names the cause. Nothing was changed, and the store goes on."""
    with closing(Store.open(tmp_path, url=url)) as store:
        store.apply(Batch(engine={"held": "1"}))
        with closing(psycopg.connect(**address_of(url).arguments)) as shell:
            shell.execute("UPDATE engine SET value = 'theirs'")
            with pytest.raises(StoreUnavailable, match="another session keeps the store locked") as refused:
                store.apply(Batch(engine={"held": "2", "other": "1"}))
            assert not refused.value.outcome_unknown
            shell.rollback()
        assert store.engine_values() == {"held": "1"}
        store.apply(Batch(engine={"held": "3"}))
        assert store.engine_values() == {"held": "3"}


def test_two_that_wait_for_each_other_both_get_through(tmp_path: Path, url: str) -> None:
    """The server ends one of the two; it is done again at once, whole."""
    with closing(Store.open(tmp_path, url=url)) as store, ThreadPoolExecutor(2) as threads:
        store.apply(Batch(engine={"a": "0", "b": "0"}))
        tries, has_a, has_b = [], threading.Event(), threading.Event()

        def backwards(transaction: Transaction) -> None:
            transaction.change(PUT_ENGINE, key="b", value="ours")
            tries.append(1)
            has_b.set()
            assert has_a.wait(WAIT_S)
            transaction.change(PUT_ENGINE, key="a", value="ours")

        with closing(psycopg.connect(**address_of(url).arguments)) as shell:
            shell.execute("SET deadlock_timeout = '1min'")  # so that ours is the one that is ended
            shell.execute("SET lock_timeout = 0")
            shell.execute("UPDATE engine SET value = 'theirs' WHERE key = 'a'")
            done = threads.submit(store.write, backwards)
            assert has_b.wait(WAIT_S)
            theirs = threads.submit(shell.execute, "UPDATE engine SET value = 'theirs' WHERE key = 'b'")
            until_it_waits(url, shell.info.backend_pid)  # the server looks for a circle once, and then it must be there
            has_a.set()
            theirs.result(WAIT_S)
            shell.commit()
        done.result(WAIT_S)
        assert len(tries) == 2
        assert store.engine_values() == {"a": "ours", "b": "ours"}


def until_it_waits(url: str, pid: int) -> None:
    """Wait until a session waits for a lock."""
    asked = "SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s"
    with closing(psycopg.connect(**address_of(url).arguments, autocommit=True)) as watcher:
        until(lambda: watcher.execute(asked, [pid]).fetchone() == ("Lock",))


def test_a_session_that_is_ended_is_noticed_when_all_is_quiet(tmp_path: Path, url: str) -> None:
    """By `tidy`, which the writer calls when it has nothing to do: nobody has to wait for the next change."""
    with closing(Store.open(tmp_path, url=url)) as store:
        with closing(psycopg.connect(**address_of(url).arguments, autocommit=True)) as shell:
            assert isinstance(store, PostgresStore)
            assert store._writer is not None
            shell.execute("SELECT pg_terminate_backend(%s)", [store._writer.info.backend_pid])
        with pytest.raises(StoreUnavailable):
            store.tidy()
        with pytest.raises(StoreUnavailable, match="connection to the server was lost"):
            store.apply(Batch(engine={"x": "1"}))
    assert values_at(url) == {}
