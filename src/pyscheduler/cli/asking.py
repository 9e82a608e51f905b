"""Questions that several commands put to a scheduler: pages of runs, which run a word means, which jobs there are.

A name that nothing has is answered with what is near it: a job's open runs where an action was given the job, the runs
of a date where the number is missing, a job of a similar name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyscheduler.cli.client import Client
from pyscheduler.cli.faults import CommandError, no_such_job
from pyscheduler.cli.states import OPEN
from pyscheduler.errors import PyschedError
from pyscheduler.model.ids import SCHEDULER, parse_run_id

if TYPE_CHECKING:
    from pyscheduler.cli.session import Session

View = Mapping[str, Any]
PAGE: Final = 1000
"""The most a scheduler lists at once."""
SHOWN: Final = 5
"""Runs that an error names."""
_JOB_AND_DATE: Final = re.compile(r"([A-Za-z0-9_-]{1,64})\.(\d{4}-\d{2}-\d{2})\.?")


def pages_of(client: Client, what: str, limit: int, **query: object) -> Iterator[View]:
    """Yield up to `limit` items of a list (`runs`, `events`), newest first, asking for page after page."""
    cursor: str | None = None
    while limit > 0:
        answer = client.get(f"/api/{what}", limit=min(limit, PAGE), cursor=cursor, **query)
        yield from answer[what]
        limit -= len(answer[what])
        cursor = answer.get("next_cursor")
        if cursor is None:
            return


def pages_of_runs(client: Client, limit: int, **query: object) -> Iterator[View]:
    """Yield up to `limit` runs that match, newest first."""
    return pages_of(client, "runs", limit, **query)


def run_meant(session: Session, client: Client, word: str) -> str:
    """Return the id of the run that a word means: itself, or a job's newest run. Raises CommandError."""
    if is_run_id(word):
        return word
    if newest := _runs(client, job=word, limit=1):
        return str(newest[0]["run_id"])
    if word in known_jobs(session):
        raise CommandError(f"{word} has not run yet", mend=f"`pysched why {word}` says what it waits for")
    raise no_such_run(session, client, word)


def is_run_id(word: str) -> bool:
    """Whether a word has the form of a run's id."""
    try:
        parse_run_id(word)
    except ValueError:
        return False
    return True


def known_jobs(session: Session) -> Collection[str]:
    """Return the names of the scheduler's jobs, or of the file's where none answers; none where that fails, too."""
    try:
        return [job["name"] for job in session.client().get("/api/jobs")["jobs"]]
    except CommandError:
        try:
            return list(session.load().jobs)
        except PyschedError:
            return ()


def check_job(session: Session, client: Client, name: str) -> None:
    """Raise CommandError for a job that is neither configured nor known by a run that it had."""
    if name == SCHEDULER:
        return
    jobs = known_jobs(session)
    if jobs and name not in jobs and not _runs(client, job=name, limit=1):
        raise no_such_job(name, jobs, "")


def no_such_run(session: Session, client: Client, word: str) -> CommandError:
    """Return the error for a word that is no run's id, with the runs it may have meant."""
    dated = _JOB_AND_DATE.fullmatch(word)
    if dated is not None and (found := _runs(client, job=dated[1], run_date=dated[2], limit=SHOWN)):
        return CommandError(f"{word} is no run: its number is missing", mend=f"one of {_named(found)}")
    jobs = known_jobs(session)
    if word in jobs:
        found = _runs(client, job=word, state=list(OPEN), limit=SHOWN)
        mend = f"its open runs: {_named(found)}" if found else f"it has no open run; `pysched runs --job {word}`"
        return CommandError(f"{word} is a job, and this is done to runs", mend=mend)
    if dated is not None and dated[1] in jobs:
        return CommandError(f"{dated[1]} has no run of {dated[2]}", mend=f"`pysched runs --job {dated[1]}`")
    return no_such_job(dated[1] if dated is not None else word, jobs, "", kind="run or job")


def _runs(client: Client, *, job: str, **query: object) -> list[View]:
    """Return runs of a job; none for a word that can be no job."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", job):
        return []
    found: list[View] = client.get("/api/runs", job=job, **query)["runs"]
    return found


def _named(runs: list[View]) -> str:
    return ", ".join(f"{run['run_id']} ({run['state']})" for run in runs)
