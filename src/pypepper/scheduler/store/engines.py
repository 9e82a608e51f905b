"""From settings to an SQLAlchemy engine that a job store can lean on. Spec: pipeline.md 13.

Every statement of the store is a transaction of its own (AUTOCOMMIT): one trip, no lock held between statements. What
was answered is on disk: SQLite syncs at each commit, the servers do by default. Every wait has a bound: CONNECT_S to
reach a server, ANSWER_S for its answer, BUSY_S for another writer of a SQLite file.

A connection is never used on both sides of a fork: a child that inherits one opens its own.
"""

from __future__ import annotations

import importlib.util
import os
import time
import weakref
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import ConnectionPoolEntry, Pool, StaticPool

from pypepper.scheduler.store.settings import server_settings

CONNECT_S: Final = 10
ANSWER_S: Final = 30
BUSY_S: Final = 30
DEFAULT_FILE: Final = "scheduler_jobs.db"
"""Where `sqlite` keeps its jobs when nobody says: in the folder that the program was started in."""

SAFE_WAL: Final = (3, 51, 3)
"""SQLite before this can lose pages of a write-ahead log when two connections write or checkpoint at once."""

_DRIVERS: Final = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}
"""An address without a driver means the one that we ship as an extra."""


def make_engine(backend: str, uri: str | None = None, **settings: Any) -> Engine:
    """Return an engine; `uri` beats the discrete settings and is not compared with the backend's name.

    Nothing is contacted yet, but a SQLite file's folder is made. ValueError when the settings are not enough.
    """
    url = make_url(uri) if uri else _url(backend, settings)
    url = url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))
    options = _OPTIONS.get(url.get_backend_name(), _no_options)(url)
    engine = create_engine(url, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True, **options)
    _engines.add(engine)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _sync_each_commit)
        _choose_journal(engine)
    return engine


def _url(backend: str, settings: dict[str, Any]) -> URL:
    if backend == "sqlite":
        return URL.create("sqlite", database=settings.get("db") or DEFAULT_FILE)
    sslmode, charset = settings.pop("sslmode", None), settings.pop("charset", None)
    settings.pop("auth_source", None)
    server = server_settings(backend, default_port={"postgres": 5432, "mysql": 3306}[backend], **settings)
    query = {"sslmode": sslmode} if backend == "postgres" else {"charset": charset or "utf8mb4"}
    return URL.create(
        _DRIVERS[backend],
        username=server.username,
        password=server.password,
        host=server.host,
        port=server.port,
        database=server.db,
        query={name: value for name, value in query.items() if value},
    )


def _no_options(_url: URL) -> dict[str, Any]:
    return {}


def _sqlite_options(url: URL) -> dict[str, Any]:
    options: dict[str, Any] = {"connect_args": {"timeout": BUSY_S, "check_same_thread": False}}
    if importlib.util.find_spec("pysqlite3") is not None:
        from pysqlite3 import dbapi2

        options["module"] = dbapi2
    if url.database in (None, "", ":memory:"):
        options["poolclass"] = StaticPool
    elif not str(url.database).startswith("file:"):
        Path(str(url.database)).absolute().parent.mkdir(parents=True, exist_ok=True)
    return options


def _postgres_options(url: URL) -> dict[str, Any]:
    bounds = {"connect_timeout": CONNECT_S, "tcp_user_timeout": ANSWER_S * 1000}
    return {"connect_args": {name: value for name, value in bounds.items() if name not in url.query}}


def _mysql_options(url: URL) -> dict[str, Any]:
    bounds = {"connect_timeout": CONNECT_S, "read_timeout": ANSWER_S, "write_timeout": ANSWER_S}
    return {"connect_args": {name: value for name, value in bounds.items() if name not in url.query}}


_OPTIONS: Final = {
    "sqlite": _sqlite_options,
    "postgresql": _postgres_options,
    "mysql": _mysql_options,
    "mariadb": _mysql_options,
}


def _leave_connections_to_the_parent() -> None:
    """In a forked child: forget the inherited connections without closing them, which would end the parent's."""
    for engine in list(_engines):
        if not isinstance(engine.pool, StaticPool):
            _inherited.append(engine.pool)
            engine.dispose(close=False)


_engines: Final[weakref.WeakSet[Engine]] = weakref.WeakSet()
_inherited: Final[list[Pool]] = []
"""Kept, so that no garbage collector closes them."""
os.register_at_fork(after_in_child=_leave_connections_to_the_parent)


def _sync_each_commit(connection: Any, _entry: ConnectionPoolEntry) -> None:
    connection.execute("PRAGMA synchronous = EXTRA")


def _choose_journal(engine: Engine) -> None:
    """Keep a write-ahead log where this SQLite does so safely; the file remembers the choice.

    Changing the journal needs the file for a moment and does not wait for it by itself, so it is tried until BUSY_S
    while others hold the file. Whatever else is wrong with it is said at once.
    """
    if engine.dialect.dbapi is None or engine.dialect.dbapi.sqlite_version_info < SAFE_WAL:
        return
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            with engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        except OperationalError as error:
            if "locked" not in str(error.orig) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
