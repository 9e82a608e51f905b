"""What the store can tell of a firing that got no run: the logbook's line about it, and since when its job is known.

Reads only, and blocks: for a helper thread. That a recorded configuration has a job is told by its text, in which the
job's name stands as a key; that is as near as it can be told without reading the configuration anew.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

from pyscheduler.model.run import LogbookLine
from pyscheduler.store import LineQuery
from pyscheduler.store.reads import Reads

VERSIONS: Final = 1000
RECORDS: Final = 20
"""Recorded configurations that are read whole to find out when a job appeared."""


def dropped_line(store: Reads, job: str, due: datetime) -> LogbookLine | None:
    """Return the line that tells of dropped firings, `due` among them."""
    query = LineQuery(job=job, action="firings_dropped", since=due, limit=100, newest_first=False)
    return next((line for line in store.lines(query).items if _covers(line.detail, due)), None)


def _covers(detail: Any, due: datetime) -> bool:
    try:
        return bool(datetime.fromisoformat(detail["first"]) <= due <= datetime.fromisoformat(detail["last"]))
    except (KeyError, TypeError, ValueError):
        return False


def first_known(store: Reads, job: str, due: datetime) -> datetime | None:
    """Return the instant from which on the recorded configurations know the job, as far as that matters for `due`."""
    versions = store.config_versions(VERSIONS)  # newest first
    before = next((version for version in versions if version.loaded_at <= due), None)
    if before is not None and _defines(store, before.version, job):
        return before.loaded_at
    later = [version for version in reversed(versions) if version.loaded_at > due]
    return next((version.loaded_at for version in later[:RECORDS] if _defines(store, version.version, job)), None)


def _defines(store: Reads, version: int, job: str) -> bool:
    """Whether a recorded configuration has the job's name as a key, which is as near as its text can tell."""
    record = store.config(version)
    key = re.compile(rf"^\s*[\"']?{re.escape(job)}[\"']?\s*:", re.MULTILINE)
    return record is not None and any(key.search(source.text) for source in record.sources)
