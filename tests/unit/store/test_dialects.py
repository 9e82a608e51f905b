"""One expression, two databases: what is written in SQLite's words is said in PostgreSQL's."""

from __future__ import annotations

import pytest
from sqlalchemy import LargeBinary, bindparam, cast, func, select

from pyscheduler.store import schema, statements
from pyscheduler.store.dialects import POSTGRESQL, SQLITE
from pyscheduler.store.statements import Statement, any_row, compiled, is_among, is_one_of, on_index

KEY = schema.engine.c.key
WRITTEN = [each for each in vars(statements).values() if isinstance(each, Statement)]


def test_the_text_for_sqlite_is_the_statement_itself() -> None:
    """The hot path makes nothing and looks nothing up."""
    statement = compiled(select(KEY))
    assert statement.on(SQLITE) is statement


def test_a_text_is_made_once() -> None:
    """The second time it is found."""
    statement = compiled(select(KEY))
    assert statement.on(POSTGRESQL) is statement.on(POSTGRESQL)


def test_a_list_is_one_parameter_on_both() -> None:
    """Rows of texts, whichever database unfolds them."""
    found = compiled(select(KEY).where(is_one_of(KEY, "keys"))).on(POSTGRESQL)
    assert found.names == ("keys",)
    assert "(SELECT jsonb_array_elements_text(%s::jsonb) AS value) AS keys_list" in found.sql


def test_an_index_is_named_for_sqlite_alone() -> None:
    """PostgreSQL has statistics and no such words."""
    statement = compiled(on_index(select(schema.runs.c.job), schema.runs, "runs_open"))
    assert "INDEXED" not in statement.on(POSTGRESQL).sql


@pytest.mark.parametrize(
    ("expression", "sql"),
    [
        (func.instr(KEY, "."), "strpos(engine.key, %s::VARCHAR)"),
        (func.substr(KEY, 1, 2), "substr(engine.key, (%s::BIGINT)::INTEGER, (%s::BIGINT)::INTEGER)"),
        (cast(KEY, LargeBinary), "engine.key"),
        (KEY.in_(select(bindparam("key", type_=KEY.type))), "SELECT %s::VARCHAR"),
        (schema.runs.c.seq == bindparam("seq"), "runs.seq = %s::BIGINT"),
        (schema.sessions.c.user, 'sessions."user"'),
    ],
)
def test_words_of_sqlite_are_said_in_postgresqls(expression: object, sql: str) -> None:
    """Functions, types of parameters, names that are words of the language."""
    assert sql in compiled(select(expression)).on(POSTGRESQL).sql  # type: ignore[call-overload]


def test_the_type_of_a_value_is_said_in_sqlites_words() -> None:
    """What the audit log's walk compares with."""
    assert "THEN 'integer' ELSE 'text'" in compiled(select(func.typeof(KEY))).on(POSTGRESQL).sql


@pytest.mark.parametrize("statement", WRITTEN, ids=lambda statement: " ".join(statement.sql.split()[:3]))
def test_one_tuple_of_values_serves_both(statement: Statement) -> None:
    """What a batch writes has its parameters in one order, so that rows are made before the database is known."""
    assert statement.on(POSTGRESQL).names == statement.names
    assert statement.on(POSTGRESQL).sql.count("%s") == statement.sql.count("?")


def test_a_list_that_is_only_looked_at_is_no_join() -> None:
    """PostgreSQL's planner takes every list for a hundred items: it is told to hash it. SQLite's text stays."""
    statement = compiled(select(KEY).where(is_among(KEY, "keys")))
    assert statement.sql == compiled(select(KEY).where(is_one_of(KEY, "keys"))).sql
    assert statement.on(POSTGRESQL).sql.endswith("AS keys_list)) IS TRUE")


def test_whether_there_is_a_row_is_asked_for_each_row_outside() -> None:
    """As a join it would read the whole table."""
    runs = schema.runs.alias("outer_runs")
    statement = compiled(select(runs.c.run_id).where(any_row(select(KEY).where(runs.c.job == KEY))))
    assert "WHERE EXISTS (SELECT engine." in statement.sql
    assert "WHERE (SELECT EXISTS (SELECT engine." in statement.on(POSTGRESQL).sql
