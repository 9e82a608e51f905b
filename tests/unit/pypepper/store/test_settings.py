"""Discrete settings of a server. Spec: pipeline.md 13."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from pypepper.scheduler.store.settings import Server, server_settings

GIVEN: dict[str, Any] = {"username": "u", "password": "p", "host": "h", "db": "d"}


def test_all_four_and_the_default_port() -> None:
    """pipeline.md 13 row Discrete settings."""
    assert server_settings("postgres", default_port=5432, **GIVEN) == Server("u", "p", "h", "d", 5432)


@pytest.mark.parametrize(("port", "read"), [(1, 1), ("6543", 6543), (None, 5432), ("", 5432)])
def test_port(port: Any, read: int) -> None:
    """A number, or its text, or the default."""
    assert server_settings("postgres", default_port=5432, port=port, **GIVEN).port == read


@pytest.mark.parametrize("port", ["five", [], 1.5j])
def test_a_port_that_is_none(port: Any) -> None:
    """Said in words."""
    with pytest.raises(ValueError, match="mysql job store: the port is"):
        server_settings("mysql", default_port=3306, port=port, **GIVEN)


def test_user_stands_for_username() -> None:
    """The issue: discrete settings accept `user` beside `username`; `username` wins."""
    by_user = {**GIVEN, "username": None, "user": "me"}
    assert server_settings("mysql", default_port=1, **by_user).username == "me"
    assert server_settings("mysql", default_port=1, **GIVEN, user="me").username == "u"


@pytest.mark.parametrize("backend", ["postgres", "mysql", "mongodb"])
@pytest.mark.parametrize("name", list(GIVEN))
@pytest.mark.parametrize("empty", [None, ""])
def test_nothing_usable_given(backend: str, name: str, empty: str | None) -> None:
    """pipeline.md 13 row Nothing usable given: ValueError, and it names what is missing."""
    with pytest.raises(ValueError, match=rf"^{backend} job store requires .*missing: {name}$"):
        server_settings(backend, default_port=1, **{**GIVEN, name: empty})


def test_settings_stay_as_they_were_checked() -> None:
    """Nobody changes a password behind the check."""
    server = server_settings("mysql", default_port=1, **GIVEN)
    with pytest.raises(FrozenInstanceError):
        server.password = ""  # type: ignore[misc]


def test_a_password_of_digits_is_not_guessed() -> None:
    """YAML makes 0123 the number 83: refused, with the way out."""
    with pytest.raises(ValueError, match="password must be text: put the value in quotes"):
        server_settings("mysql", default_port=1, **{**GIVEN, "password": 83})
