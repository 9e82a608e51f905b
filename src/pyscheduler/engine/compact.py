"""Ended runs, packed: a hundred thousand of them stay in memory, and few are ever looked at again.

A packed run is about a fifth of the object it stands for. Only final runs are packed, and what a final run never has
(`held_from`, `not_before`, `queued_at`, `wait_until`, `offered_at`, `forced`) is left out; everything else comes back
as it was.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Final

from pyscheduler.model.ids import parse_run_id
from pyscheduler.model.run import Cause, Run, RunState, Trigger

_FIXED: Final = Struct("<qqqBBBIIIi")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_US: Final = timedelta(microseconds=1)
_STATES: Final = tuple(RunState)
_TRIGGERS: Final = tuple(Trigger)
_CAUSES: Final = tuple(Cause)


def pack(run: Run) -> bytes:
    """Return a final run, packed."""
    head = _FIXED.pack(
        (run.scheduled_at - _EPOCH) // _US,
        (run.created_at - _EPOCH) // _US,
        (run.updated_at - _EPOCH) // _US,
        _STATES.index(run.state),
        _TRIGGERS.index(run.trigger),
        _CAUSES.index(run.cause),
        run.attempt,
        run.attempt_base,
        run.reruns,
        run.config_version,
    )
    return head + run.reason.encode("utf-8", "surrogatepass")


def unpack(run_id: str, packed: bytes) -> Run:
    """Return the run that `pack` was given."""
    job, run_date, seq = parse_run_id(run_id)
    scheduled, created, updated, state, trigger, cause, attempt, base, reruns, version = _FIXED.unpack_from(packed)
    return Run(
        run_id=run_id,
        job=job,
        run_date=run_date,
        seq=seq,
        scheduled_at=_EPOCH + timedelta(microseconds=scheduled),
        created_at=_EPOCH + timedelta(microseconds=created),
        updated_at=_EPOCH + timedelta(microseconds=updated),
        state=_STATES[state],
        trigger=_TRIGGERS[trigger],
        cause=_CAUSES[cause],
        reason=packed[_FIXED.size :].decode("utf-8", "surrogatepass"),
        attempt=attempt,
        attempt_base=base,
        reruns=reruns,
        config_version=version,
    )
