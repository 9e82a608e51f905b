"""From PostgreSQL's errors to the family's, in one place: what it means, and how to mend it.

The distinction is `store/faults.py`'s, by who must act: a server that is away, full or locked may come back by itself
(StoreUnavailable, the service tries again); another program's database or a newer release's is for a person; a broken
constraint is our bug. An error while connecting has no code, only the server's words, so those are looked at; where
they are in another language the error is an unavailable server with these words.
"""

from __future__ import annotations

import re
from typing import Final

import psycopg

from pyscheduler.errors import StoreDamaged, StoreError, StoreUnavailable

PUT_BACK: Final = "put a dump back with pg_restore into an empty database"
_WAIT: Final = "look at the server and the network; it goes on by itself"
_SURROUNDINGS: Final = {
    "53100": "the server's disk is full",
    "53200": "the server is out of memory",
    "53300": "the server has no connection left",
}
_AWAY: Final = ("08", "57P")
_CUT_OFF: Final = "57014"
_LOCK: Final = "55P03"
_AGAIN: Final = frozenset({"40001", "40P01", _LOCK})
_NO_TEXT: Final = frozenset({"22021", "22P02", "22P05"})
_AT_THE_DOOR: Final = (
    (
        re.compile("password authentication failed"),
        "the server does not take this user's password",
        "look at the password",
    ),
    (
        re.compile("no password supplied"),
        "the server wants a password",
        "write it into the address: …://USER:${NAME}@…",
    ),
    (
        re.compile('role ".*" does not exist'),
        "the server does not know this user",
        "CREATE ROLE … LOGIN, or name another user in the address",
    ),
    (
        re.compile('database ".*" does not exist'),
        "the server has no such database",
        "CREATE DATABASE …, or name another in the address",
    ),
    (re.compile("no pg_hba.conf entry"), "the server lets nobody in from here", "add a line to its pg_hba.conf"),
)


def is_lost(connection: psycopg.Connection[object]) -> bool:
    """Whether nothing more can be said over this connection."""
    return bool(connection.closed or connection.broken)


def is_busy(error: BaseException) -> bool:
    """Whether another transaction was in the way: the one kind of failure that is worth a second try."""
    return isinstance(error, psycopg.Error) and error.sqlstate in _AGAIN


def is_lock_held(error: BaseException) -> bool:
    """Whether that was found out by waiting for as long as a lock is waited for."""
    return isinstance(error, psycopg.Error) and error.sqlstate == _LOCK


def is_cut_off(error: BaseException) -> bool:
    """Whether a statement was ended because it took too long."""
    return isinstance(error, psycopg.Error) and error.sqlstate == _CUT_OFF


def is_no_text(error: BaseException) -> bool:
    """Whether a value holds what no text of the server can: a NUL, half a surrogate pair."""
    if isinstance(error, UnicodeEncodeError):
        return True
    return isinstance(error, psycopg.DataError) and (error.sqlstate is None or error.sqlstate in _NO_TEXT)


def translated(error: psycopg.Error, where: str, *, committing: bool = False) -> StoreError:
    """Return the family's error for one of the driver's.

    `committing` says that the connection was lost after COMMIT was sent, so nobody knows yet whether it was done.
    """
    found = _of_server(error, where) if error.sqlstate else _of_connection(error, where)
    found.outcome_unknown = committing
    return found


def _of_connection(error: psycopg.Error, where: str) -> StoreError:
    text = _line(error)
    if not isinstance(error, psycopg.OperationalError):
        return StoreError(f"the store has failed ({text})", where=where)
    for sign, what, mend in _AT_THE_DOOR:
        if sign.search(str(error)):
            return StoreError(what, where=where, mend=mend)
    if "read-only" in text:
        mend = "name the primary, or several servers; it goes on by itself when one of them becomes it"
        return StoreUnavailable("the server is a standby, which cannot be written to", where=where, mend=mend)
    return StoreUnavailable(f"the server cannot be reached ({text})", where=where, mend=_WAIT)


def _of_server(error: psycopg.Error, where: str) -> StoreError:
    state, text = error.sqlstate or "", _line(error)
    if state in _SURROUNDINGS:
        return StoreUnavailable(_SURROUNDINGS[state], where=where, mend="make room; it goes on by itself")
    if state.startswith(_AWAY) or state == "25P03":
        return StoreUnavailable(f"the server has ended the connection ({text})", where=where, mend=_WAIT)
    if state == "25006":
        return StoreUnavailable("the server is read-only", where=where, mend="name the primary; it goes on by itself")
    if is_cut_off(error):
        return StoreUnavailable("a read took longer than it may", where=where, mend="ask for less, or ask again")
    if is_busy(error):
        mend = "end the session that holds it (pg_stat_activity), a database shell or a dump tool"
        return StoreUnavailable(f"another session keeps the store locked ({text})", where=where, mend=mend)
    if state == "42501":
        mend = "GRANT the user CREATE and USAGE on the schema; the tables must be its own"
        return StoreError(f"the server does not let this user ({text})", where=where, mend=mend)
    if state in ("42P01", "42703", "XX001", "XX002"):
        return StoreDamaged(f"the store's tables are damaged ({text})", where=where, mend=PUT_BACK)
    if state.startswith("23"):
        mend = "nothing was written; this is a bug in pyscheduler, please report it"
        return StoreError(f"the store refuses a contradiction ({text})", where=where, mend=mend)
    return StoreError(f"the store has failed ({text})", where=where)


def _line(error: psycopg.Error) -> str:
    """Return the first line of what was said: details quote rows, and a row may hold anything."""
    return (error.diag.message_primary or str(error).partition("\n")[0]).strip()
