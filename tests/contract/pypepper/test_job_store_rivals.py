"""Many who write at once: threads, processes, and a process that forks. Spec: pipeline.md 12.3 and 17."""

from __future__ import annotations

import asyncio
import gc
import json
import multiprocessing
import subprocess
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any, TypeVar, cast

import pytest

from pypepper.scheduler.store import IJobStore, JobRecord
from pypepper.scheduler.store.sql import SqlJobStore
from tests.contract.pypepper.store_kit import BORN, DURABLE, OpenStore, opened, record, settings_for
from tests.pipes import returning, workflow
from tests.servers.fixtures import GetPlace

ROOT = Path(__file__).resolve().parents[3]
RIVALS = 8
T = TypeVar("T")
R = TypeVar("R")


def all_at_once(call: Callable[[T], R], items: list[T]) -> list[R]:
    """Make one call an item from as many threads, which begin together."""
    together = Barrier(len(items))

    def one(item: T) -> R:
        together.wait(30)
        return call(item)

    with ThreadPoolExecutor(len(items)) as threads:
        return list(threads.map(one, items))


def puts(records: list[JobRecord], store: IJobStore) -> list[bool]:
    """Put all records at once."""
    return all_at_once(store.put, records)


def test_of_updates_at_one_version_exactly_one_wins(store: IJobStore) -> None:
    """pipeline.md 12.3 and 17: concurrent updates of one row at one version, exactly one True."""
    store.put(record())
    names = [f"rival-{number}" for number in range(RIVALS)]
    for version in range(1, 11):
        told = puts([record(category=name, version=version) for name in names], store)
        assert told.count(True) == 1
        durable = store.get("a")
        assert durable == record(category=names[told.index(True)], version=version + 1)


def test_of_two_ends_one_stands(store: IJobStore) -> None:
    """Completed against Cancelled at one version: one True, and the row says that one."""
    for number in range(10):
        job = f"job-{number}"
        store.put(record(job, "InProgress"))
        ends = ["Completed", "Cancelled"]
        told = puts([record(job, end) for end in ends], store)
        assert sorted(told) == [False, True]
        durable = store.get(job)
        assert durable is not None
        assert durable.status == ends[told.index(True)]


def test_of_first_inserts_the_first_gives_created(store: IJobStore) -> None:
    """pipeline.md 12.3: of concurrent first inserts one or two are told True; `created` stays the first one's."""
    for number in range(10):
        job = f"job-{number}"
        births = [f"born-{rival}" for rival in range(RIVALS)]
        told = puts([record(job, created=birth) for birth in births], store)
        durable = store.get(job)
        assert durable is not None
        assert told.count(True) == durable.version
        assert told.count(True) in {1, 2}
        assert durable.created in {birth for birth, was in zip(births, told, strict=True) if was}


@pytest.mark.parametrize("kind", DURABLE)
def test_writers_in_several_processes_lose_no_update(
    kind: str, open_store: OpenStore, server_place: GetPlace, tmp_path: Path
) -> None:
    """Four processes each make 25 updates of one row and 25 inserts: every True counts once, in all of them."""
    store = open_store(kind)
    store.put(record("shared"))
    settings = json.dumps(settings_for(kind, server_place, tmp_path))
    command = [sys.executable, "-m", "tests.contract.pypepper.rival", kind, settings]
    paths = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PATH": "/usr/bin:/bin"}
    rivals = [
        subprocess.Popen([*command, str(number)], cwd=ROOT, stderr=subprocess.PIPE, env=paths) for number in range(4)
    ]
    for rival in rivals:
        _, said = rival.communicate(timeout=100)
        assert rival.returncode == 0, said.decode()
    shared = store.get("shared")
    assert shared is not None
    assert shared == replace(record("shared", workflow_count=1 + 100, version=1 + 100), updated=shared.updated)
    assert len(store.list()) == 1 + 100


def _in_the_child(kind: str, store: IJobStore) -> None:
    assert store.put(record("from-the-child"))
    assert store.get("from-the-parent") is not None


@pytest.mark.filterwarnings("ignore:.*fork.*")
@pytest.mark.parametrize("kind", ["sqlite", "postgres", "mysql", "mongodb"])
def test_a_fork_shares_no_connection(kind: str, open_store: OpenStore, caplog: pytest.LogCaptureFixture) -> None:
    """A forked child opens connections of its own and waits for none of the parent's threads; the parent goes on.

    On its own connections, too: nothing that the child lets go of ends them.
    """
    store = open_store(kind)
    store.put(record("from-the-parent"))
    child = multiprocessing.get_context("fork").Process(target=_in_the_child, args=(kind, store))
    with vars(store)["_one_put"].__self__._pen if kind == "sqlite" else nullcontext():
        child.start()  # as if another thread were just writing
    for number in range(20):
        assert store.put(record(f"p{number}"))
    child.join(60)
    ended = child.exitcode
    child.kill()
    assert ended == 0
    assert store.get("from-the-child") == record("from-the-child", created=BORN)
    assert len(store.list()) == 22
    assert not [line for line in caplog.records if "broke" in line.message]


def _ends_well(call: Callable[[], None]) -> bool:
    """Make a call in a forked child; tell whether it came back without an error."""
    child = multiprocessing.get_context("fork").Process(target=call)
    child.start()
    child.join(30)
    ended = child.exitcode
    child.kill()
    return ended == 0


@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_a_fork_has_the_rows_in_memory() -> None:
    """A SQLite store in memory is a part of the process: a forked child has its own copy of it."""
    store = SqlJobStore("sqlite", uri="sqlite://")
    store.put(record())

    def in_the_child() -> None:
        assert store.get("a") == record()
        assert store.put(record("b"))

    assert _ends_well(in_the_child)
    assert [found.id for found in store.list()] == ["a"]
    store.engine.dispose()


@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_a_fork_keeps_what_it_does_not_use(open_store: OpenStore) -> None:
    """The parent's connections are never closed in the child, not even as garbage: that would end them for both."""
    engine = cast("SqlJobStore", open_store("sqlite")).engine
    inherited = weakref.ref(engine.pool)

    def in_the_child() -> None:
        gc.collect()
        assert inherited() is not None
        assert inherited() is not engine.pool

    assert _ends_well(in_the_child)


@pytest.mark.parametrize("kind", DURABLE)
def test_several_may_prepare_one_place_at_once(kind: str, server_place: GetPlace, tmp_path: Path) -> None:
    """Stores built at the same instant on a place without a table all come up."""
    settings = settings_for(kind, server_place, tmp_path)
    first = opened(kind, settings)
    first.clear()
    if kind != "mongodb":
        with cast("SqlJobStore", first).engine.connect() as connection:
            connection.exec_driver_sql("DROP TABLE scheduler_jobs")
    first.close()
    aliases: list[dict[str, Any]] = [{"alias": f"rival-{number}"} if kind == "mongodb" else {} for number in range(4)]
    stores = all_at_once(lambda alias: opened(kind, settings | alias), aliases)
    assert stores[0].put(record("prepared"))
    assert [store.get("prepared") for store in stores] == [record("prepared")] * 4
    for store in stores:
        store.close()


@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_a_fork_has_threads_of_its_own() -> None:
    """A child that believed in its parent's idle threads would wait for them for ever."""
    made = workflow(returning(7))
    assert asyncio.run(made.run_async()) == [7]

    def in_the_child() -> None:
        assert asyncio.run(made.run_async()) == [7]

    assert _ends_well(in_the_child)
