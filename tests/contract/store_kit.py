"""What the store's tests share: the stores to try, and short ways to runs, attempts and lines.

`STORES` are those in a file, one a driver; `EVERY_STORE` has the servers too, each test with a schema of its own. Every
test of the contract takes an `OpenAgain` and knows no more than that it can open the same store again.
"""

from __future__ import annotations

import importlib.util
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import psycopg
import pytest

from pyscheduler.model.ids import make_run_id
from pyscheduler.model.run import Attempt, LogbookLine, Outcome, Run, RunState, Trigger
from pyscheduler.model.session import Session
from pyscheduler.store import Store
from pyscheduler.store.postgres.connect import address_of
from tests.servers.kinds import Place

NOON: Final = datetime(2027, 5, 20, 12, tzinfo=UTC)
DAY: Final = date(2027, 5, 20)

STORES: Final = tuple(
    name for name, module in (("pysqlite3", "pysqlite3"), ("stdlib", "sqlite3")) if importlib.util.find_spec(module)
)
SERVERS: Final = ("postgres", "postgres15")
EVERY_STORE: Final = (*STORES, *SERVERS)


@dataclass
class OpenAgain:
    """Opens the store of one folder, any number of times after each other, and closes what is left open."""

    state_dir: Path
    url: str | None = None
    opened: list[Store] = field(default_factory=list)

    def __call__(self) -> Store:
        store = Store.open(self.state_dir, url=self.url, sync=False)
        self.opened.append(store)
        return store

    @contextmanager
    def meddling(self) -> Iterator[Callable[[str], Any]]:
        """Give what runs a statement behind the store's back; it is in force at the end."""
        if self.url is None:
            with closing(sqlite3.connect(self.state_dir / "pysched.db")) as connection:
                yield connection.execute
                connection.commit()
        else:
            with closing(psycopg.connect(**address_of(self.url).arguments)) as server:
                yield lambda sql: server.execute(sql.encode())
                server.commit()

    def close(self) -> None:
        for store in self.opened:
            store.close()


@contextmanager
def opener(state_dir: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAgain]:
    """Give the opener for one kind of store."""
    monkeypatch.setenv("PYSCHED_SQLITE", name)
    again = OpenAgain(state_dir)
    yield again
    again.close()


@contextmanager
def every_opener(
    request: pytest.FixtureRequest, state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OpenAgain]:
    """Give the opener for the store that the fixture's parameter names, one of EVERY_STORE."""
    if request.param in STORES:
        with opener(state_dir, request.param, monkeypatch) as again:
            yield again
        return
    place: Place = request.getfixturevalue("server_place")(request.param)
    with a_schema(place) as url:
        server = OpenAgain(state_dir, url)
        yield server
        server.close()


@contextmanager
def a_schema(place: Place) -> Iterator[str]:
    """Give the address of a schema of its own in a server's database, empty; it goes at the end."""
    name = f"s_{uuid4().hex}"
    with closing(psycopg.connect(**address_of(place.uri).arguments, autocommit=True)) as server:
        server.execute(f"CREATE SCHEMA {name}".encode())
        yield f"{place.uri}?options=-csearch_path%3D{name}"
        server.execute(f"SET client_min_messages = error; DROP SCHEMA {name} CASCADE".encode())


def a_run(job: str = "nightly", seq: int = 1, *, day: date = DAY, **fields: Any) -> Run:
    """Return a run with what a test does not care about filled in; its instant follows from its number."""
    defaults: dict[str, Any] = {
        "scheduled_at": NOON + timedelta(minutes=seq),
        "trigger": Trigger.SCHEDULE,
        "created_at": NOON,
        "updated_at": NOON,
        "state": RunState.QUEUED,
    }
    return Run(run_id=make_run_id(job, day, seq), job=job, run_date=day, seq=seq, **(defaults | fields))


def an_attempt(run: Run, number: int = 1, *, took_s: float | None = None, **fields: Any) -> Attempt:
    """Return an attempt of the run; with `took_s` one that has succeeded."""
    defaults: dict[str, Any] = {"key": f"{run.run_id}.{number}", "started_at": NOON}
    if took_s is not None:
        defaults |= {"ended_at": NOON + timedelta(seconds=took_s), "outcome": Outcome.SUCCEEDED, "exit_code": 0}
    return Attempt(run_id=run.run_id, attempt=number, **(defaults | fields))


def a_line(run: Run | None = None, action: str = "created", **fields: Any) -> LogbookLine:
    """Return a logbook line about the run, or about the scheduler."""
    about: dict[str, Any] = {"at": NOON, "actor": "scheduler", "action": action}
    if run is not None:
        about |= {"run_id": run.run_id, "job": run.job}
    return LogbookLine(**(about | fields))


def a_session(session_hash: str = "0" * 64, **fields: Any) -> Session:
    """Return a session of ada's that lasts for eight hours."""
    defaults: dict[str, Any] = {
        "user": "ada",
        "proof": "p",
        "csrf": "c",
        "created_at": NOON,
        "seen_at": NOON,
        "expires_at": NOON + timedelta(hours=8),
        "address": "192.0.2.1",
        "agent": "browser",
    }
    return Session(session_hash=session_hash, **(defaults | fields))
