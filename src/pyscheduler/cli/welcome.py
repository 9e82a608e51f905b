"""`pysched` alone: says what to do next, by looking at what is there. DESIGN 11."""

from __future__ import annotations

from collections.abc import Iterator

from pyscheduler.cli.faults import NoConfiguration, Refused, Unreachable, counted, lines_of
from pyscheduler.cli.session import Session
from pyscheduler.cli.times import parse_instant
from pyscheduler.errors import ConfigError


def welcome(session: Session) -> None:
    """Print the next step."""
    for line in _lines(session):
        session.tell(line)


def _lines(session: Session) -> Iterator[str]:
    try:
        place = session.place
    except NoConfiguration:
        yield "There is no configuration here yet."
        yield from _steps(
            ("pysched demo", "shows a nightly chain of jobs at work"),
            ("pysched init", "writes a pysched.yaml to begin with"),
            ("pysched -c FILE", "uses one that lies elsewhere"),
        )
        return
    except ConfigError as error:
        yield from lines_of(error)
        yield from _steps(("pysched validate", "says everything that is wrong with it"))
        return
    try:
        scheduler = session.hasty_client(timeout_s=2.0).get("/api/scheduler")
    except Unreachable as error:
        yield f"{place.config} is there; {error.what}."
        yield from _steps(
            ("pysched validate", "checks the configuration"),
            ("pysched next", "shows when its jobs fire"),
            ("pysched serve", "runs the scheduler"),
            ("pysched doctor", "looks for what is amiss, if it should be running"),
        )
        return
    except Refused as error:
        yield from lines_of(error)
        yield from _steps(("pysched doctor", "looks for what is amiss"))
        return
    upcoming = scheduler["next_firing"]
    when = f"; next firing {place.times.full(parse_instant(upcoming))}" if upcoming else ""
    yield f"{scheduler['name']} runs {counted(scheduler['config']['jobs'], 'job')} of {place.config}{when}."
    yield from _steps(
        ("pysched status", "shows today's runs"),
        ("pysched jobs", "lists the jobs"),
        ("pysched why JOB", "says why a job does not run"),
        ("pysched --help", "lists all commands"),
    )


def _steps(*steps: tuple[str, str]) -> Iterator[str]:
    width = max(len(command) for command, _ in steps)
    yield ""
    for command, what in steps:
        yield f"  {command.ljust(width)}  {what}"
