"""What may be asked of the store, and the shape of the answers.

A list is read in pages. A page has at most `limit` items and says where the next one begins: `next_cursor` is None at
the end and only there. A page may hold fewer items than `limit`, even none, and still have a `next_cursor`: the store
looks at a bounded number of rows for one page, and a text that hardly anything matches uses them up. Spec: jobs.md
13.4, DESIGN 7 ("Text search") and 8 row 16.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Generic, NamedTuple, TypeVar

from pyscheduler.errors import BadRequest
from pyscheduler.model.alert import AlertKind
from pyscheduler.model.run import Cause, RunState, Trigger

T_co = TypeVar("T_co", covariant=True)

LIMIT: Final = 100
MAX_LIMIT: Final = 1000


_CURSOR: Final = re.compile(r"(-?[0-9]{1,18})~([A-Za-z0-9_.-]{1,99})")


def cursor_at(at: int, name: str | int) -> str:
    """Return the cursor after one item: its instant in microseconds and what tells it from others of that instant."""
    return f"{at}~{name}"


def position(cursor: str) -> tuple[int, str]:
    """Return what `cursor_at` was given. Raises BadRequest for anything else."""
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise no_cursor(cursor)
    return int(found[1]), found[2]


def no_cursor(cursor: str) -> BadRequest:
    """Return the error for a cursor that is none of the list's."""
    return BadRequest(f"{cursor!r} is no cursor of this list", mend="pass on next_cursor as it came")


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_LIMIT:
        raise BadRequest(f"limit is {limit}", mend=f"it goes from 1 to {MAX_LIMIT}")


@dataclass(frozen=True, slots=True)
class Page(Generic[T_co]):
    """Part of a list, and where the next part begins."""

    items: tuple[T_co, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Which runs, in which order. What is None or empty does not restrict, but for empty `jobs`: they match nothing.

    `jobs` is what a chosen tag resolves to; with `job` both must hold. `since` is included, `until` is not; both speak
    of `scheduled_at`. Newest `scheduled_at` first, ties by run id; `newest_first=False` is the exact reverse.

    `text` matches run ids that begin with it and runs of `text_jobs` (the jobs whose names or tags contain it, which
    only the caller knows). Where `run_date` or `since` is given it also matches reasons that contain it; there
    the case of the letters A to Z does not matter.
    """

    job: str | None = None
    jobs: Collection[str] | None = None
    states: Collection[RunState] = ()
    run_date: date | None = None
    since: datetime | None = None
    until: datetime | None = None
    trigger: Trigger | None = None
    text: str = ""
    text_jobs: Collection[str] = ()
    limit: int = LIMIT
    cursor: str | None = None
    newest_first: bool = True

    def __post_init__(self) -> None:
        _check_limit(self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineQuery:
    """Which logbook lines, in which order. `since` is included, `until` is not.

    `text` matches actor, action, run id and the detail as it is kept, JSON; letters' case does not matter.

    Newest first, ties by number; the lines of one run are ordered by number alone, so that a clock that was set back
    cannot put an effect before its cause.
    """

    run_id: str | None = None
    job: str | None = None
    actor: str | None = None
    action: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""
    limit: int = LIMIT
    cursor: str | None = None
    newest_first: bool = True

    def __post_init__(self) -> None:
        _check_limit(self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertQuery:
    """Which alerts, newest first, ties by id. `since` is included and speaks of `raised_at`."""

    kind: AlertKind | None = None
    job: str | None = None
    since: datetime | None = None
    limit: int = LIMIT
    cursor: str | None = None

    def __post_init__(self) -> None:
        _check_limit(self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """Which rows of the audit log, in which order. `since` is included, `until` is not.

    Newest first, ties by number. `text` is looked for in actor, action, subject, reason, address and result, whatever
    the case of its letters.
    """

    actor: str | None = None
    action: str | None = None
    subject: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""
    limit: int = LIMIT
    cursor: str | None = None
    newest_first: bool = True

    def __post_init__(self) -> None:
        _check_limit(self.limit)


class LatestRow(NamedTuple):
    """The run that stands for its job and date: all that a dependency's verdict needs. DESIGN 3 "Memory", 8 row 2."""

    run_id: str
    job: str
    run_date: date
    seq: int
    scheduled_at: datetime
    state: RunState
    cause: Cause


class StoreFacts(NamedTuple):
    """What `pysched doctor` says about a store. `is_safe`: this SQLite cannot lose pages to a second writer."""

    driver: str
    sqlite_version: str
    is_safe: bool
    revision: str
    file_bytes: int
    log_bytes: int


class PrunableRun(NamedTuple):
    """A run that may go, and the log files of its attempts."""

    run_id: str
    log_paths: tuple[str, ...]
