"""Connections to PostgreSQL: where the server is, what is agreed on with it, and who is refused before a word is said.

Everything that a transaction's meaning rests on is said to the server, not taken from its configuration: that COMMIT
waits for the disk, which isolation holds, how long a lock, a statement and an idle transaction may last. A peer that is
gone is found out within half a minute on both sides (keepalives, `tcp_user_timeout`).

What must always hold: a password is in no error, no log line and no text that is shown (`Address.shown`); a connection
that is handed out is to a primary, of a server not older than OLDEST, whose encoding is UTF-8. A connection pooler in
between must keep one server connection for each of ours (pgbouncer: `pool_mode = session`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.rows import TupleRow
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from pyscheduler.errors import StoreError
from pyscheduler.store.dialects import POSTGRESQL, dialect_of
from pyscheduler.store.postgres.faults import translated

Connection = psycopg.Connection[TupleRow]
RV = TypeVar("RV")

OLDEST: Final = 15
"""The oldest release of the server that the store is tested on."""
CONNECT_S: Final = 5
LOCK_S: Final = 2.0
IDLE_IN_TRANSACTION_S: Final = 5.0
WRITE_S: Final = 30.0
"""How long one statement of a writer may take."""
_KEEPALIVE: Final = {"idle": 10, "interval": 5, "count": 3}
_PEER_GONE_MS: Final = 20_000
GRACE_S: Final = 10.0
"""How much longer than a statement may take its answer is waited for: then the server is taken for stuck."""


@dataclass(frozen=True, slots=True)
class Address:
    """A server and a database. `shown` is for people: everything but the password."""

    shown: str
    arguments: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.shown


def address_of(url: str) -> Address:
    """Return what `postgresql+psycopg://USER:PASSWORD@HOST:PORT/DATABASE?…` means. Raises StoreError, without the text.

    What stands behind the `?` are libpq's own words (`sslmode`, `sslrootcert`, `options` …); `host=A:1&host=B:2` names
    several servers, of which the one that may be written to is taken.
    """
    try:
        parsed = make_url(url)
        _, arguments = dialect_of(POSTGRESQL).create_connect_args(parsed)
    except (ArgumentError, ValueError):  # its words may quote the password
        parsed, arguments = None, {}
    if parsed is None or parsed.drivername not in ("postgresql", "postgresql+psycopg"):
        mend = "write postgresql+psycopg://USER@HOST/DATABASE"
        raise StoreError("the address of the store cannot be read", mend=mend)
    plain = URL.create("postgresql", parsed.username, None, parsed.host, parsed.port, parsed.database)
    return Address(plain.render_as_string(), dict(arguments))


def open_writer(address: Address, *, name: str, statement_s: float = WRITE_S) -> Connection:
    """Return a connection for short transactions that write, in autocommit: whoever uses it says BEGIN.

    `name` is what the server's own views show. Raises StoreError.
    """
    return _open(address, name, {"default_transaction_isolation": "read committed"}, statement_s)


def open_reader(address: Address, *, name: str, statement_s: float) -> Connection:
    """Return a connection that cannot change anything. Raises StoreError."""
    settings = {"default_transaction_isolation": "repeatable read", "default_transaction_read_only": "on"}
    return _open(address, name, settings, statement_s)


class _Bounded(psycopg.Connection[TupleRow]):
    """A connection on which no wait for an answer is without end: a server may be reached and yet do nothing."""

    patience_s: float = GRACE_S

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Wait for an answer. Where none comes the connection is closed: nobody could tell what it still says."""
        patience = self.patience_s if timeout is None else timeout
        deadline = time.monotonic() + patience
        try:
            return super().wait(gen, interval, patience)
        except psycopg.OperationalError:
            if time.monotonic() >= deadline:
                self.close()
            raise


@contextmanager
def patient(connection: Connection, seconds: float) -> Iterator[None]:
    """Wait so long for each answer meanwhile: making an index over years of history takes its time."""
    assert isinstance(connection, _Bounded), "every connection comes from here"
    before, connection.patience_s = connection.patience_s, seconds
    try:
        yield
    finally:
        connection.patience_s = before


def _open(address: Address, name: str, settings: dict[str, str], statement_s: float) -> Connection:
    given: dict[str, Any] = {
        "connect_timeout": CONNECT_S,
        "keepalives": 1,
        **{f"keepalives_{what}": value for what, value in _KEEPALIVE.items()},
        "tcp_user_timeout": _PEER_GONE_MS,
        "target_session_attrs": "read-write",
        "application_name": name,
        **address.arguments,
        "client_encoding": "utf8",
    }
    try:
        connection = _Bounded.connect(**given, autocommit=True)
    except psycopg.Error as error:
        # libpq's error holds the connection that failed, and that its password: not even as a cause is it kept
        raise translated(error, address.shown) from None
    try:
        _refuse_unfit(connection, address)
        _agree(connection, {"statement_timeout": _ms(statement_s), **settings})
        connection.patience_s = statement_s + GRACE_S
    except psycopg.Error as error:
        connection.close()
        raise translated(error, address.shown) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _agree(connection: Connection, settings: dict[str, str]) -> None:
    """Say what holds for this session, in one trip."""
    agreed = {
        "synchronous_commit": "on",
        "lock_timeout": _ms(LOCK_S),
        "idle_in_transaction_session_timeout": _ms(IDLE_IN_TRANSACTION_S),
        **{f"tcp_keepalives_{what}": str(value) for what, value in _KEEPALIVE.items()},
        "tcp_user_timeout": str(_PEER_GONE_MS),
        "client_connection_check_interval": _ms(5.0),
        "jit": "off",  # our statements take milliseconds; compiling one takes longer
        **settings,
    }
    words = ", ".join("set_config(%s, %s, false)" for _ in agreed)
    connection.execute(f"SELECT {words}", [part for pair in agreed.items() for part in pair])


def _refuse_unfit(connection: Connection, address: Address) -> None:
    info = connection.info
    if info.server_version < OLDEST * 10_000:
        what = f"the server is PostgreSQL {info.server_version // 10_000}, and {OLDEST} is the oldest that will do"
        raise StoreError(what, where=address.shown, mend="use a newer server")
    encoding = info.parameter_status("server_encoding")
    if encoding != "UTF8":
        what = f"the database's encoding is {encoding}, and the store needs UTF8"
        raise StoreError(
            what, where=address.shown, mend="make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )


def _ms(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"
