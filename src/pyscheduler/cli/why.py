"""`why`: one culprit, one sentence, one way out. Promise P7.

The running scheduler answers. When none runs that is the first half of the answer, and the second is what the same
rules make of what the store holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Final

import click

from pyscheduler.cli.asking import is_run_id
from pyscheduler.cli.complete import job_names
from pyscheduler.cli.faults import Unreachable
from pyscheduler.cli.moments import DATE
from pyscheduler.cli.options import json_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.text import on_one_line
from pyscheduler.cli.times import Times, parse_instant

MOST_LINKS: Final = 20
_IN_WORDS: Final = {"retry_wait": "waiting for its next try"}


@verb("why", "pysched why load", "pysched why load 2027-05-20", "pysched why load.2027-05-20.1 --json")
@click.argument("job", shell_complete=job_names, metavar="JOB|RUN")
@click.argument("day", required=False, type=DATE, metavar="[DATE]")
@json_option
@pass_session
def why(session: Session, job: str, day: date | None, as_json: bool) -> None:
    """Say why a job does not run, and what would release it.

    For a run date in the past, today or to come; without one for the job's oldest open run, or else for the date it
    would be triggered for now. A run's id asks about that run. Where an upstream is to blame, the answer goes on to
    the upstream's own reason, down to the root. The exit code is 0 whatever the answer.
    """
    if day is not None and is_run_id(job):
        raise click.UsageError("a run has its own run date: leave the date out")
    day = None if day is None else session.settle(day)
    query = {"run": job} if is_run_id(job) else {"job": job, "run_date": None if day is None else day.isoformat()}
    try:
        answer = session.client().get("/api/why", **query)
    except Unreachable as error:
        answer = _offline(session, error, job, day)
    if as_json:
        session.print_json(answer)
    else:
        for line in _lines(answer, session.place.times):
            session.tell(line)


def _offline(session: Session, error: Unreachable, job: str, day: date | None) -> Mapping[str, Any]:
    """Answer without the scheduler, in the same shape, with `scheduler` saying why it is out of reach."""
    from pyscheduler.cli.onlooker import explain_offline

    answer = explain_offline(session, job, day)
    return {"scheduler": {"error": error.what, "mend": error.mend}, **answer}


def _lines(answer: Mapping[str, Any], times: Times) -> Iterator[str]:
    if "scheduler" in answer:
        yield f"{answer['scheduler']['error']}, so nothing starts now"
        yield f"  way out: {answer['scheduler']['mend']}"
        yield "What its store says:"
    link: Mapping[str, Any] | None = answer["why"]
    depth = 0
    while link is not None and depth < MOST_LINKS:
        yield from _link_lines(link, depth)
        link, depth = link["because"], depth + 1
    if answer.get("next_firing"):
        yield f"next firing: {times.full(parse_instant(answer['next_firing']))}"


def _link_lines(link: Mapping[str, Any], depth: int) -> Iterator[str]:
    indent = "  " * depth
    run = link["run"]
    if run is None:
        yield f"{indent}{link['job']} has no run of {link['run_date']}"
    else:
        yield f"{indent}{run['run_id']} is {_IN_WORDS.get(run['state'], run['state'])}"
    yield f"{indent}  {on_one_line(link['text'])}"
    yield f"{indent}  way out: {on_one_line(link['release'])}"
