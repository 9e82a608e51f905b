"""One write transaction: BEGIN IMMEDIATE, the work, COMMIT, and what is known when one of the three fails.

BEGIN IMMEDIATE takes the write lock at the start, because a transaction that reads first and then wants to write
fails at once with SQLITE_BUSY_SNAPSHOT, busy timeout or not (field case FC-054). A lock held by another program is
waited for and the whole transaction tried again, TRIES times in all; nothing else is. An error from COMMIT itself is
neither success nor failure: the log may hold the commit and bring it back at the next opening, so it is reported as
unknown (FC-090).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from pyscheduler.store.driver import Connection
from pyscheduler.store.faults import DRIVER_ERRORS, is_busy, translated

TRIES: Final = 2
"""With the driver's own wait of BUSY_S for each: ten seconds before a lock becomes a failure."""


def transact(connection: Connection, work: Callable[[Connection], None], path: Path) -> None:
    """Do the work in one transaction that is durable on return.

    Raises StoreError with `outcome_unknown` where COMMIT failed; anything else means that nothing was changed.
    """
    for left in reversed(range(TRIES)):
        try:
            connection.execute("BEGIN IMMEDIATE")
            work(connection)
        except BaseException as error:
            _roll_back(connection)
            if not isinstance(error, DRIVER_ERRORS):
                raise
            if left and is_busy(error):
                continue
            raise translated(error, path) from error
        try:
            connection.execute("COMMIT")
        except DRIVER_ERRORS as error:
            _roll_back(connection)
            if left and is_busy(error):
                continue
            raise translated(error, path, committing=not is_busy(error)) from error
        return


def _roll_back(connection: Connection) -> None:
    """Leave the transaction, unless SQLite has done so by itself, as it does after a full disk or an IO error."""
    if connection.in_transaction:
        with suppress(*DRIVER_ERRORS):
            connection.execute("ROLLBACK")
