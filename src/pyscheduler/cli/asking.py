"""Questions that several commands put to a running scheduler: pages of runs, and which run a word means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyscheduler.cli.client import Client
from pyscheduler.cli.faults import CommandError
from pyscheduler.model.ids import parse_run_id

View = Mapping[str, Any]
PAGE: Final = 1000
"""The most a scheduler lists at once."""


def pages_of_runs(client: Client, limit: int, **query: object) -> Iterator[View]:
    """Yield up to `limit` runs that match, newest first, asking for page after page."""
    cursor: str | None = None
    while limit > 0:
        answer = client.get("/api/runs", limit=min(limit, PAGE), cursor=cursor, **query)
        yield from answer["runs"]
        limit -= len(answer["runs"])
        cursor = answer.get("next_cursor")
        if cursor is None:
            return


def run_meant(client: Client, word: str) -> str:
    """Return the id of the run that a word means: itself, or a job's newest run. Raises CommandError."""
    if is_run_id(word):
        return word
    newest = client.get("/api/runs", job=word, limit=1)["runs"]
    if not newest:
        raise CommandError(f"{word} is no run, and no job that has one", mend="`pysched runs` lists the runs")
    return str(newest[0]["run_id"])


def is_run_id(word: str) -> bool:
    """Whether a word has the form of a run's id."""
    try:
        parse_run_id(word)
    except ValueError:
        return False
    return True
