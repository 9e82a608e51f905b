"""The way of the claims' statements to a database: one short transaction at a time, whatever the database.

What must always hold: `write` returns only when the transaction is durable, and raises StoreError only when nothing of
it is, or, with `outcome_unknown`, when nobody can know before reading it back. The work may be done more than once
(a deadlock, a lock that another held too long), each time in a new transaction: it must not change anything but through
the transaction that it is given.

`db_now()` is the database's clock in microseconds since 1970 UTC, inside the SQL text: `clock_timestamp()` on
PostgreSQL (a function of the schema, which tests replace), the wall clock on SQLite (a function of the connection).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from pyscheduler.store.rows import Row
from pyscheduler.store.statements import Statement

T = TypeVar("T")


class Transaction(Protocol):
    """One transaction under way. Raises whatever the driver raises; the door turns it into the family's errors."""

    def rows(self, statement: Statement, **values: object) -> list[Row]:
        """Run a statement and return the rows that it gives (a query, or RETURNING)."""
        ...

    def change(self, statement: Statement, **values: object) -> int:
        """Run a statement and return how many rows it touched."""
        ...

    def each(self, statement: Statement, many: Sequence[Mapping[str, object]]) -> list[list[Row]]:
        """Run a statement once for each of many values, in their order, and return each one's rows; one round trip."""
        ...


class Door(Protocol):
    """A store that claims are kept in. Safe to use from any thread."""

    @property
    def dialect(self) -> str:
        """`sqlite` or `postgresql`."""
        ...

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do the work in one transaction that is durable on return. Raises StoreError; see above."""
        ...

    def close(self) -> None:
        """Let go of every connection. Harmless when closed."""
        ...
