"""The address of a store on a server: what it may be, and that its password is in the environment alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import make_url

from pyscheduler.config import store_at
from pyscheduler.config.store_address import store_url
from pyscheduler.config.values import BadValue
from pyscheduler.config.variables import Variables
from pyscheduler.errors import ConfigError
from tests.unit.config.conftest import Build, Load

SECRET = "a b@c/d%20+e:f?g#h"


def read(typed: str, **env: str) -> str | None:
    return store_url(typed, Variables(env).expand)


def test_the_word_is_the_file_in_the_state_folder() -> None:
    """Written or read from the environment."""
    assert read("sqlite") is None
    assert read("${STORE}", STORE="sqlite") is None


def test_a_password_of_any_characters_arrives() -> None:
    """It is quoted where it stands as a variable of its own."""
    found = read("postgresql+psycopg://u:${PW}@h:5433/d?sslmode=require", PW=SECRET)
    assert found is not None
    url = make_url(found)
    assert (url.username, url.password, url.host, url.port, url.database) == ("u", SECRET, "h", 5433, "d")
    assert dict(url.query) == {"sslmode": "require"}


def test_a_variable_may_hold_the_whole_address() -> None:
    """Then it is taken as it is."""
    whole = "postgresql://u:p%40w@h/d"
    assert read("${DATABASE_URL}", DATABASE_URL=whole) == whole
    assert read("postgresql+psycopg://u@${HOST}/d", HOST="db-1") == "postgresql+psycopg://u@db-1/d"


@pytest.mark.parametrize(
    ("typed", "what"),
    [
        ("postgresql+psycopg://u:secret@h/d", "holds a password"),
        ("postgresql+psycopg://u:sec${PW}ret@h/d", "holds a password"),
        ("mysql://u@h/d", "is no store"),
        ("postgresql+asyncpg://u@h/d", "is no store"),
        ("postgresql+psycopg://u@h:port/d", "is no store"),
        ("postgresql+psycopg://u@h", "names no database"),
        ("postgresql+psycopg://u@h/", "names no database"),
        ("postgresql+psycopg://u@h/a/b", "names no database"),
        ("postgres", "is no store"),
    ],
)
def test_what_is_wrong_is_said_without_the_address(typed: str, what: str, problems: Build) -> None:
    """Nothing of it: who has written a password by mistake must not see it in a log."""
    with pytest.raises(BadValue, match=what):
        read(typed, PW="x")
    (found,) = problems(f"scheduler: {{store: '{typed}'}}\n", env={"PW": "x"})
    assert found.startswith(f"error c.yaml:1:20: scheduler.store: {what}")
    assert "secret" not in found


def test_the_secret_is_in_no_repr(load: Load) -> None:
    """The settings alone know it."""
    config = load("scheduler: {store: 'postgresql+psycopg://u:${PW}@h/d'}\n", env={"PW": "s3cret"})
    assert config.settings.store == "postgresql+psycopg://u:s3cret@h/d"
    assert "s3cret" not in repr(config.settings) + repr(config)


def test_a_command_reads_it_alone(tmp_path: Path) -> None:
    """For what looks into a store while no scheduler runs; other commands need no password."""
    file = tmp_path / "c.yaml"
    file.write_text("scheduler: {store: 'postgresql+psycopg://u:${PW}@h/d'}\njobs: {broken\n")
    assert store_at(file, env={"PW": "x"}) == "postgresql+psycopg://u:x@h/d"
    with pytest.raises(ConfigError, match="PW") as refused:
        store_at(file, env={})
    assert "scheduler.store" in str(refused.value.problems[0])
    file.write_text("jobs: {}\n")
    assert store_at(file, env={}) is None
