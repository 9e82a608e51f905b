"""Statements are made once and bound by name."""

from __future__ import annotations

import pytest
from sqlalchemy import bindparam, select

from pyscheduler.store import schema
from pyscheduler.store.statements import compiled, is_one_of, on_index


def test_values_go_where_their_names_are() -> None:
    """By name, several times where a name is used several times, with constants filled in."""
    key = schema.engine.c.key
    statement = compiled(select(key).where(key >= bindparam("low"), key != "x", key <= bindparam("low")).limit(3))
    assert statement.bind(low="a") == ("a", "x", "a", 3, 0)


def test_a_forgotten_value_is_an_error() -> None:
    """Never null by accident."""
    statement = compiled(select(schema.engine.c.key).where(schema.engine.c.key == bindparam("key")))
    with pytest.raises(KeyError):
        statement.bind()


def test_a_list_of_any_length_is_one_parameter() -> None:
    """One text serves every length, so that it is made once."""
    statement = compiled(select(schema.engine.c.key).where(is_one_of(schema.engine.c.key, "keys")))
    assert statement.names == ("keys",)
    assert "json_each(?)" in statement.sql


def test_an_index_is_named_in_the_text() -> None:
    """The planner is told, not asked."""
    assert "runs INDEXED BY runs_open" in compiled(on_index(select(schema.runs.c.job), schema.runs, "runs_open")).sql
