"""The parts of the SQL stores that need no database: who is at fault, and what is tried again."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError, OperationalError

from pypepper.scheduler.store.sql import _broke, _code, _unless_deadlocked


def trouble(*args: object, broken: bool = False) -> OperationalError:
    """Return what SQLAlchemy raises for a driver's error with these arguments."""
    return OperationalError("UPDATE", {}, Exception(*args), connection_invalidated=broken)


def scripted(*script: object) -> Any:
    """Return a statement that raises or returns what the script says, call by call."""
    left = list(script)

    def statement() -> object:
        said = left.pop(0)
        if isinstance(said, Exception):
            raise said
        return said, len(left)

    return statement


@pytest.mark.parametrize("number", [1205, 1213])
def test_a_deadlock_is_tried_again(number: int) -> None:
    """The server undid the statement to let another go first."""
    assert _unless_deadlocked(scripted(trouble(number, "x"), trouble(number, "x"), "done", "left")) == ("done", 1)


def test_a_deadlock_is_tried_five_times() -> None:
    """Then it is the caller's."""
    assert _unless_deadlocked(scripted(*[trouble(1213)] * 4, "done")) == ("done", 0)
    with pytest.raises(OperationalError):
        _unless_deadlocked(scripted(*[trouble(1213)] * 5, "never"))


@pytest.mark.parametrize("error", [trouble(1146), trouble(), trouble(1213, broken=True)])
def test_other_trouble_is_not(error: OperationalError) -> None:
    """Least of all a broken connection: nobody knows what became of the statement."""
    with pytest.raises(OperationalError):
        _unless_deadlocked(scripted(error, "never"))


def test_the_number_of_an_error() -> None:
    """MySQL's number, or None where a driver says nothing."""
    assert _code(trouble(1062, "x")) == 1062
    assert _code(trouble()) is None
    assert _code(DBAPIError("x", {}, None)) is None  # type: ignore[arg-type]


def test_what_counts_as_broken() -> None:
    """Only a connection that the driver gave up."""
    assert _broke(trouble(2013, broken=True))
    assert not _broke(trouble(2013))
    assert not _broke(OSError("x"))
