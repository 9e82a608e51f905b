"""From settings to engines, without a server. Spec: pipeline.md 13."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event

from pypepper.scheduler.store.engines import make_engine

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
    assert asked("postgresql://u:p@h/d?connect_timeout=3")["connect_timeout"] == "3"


def test_every_wait_of_mysql_has_a_bound() -> None:
    """The same."""
    said = asked("mysql://u:p@h/d")
    assert (said["connect_timeout"], said["read_timeout"], said["write_timeout"]) == (10, 30, 30)
    assert asked("mysql://u:p@h/d?read_timeout=3")["read_timeout"] == 3
