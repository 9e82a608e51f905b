"""What PostgreSQL's errors mean: who must act, and that nothing but a server's first line is told."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors

from pyscheduler.errors import StoreDamaged, StoreError, StoreUnavailable
from pyscheduler.store.postgres.faults import is_busy, is_cut_off, is_lock_held, is_no_text, translated

WHERE = "postgresql://u@h/d"


@pytest.mark.parametrize(
    ("error", "kind", "what"),
    [
        (errors.DiskFull("x"), StoreUnavailable, "the server's disk is full"),
        (errors.TooManyConnections("x"), StoreUnavailable, "no connection left"),
        (errors.AdminShutdown("terminating"), StoreUnavailable, "ended the connection (terminating)"),
        (errors.CannotConnectNow("starting up"), StoreUnavailable, "ended the connection"),
        (errors.IdleInTransactionSessionTimeout("x"), StoreUnavailable, "ended the connection"),
        (errors.ReadOnlySqlTransaction("x"), StoreUnavailable, "read-only"),
        (errors.LockNotAvailable("x"), StoreUnavailable, "another session keeps the store locked"),
        (errors.DeadlockDetected("x"), StoreUnavailable, "another session"),
        (errors.QueryCanceled("x"), StoreUnavailable, "longer than it may"),
        (errors.InsufficientPrivilege("permission denied"), StoreError, "does not let this user"),
        (errors.UndefinedTable("no runs"), StoreDamaged, "tables are damaged (no runs)"),
        (errors.DataCorrupted("bad page"), StoreDamaged, "bad page"),
        (errors.UniqueViolation("twice"), StoreError, "refuses a contradiction (twice)"),
        (errors.InternalError_("odd"), StoreError, "has failed (odd)"),
        (
            psycopg.OperationalError("server closed the connection"),
            StoreUnavailable,
            "reached (server closed",
        ),
        (psycopg.OperationalError("session is read-only"), StoreUnavailable, "a standby"),
        (psycopg.OperationalError("the database system is starting up"), StoreUnavailable, "cannot be reached"),
        (psycopg.ProgrammingError("odd"), StoreError, "has failed (odd)"),
    ],
)
def test_who_must_act_is_in_the_class(error: psycopg.Error, kind: type[StoreError], what: str) -> None:
    """What may pass by itself is unavailable; what a person must mend is not."""
    found = translated(error, WHERE)
    assert type(found) is kind
    assert what in found.what
    assert found.where == WHERE
    assert not found.outcome_unknown


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ('FATAL:  password authentication failed for user "u"', "does not take this user's password"),
        ('FATAL:  role "u" does not exist', "does not know this user"),
        ('FATAL:  database "d" does not exist', "no such database"),
        ('FATAL:  no pg_hba.conf entry for host "192.0.2.1"', "lets nobody in from here"),
        ("fe_sendauth: no password supplied", "wants a password"),
    ],
)
def test_a_refusal_at_the_door_says_what_to_do(said: str, what: str) -> None:
    """It has no code, so its words are looked at."""
    found = translated(psycopg.OperationalError(f"connection failed: {said}"), WHERE)
    assert type(found) is StoreError
    assert what in found.what
    assert found.mend


def test_rows_are_not_told() -> None:
    """A second line may quote what somebody saved."""
    assert "s3cret" not in str(translated(psycopg.OperationalError("lost\nDETAIL: s3cret"), WHERE))


def test_a_lost_commit_is_unknown() -> None:
    """As in a file."""
    assert translated(psycopg.OperationalError("lost"), WHERE, committing=True).outcome_unknown


def test_what_is_tried_again() -> None:
    """Somebody in the way, and nothing else; a statement cut off is another matter."""
    assert is_busy(errors.DeadlockDetected())
    assert is_busy(errors.LockNotAvailable())
    assert is_lock_held(errors.LockNotAvailable())
    assert not is_lock_held(errors.DeadlockDetected())
    assert not is_busy(errors.DiskFull())
    assert is_cut_off(errors.QueryCanceled())
    assert not is_cut_off(errors.DeadlockDetected())


def test_what_no_text_can_hold() -> None:
    """The driver's refusal and the server's; a number out of range is no text."""
    assert is_no_text(psycopg.DataError("cannot contain NUL"))
    assert is_no_text(errors.UntranslatableCharacter())
    assert is_no_text(UnicodeEncodeError("utf-8", "\udc80", 0, 1, "surrogates"))
    assert not is_no_text(errors.NumericValueOutOfRange())
