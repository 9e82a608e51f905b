"""Names that outlive a process: run ids, attempt keys.

A run id is `<job>.<YYYY-MM-DD>.<seq>`: it is also a file name part and one URL path segment, so a job's name
holds only letters, digits, `_` and `-`. Spec: jobs.md 3.1.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final, NamedTuple

NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_RUN_ID: Final = re.compile(r"([A-Za-z0-9_-]{1,64})\.(\d{4}-\d{2}-\d{2})\.([1-9]\d{0,9})")

SCHEDULER: Final = "_scheduler"
"""The reserved job name: what concerns no job at all is said of this one."""


class RunId(NamedTuple):
    """The parts of a run id."""

    job: str
    run_date: date
    seq: int


def make_run_id(job: str, run_date: date, seq: int) -> str:
    """Return the run id; the inverse of `parse_run_id`. ValueError where a part could not be read back."""
    text = f"{job}.{run_date.isoformat()}.{seq}"
    if not _RUN_ID.fullmatch(text):
        raise ValueError(f"no run id can be made of {job!r}, {run_date}, {seq}")
    return text


def parse_run_id(text: str) -> RunId:
    """Return the parts of a run id; ValueError for anything not in the exact spelling."""
    match = _RUN_ID.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no run id; one looks like nightly.2027-05-20.1")
    return RunId(match[1], date.fromisoformat(match[2]), int(match[3]))
