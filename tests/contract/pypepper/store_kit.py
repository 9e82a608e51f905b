"""What the tests of job stores share: how to open each kind, empty, in a place that no other worker writes to."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pypepper.scheduler.status import Status
from pypepper.scheduler.store import IJobStore, InMemoryJobStore, JobRecord
from pypepper.scheduler.store.mongodb import MongoJobStore
from pypepper.scheduler.store.sql import SqlJobStore
from tests.servers.fixtures import GetPlace
from tests.servers.kinds import Place

SERVERS: Final = ("postgres", "mysql", "mongodb")
SQL: Final = ("sqlite", "postgres", "mysql")
DURABLE: Final = ("sqlite", *SERVERS)
ALL: Final = ("memory", *DURABLE)

OpenStore = Callable[[str], IJobStore]
"""Opens a kind of store; a second time, the same place again."""

BORN: Final = "2031-04-05T06:07:08.123+00:00"
LATER: Final = "2031-04-05T06:07:09.456+00:00"

A_RECORD: Final = JobRecord("a", "demo", "demo-channel", Status.SCHEDULED, BORN, BORN, 1)


def record(job_id: str = "a", status: str = Status.SCHEDULED, **fields: Any) -> JobRecord:
    """Return a record with what a test does not care about filled in."""
    return replace(A_RECORD, id=job_id, status=status, **fields)


def my_place(place: Place) -> Place:
    """Return the database of this worker on a shared server, which is made if it is missing."""
    mine = replace(place, db=f"pepper_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}")
    _MAKE[place.kind](place, mine.db)
    return mine


def settings_for(kind: str, get_place: GetPlace, folder: Path) -> dict[str, Any]:
    """Return what `configure_job_store(kind, …)` needs beside its name."""
    if kind == "memory":
        return {}
    return {"db": str(folder / "jobs.db")} if kind == "sqlite" else my_place(get_place(kind)).discrete()


def opened(kind: str, settings: dict[str, Any]) -> IJobStore:
    """Return a store of this kind."""
    if kind == "memory":
        return InMemoryJobStore()
    return MongoJobStore(**settings) if kind == "mongodb" else SqlJobStore(kind, **settings)


def _make_postgres(place: Place, name: str) -> None:
    import psycopg

    with psycopg.connect(
        host=place.host, port=place.port, user=place.username, password=place.password, dbname=place.db, autocommit=True
    ) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))


def _make_mysql(place: Place, name: str) -> None:
    import pymysql

    connection = pymysql.connect(host=place.host, port=place.port, user=place.username, password=place.password)
    with connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {name}")


def _make_mongodb(_place: Place, _name: str) -> None:
    """MongoDB makes a database when something is put into it."""


_MAKE: Final = {"postgres": _make_postgres, "mysql": _make_mysql, "mongodb": _make_mongodb}
