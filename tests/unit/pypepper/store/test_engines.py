"""From settings to engines, without a server. Spec: pipeline.md 13."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import Engine, event

from pypepper.scheduler.store.engines import _choose_journal, make_engine

GIVEN: dict[str, Any] = {"username": "u", "password": "p w/@%+", "host": "h", "db": "d"}
PLAIN = "u:p@h"


def address(backend: str, uri: str | None = None, **settings: Any) -> str:
    """Return what an engine would connect to."""
    return make_engine(backend, uri, **settings).url.render_as_string(hide_password=False)


@pytest.mark.parametrize(
    ("backend", "more", "expected"),
    [
        ("postgres", {}, f"postgresql+psycopg://{PLAIN}:5432/d"),
        ("postgres", {"sslmode": "require", "port": 1}, f"postgresql+psycopg://{PLAIN}:1/d?sslmode=require"),
        ("postgres", {"sslmode": "", "charset": "x", "auth_source": "x"}, f"postgresql+psycopg://{PLAIN}:5432/d"),
        ("mysql", {}, f"mysql+pymysql://{PLAIN}:3306/d?charset=utf8mb4"),
        ("mysql", {"charset": "latin1", "sslmode": "x"}, f"mysql+pymysql://{PLAIN}:3306/d?charset=latin1"),
    ],
)
def test_discrete_settings(backend: str, more: dict[str, Any], expected: str) -> None:
    """pipeline.md 13: ports 5432 and 3306, `sslmode` where set, `charset` utf8mb4; quoting that drivers undo."""
    engine = make_engine(backend, **GIVEN, **more)
    assert engine.url.password == GIVEN["password"]
    assert engine.url.set(password="p").render_as_string(hide_password=False) == expected


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("postgres://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgresql://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgresql+psycopg://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("mysql://u:p@h/d", "mysql+pymysql://u:p@h/d"),
        ("mariadb://u:p@h/d", "mariadb+pymysql://u:p@h/d"),
    ],
)
def test_an_address_without_a_driver_means_ours(given: str, meant: str) -> None:
    """`postgresql://…` means psycopg 3 whatever SQLAlchemy's own default is."""
    assert address("postgres", given) == meant


def test_another_database_is_sqlalchemys_to_answer_for() -> None:
    """pipeline.md 13: a uri is not checked against the backend's name; of one that we do not know, nothing is asked."""
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        make_engine("postgres", "oracle://u:p@h/d")


def test_the_uri_beats_the_settings() -> None:
    """pipeline.md 13: `uri` beats discrete settings."""
    assert address("mysql", "mysql+pymysql://u:p@h/d", **GIVEN) == "mysql+pymysql://u:p@h/d"


def test_a_password_is_not_printed() -> None:
    """An engine shown in an error or a log hides it."""
    assert "p w" not in repr(make_engine("postgres", **GIVEN))


def asked(uri: str) -> dict[str, Any]:
    """Return what a driver would be asked to connect with."""
    engine = make_engine("any", uri)
    said: dict[str, Any] = {}

    def caught(_dialect: Any, _record: Any, _args: Any, parameters: dict[str, Any]) -> None:
        said.update(parameters)
        raise ConnectionRefusedError

    event.listen(engine, "do_connect", caught)
    with pytest.raises(ConnectionRefusedError):
        engine.connect()
    return said


def test_every_wait_of_postgres_has_a_bound() -> None:
    """Ten seconds to reach it, thirty for an answer; an address that says otherwise is obeyed."""
    said = asked("postgresql://u:p@h/d")
    assert (said["connect_timeout"], said["tcp_user_timeout"]) == (10, 30_000)
    said = asked("postgresql://u:p@h/d?connect_timeout=3")
    assert (said["connect_timeout"], said["tcp_user_timeout"]) == ("3", 30_000)
    said = asked("postgresql://u:p@h/d?tcp_user_timeout=3")
    assert (said["connect_timeout"], said["tcp_user_timeout"]) == (10, "3")


MYSQL_WAITS = {"connect_timeout": 10, "read_timeout": 30, "write_timeout": 30}


@pytest.mark.parametrize("scheme", ["mysql", "mariadb"])
@pytest.mark.parametrize("obeyed", [None, *MYSQL_WAITS])
def test_every_wait_of_mysql_has_a_bound(scheme: str, obeyed: str | None) -> None:
    """The same, by either name of the family."""
    said = asked(f"{scheme}://u:p@h/d{f'?{obeyed}=3' if obeyed else ''}")
    assert {name: said[name] for name in MYSQL_WAITS} == MYSQL_WAITS | ({obeyed: 3} if obeyed else {})


class Sqlite:
    """As much of an engine as the choice of a journal looks at: a version of SQLite, and whether it was asked."""

    def __init__(self, *version: int) -> None:
        self.dialect = SimpleNamespace(dbapi=SimpleNamespace(sqlite_version_info=version))
        self.statements: list[str] = []

    @contextmanager
    def connect(self) -> Iterator[Any]:
        yield SimpleNamespace(exec_driver_sql=self.statements.append)


@pytest.mark.parametrize(
    ("version", "logs"), [((3, 51, 2), False), ((3, 51, 3), True), ((3, 52, 0), True), ((3, 45, 9), False)]
)
def test_only_a_safe_sqlite_writes_ahead(version: tuple[int, int, int], logs: bool) -> None:
    """SQLite before 3.51.3 can lose pages of a write-ahead log when two connections write: it keeps its old journal."""
    engine = Sqlite(*version)
    _choose_journal(cast("Engine", engine))
    assert engine.statements == (["PRAGMA journal_mode = WAL"] if logs else [])
