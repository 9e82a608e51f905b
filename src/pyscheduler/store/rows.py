"""Row ↔ value, pure: the only place that knows how a noun is spelled in a table. The format stands in `schema.py`.

Both directions are hot: a start reads a hundred thousand runs back, and every state change writes one. So there is one
tuple a row, in the order of `columns.py`, and words are looked up instead of parsed.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import repeat
from operator import call
from typing import Any, Final

from pyscheduler.errors import NaiveTime
from pyscheduler.model.config_record import ConfigRecord, ConfigVersion
from pyscheduler.model.job import ConfigSource
from pyscheduler.model.run import Attempt, Cause, LogbookLine, Outcome, Run, RunState, Trigger
from pyscheduler.store import columns

Row = tuple[Any, ...]

_RUN_SLOTS: Final[tuple[Callable[[Run, Any], None], ...]] = tuple(getattr(Run, name).__set__ for name in columns.RUN)
_ATTEMPT_SLOTS: Final[tuple[Callable[[Attempt, Any], None], ...]] = tuple(
    getattr(Attempt, name).__set__ for name in columns.ATTEMPT
)
_STARTED_AT, _ENDED_AT, _OUTCOME = map(columns.ATTEMPT.index, ("started_at", "ended_at", "outcome"))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STATES: Final = {state.value: state for state in RunState}
_TRIGGERS: Final = {trigger.value: trigger for trigger in Trigger}
_CAUSES: Final = {cause.value: cause for cause in Cause}
_OUTCOMES: Final = {outcome.value: outcome for outcome in Outcome}

day: Final = lru_cache(maxsize=4096)(date.fromisoformat)


def micros(instant: datetime) -> int:
    """Return whole microseconds since 1970 UTC, exact for every year. Raises NaiveTime."""
    try:
        since = instant - _EPOCH
    except TypeError:
        raise NaiveTime(f"the store was given the instant {instant.isoformat()} without a time zone") from None
    return (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds


def instant(value: int) -> datetime:
    """Return the aware UTC instant; the inverse of `micros`."""
    return _EPOCH + timedelta(0, 0, value)


_often_the_same: Final = lru_cache(maxsize=256)(instant)
"""`instant` for `scheduled_at`: runs that are read one after the other often share it."""


def micros_or_none(value: datetime | None) -> int | None:
    """Return `micros` of what may be null."""
    return None if value is None else micros(value)


def instant_or_none(value: int | None) -> datetime | None:
    """Return the inverse of `micros_or_none`."""
    return None if value is None else instant(value)


# --------------------------------------------------------------------------- runs and attempts


def run_row(run: Run) -> Row:
    """Return the run as a row of RUN's columns."""
    return (
        run.run_id,
        micros(run.scheduled_at),
        run.state.value,
        run.trigger.value,
        run.job,
        run.run_date.isoformat(),
        run.seq,
        micros(run.created_at),
        micros(run.updated_at),
        run.reason,
        run.cause.value,
        run.attempt,
        run.attempt_base,
        run.reruns,
        run.config_version,
        int(run.forced),
        None if run.held_from is None else run.held_from.value,
        micros_or_none(run.not_before),
        micros_or_none(run.queued_at),
        micros_or_none(run.wait_until),
        micros_or_none(run.offered_at),
    )


def run_of(row: Row) -> Run:
    """Return the run of a row of RUN's columns."""
    (
        run_id,
        scheduled_at,
        state,
        trigger,
        job,
        run_date,
        seq,
        created_at,
        updated_at,
        reason,
        cause,
        attempt,
        attempt_base,
        reruns,
        config_version,
        forced,
        held_from,
        not_before,
        queued_at,
        wait_until,
        offered_at,
    ) = row
    values = (
        run_id,
        _often_the_same(scheduled_at),
        _STATES[state],
        _TRIGGERS[trigger],
        job,
        day(run_date),
        seq,
        instant(created_at),
        instant(updated_at),
        reason,
        _CAUSES[cause],
        attempt,
        attempt_base,
        reruns,
        config_version,
        forced == 1,
        None if held_from is None else _STATES[held_from],
        None if not_before is None else instant(not_before),
        None if queued_at is None else instant(queued_at),
        None if wait_until is None else instant(wait_until),
        None if offered_at is None else instant(offered_at),
    )
    # Slot by slot, and twice as fast as the constructor of a frozen dataclass: a start makes a hundred thousand.
    run = object.__new__(Run)
    deque(map(call, _RUN_SLOTS, repeat(run), values), maxlen=0)
    return run


