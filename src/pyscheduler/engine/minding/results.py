"""From a note to an AttemptResult, and back to nothing where the note is not to be believed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime

from pyscheduler.minder import notes
from pyscheduler.model.result import AttemptResult


def pid_path(status_path: str | os.PathLike[str]) -> str:
    """Return the path of the attempt's identity file."""
    return notes.identity_path(os.fspath(status_path))


def read_status(status_path: str | os.PathLike[str], key: str | None = None) -> AttemptResult | None:
    """Return how the attempt ended, None where no readable note with that key says so. `key` None takes any."""
    note = notes.read_note(os.fspath(status_path), key)
    return None if note is None else result_of(note)


def result_of(note: Mapping[str, object]) -> AttemptResult:
    """Return what a note says. A field of the wrong type counts as absent."""
    usage = note.get("rusage")
    usage = usage if isinstance(usage, dict) else {}
    return AttemptResult(
        exit_code=_int(note.get("exit_code")),
        signal=_int(note.get("signal")),
        started_at=_instant(note.get("started_at")),
        ended_at=_instant(note.get("ended_at")),
        start_error=_text(note.get("start_error")),
        stopped_by=_text(note.get("stopped_by")),
        lost=_text(note.get("lost")),
        survivors=_pids(note.get("survivors")),
        leftovers=_pids(note.get("leftovers")),
        cpu_s=_float(usage.get("cpu_s")),
        max_rss_bytes=_int(usage.get("max_rss_bytes")),
        note=(_text(note.get("reason")) or "") if note.get("stopped_by") == "lease" else "",
    )


def _int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _instant(value: object) -> datetime | None:
    try:
        instant = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return instant if instant is not None and instant.tzinfo is not None else None


def _pids(value: object) -> tuple[int, ...]:
    return tuple(pid for pid in value if isinstance(pid, int)) if isinstance(value, list) else ()
