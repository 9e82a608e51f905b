"""The way of the claims' statements to a database: one short transaction at a time, whatever the database.

What must always hold: `write` returns only when the transaction is durable, and raises StoreError only when nothing of
it is, or, with `outcome_unknown`, when nobody can know before reading it back. The work may be done more than once
(a deadlock, a lock that another held too long), each time in a new transaction: it must not change anything but through
the transaction that it is given.

`db_now()` is the database's clock in microseconds since 1970 UTC, inside the SQL text: `clock_timestamp()` on
PostgreSQL (a function of the schema, which tests replace), the wall clock on SQLite (a function of the connection).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from pyscheduler.store.transaction import Transaction

__all__ = ["Door", "Transaction"]

T = TypeVar("T")


class Door(Protocol):
    """A store that claims are kept in; an open `Store` is one. Safe to use from any thread."""

    @property
    def dialect(self) -> str:
        """`sqlite` or `postgresql`."""
        ...

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do the work in one transaction that is durable on return. Raises StoreError; see above."""
        ...

    def alone(self, work: Callable[[Transaction], T]) -> T:
        """Do work that is one statement, which is a transaction by itself: as `write`, with fewer words to a server."""
        ...

    def close(self) -> None:
        """Let go of every connection. Harmless when closed."""
        ...