def attempt_row(attempt: Attempt) -> Row:
    """Return the attempt as a row of ATTEMPT's columns."""
    return (
        attempt.run_id,
        attempt.attempt,
        attempt.key,
        micros(attempt.started_at),
        attempt.config_version,
        attempt.boot_id,
        attempt.pid,
        micros_or_none(attempt.ended_at),
        attempt.exit_code,
        attempt.signal,
        None if attempt.outcome is None else attempt.outcome.value,
        attempt.reason,
        attempt.stdout_path,
        attempt.stderr_path,
        attempt.status_path,
        attempt.kill_by,
        attempt.cpu_s,
        attempt.max_rss_bytes,
        attempt.note,
    )


def attempt_of(row: Row) -> Attempt:
    """Return the attempt of a row of ATTEMPT's columns."""
    values = list(row)
    values[_STARTED_AT] = instant(row[_STARTED_AT])
    values[_ENDED_AT] = instant_or_none(row[_ENDED_AT])
    values[_OUTCOME] = None if row[_OUTCOME] is None else _OUTCOMES[row[_OUTCOME]]
    attempt = object.__new__(Attempt)  # as in `run_of`: a page of two hundred runs makes as many
    deque(map(call, _ATTEMPT_SLOTS, repeat(attempt), values), maxlen=0)
    return attempt


# --------------------------------------------------------------------------- logbook and configurations


def line_row(line: LogbookLine) -> Row:
    """Return the line as a row of LINE's columns; its number is the store's to give."""
    return (micros(line.at), line.actor, line.action, line.run_id, line.job, json_text(line.detail))


def line_of(row: Row) -> LogbookLine:
    """Return the line of a row of LINE's columns with its number in front."""
    number, at, actor, action, run_id, job, detail = row
    return LogbookLine(
        id=number, at=instant(at), actor=actor, action=action, run_id=run_id, job=job, detail=json.loads(detail)
    )


def config_row(record: ConfigRecord) -> Row:
    """Return the configuration as a row of CONFIG's columns."""
    sources = [[source.path, source.text] for source in record.sources]
    return (record.version, micros(record.loaded_at), record.digest, json.dumps(sources, ensure_ascii=False))


def config_of(row: Row) -> ConfigRecord:
    """Return the configuration of a row of CONFIG's columns."""
    version, loaded_at, digest, sources = row
    return ConfigRecord(
        version=version,
        loaded_at=instant(loaded_at),
        digest=digest,
        sources=tuple(ConfigSource(path=path, text=text) for path, text in json.loads(sources)),
    )


def config_version_of(row: Row) -> ConfigVersion:
    """Return the configuration without its text, of a row of CONFIG's columns but the last."""
    version, loaded_at, digest = row
    return ConfigVersion(version=version, loaded_at=instant(loaded_at), digest=digest)


def json_text(detail: Mapping[str, object]) -> str:
    """Return details as the text that stands in a row."""
    return _encode(dict(detail)) if detail else "{}"


def _plain(value: object) -> object:
    """Return what JSON can hold; a logbook line must not stop a commit for the type of its detail."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z") if value.tzinfo else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    return str(value)


_encode: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=_plain).encode

# --------------------------------------------------------------------------- text that cannot be held


def cleaned(table: Sequence[Row]) -> list[Row]:
    """Return the rows with every lone surrogate replaced by `?`: a job's odd bytes must not stop a commit."""
    return [tuple(_clean(value) if isinstance(value, str) else value for value in row) for row in table]


def without_nul(row: Row) -> Row:
    """Return the row with every NUL replaced by `?`: PostgreSQL holds no text with one."""
    return tuple(value.replace("\0", "?") if isinstance(value, str) else value for value in row)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
