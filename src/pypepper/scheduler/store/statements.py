"""The statements of the SQL stores: each put is judged by the database, in one statement. Spec: pipeline.md 12 and 13.

PostgreSQL and SQLite insert, and on a row that is there already update it under the condition, as one statement. MySQL
cannot tell a skipped update from an insert, so there the update and the insert are two statements, each whole.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, Insert, Select, Update, and_, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite

from pypepper.scheduler.store.interfaces import JobRecord
from pypepper.scheduler.store.lifecycle import existing_statuses_put_may_replace
from pypepper.scheduler.store.rows import to_row
from pypepper.scheduler.store.tables import scheduler_jobs as jobs

_KEPT: Final = frozenset({"id", "created", "version"})
"""What an update never takes from the record: the row's own stays, and the version is counted."""
_REPLACED: Final = tuple(column.name for column in jobs.c if column.name not in _KEPT)

_SLOTS: Final = tuple(f"replaceable_{number}" for number in range(5))
"""No status may replace more than five; a list of fixed length spares taking the statement apart at every put."""

FOUND: Final[Select[Any]] = select(jobs).where(jobs.c.id == bindparam("job_id"))
INSERT: Final[Insert] = jobs.insert().values({column.name: bindparam(column.name) for column in jobs.c})


def _may_write(version: ColumnElement[int]) -> ColumnElement[bool]:
    return and_(jobs.c.version == version, jobs.c.status.in_([bindparam(slot) for slot in _SLOTS]))


def _upsert(dialect: Any) -> Insert:
    statement = dialect.insert(jobs).values({column.name: bindparam(column.name) for column in jobs.c})
    replaced = {name: statement.excluded[name] for name in _REPLACED}
    upsert: Insert = statement.on_conflict_do_update(
        index_elements=[jobs.c.id],
        set_={**replaced, "version": jobs.c.version + 1},
        where=_may_write(statement.excluded.version),
    )
    return upsert.execution_options(preserve_rowcount=True)


UPSERTS: Final = {"sqlite": _upsert(sqlite), "postgresql": _upsert(postgresql)}
"""By dialect; one row changed means True, none means that the row forbids it."""
UPDATE: Final[Update] = (
    jobs.update()
    .where(jobs.c.id == bindparam("the_id"), _may_write(bindparam("the_version")))
    .values({**{name: bindparam(name) for name in _REPLACED}, "version": jobs.c.version + 1})
)
"""For the other dialects; needs `update_values`."""


def upsert_values(record: JobRecord) -> dict[str, Any]:
    """Return the parameters of an upsert."""
    return to_row(record) | _replaceable(record.status)


def update_values(record: JobRecord) -> dict[str, Any]:
    """Return the parameters of UPDATE."""
    row = to_row(record)
    replaced = {name: row[name] for name in _REPLACED}
    return replaced | {"the_id": record.id, "the_version": record.version} | _replaceable(record.status)


def _replaceable(status: str) -> dict[str, str]:
    words = sorted(existing_statuses_put_may_replace(status))
    return {slot: words[min(place, len(words) - 1)] for place, slot in enumerate(_SLOTS)}
