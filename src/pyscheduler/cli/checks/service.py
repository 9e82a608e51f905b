"""The scheduler itself: whether it runs, what it says of itself, and what would kill its jobs along with it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from pyscheduler import __version__
from pyscheduler.cli.checks.finding import Finding, bad, ok, warn
from pyscheduler.cli.client import Client
from pyscheduler.cli.faults import CommandError, Refused, Unreachable, counted

View = Mapping[str, Any]


def service(client: Client, max_running: int) -> Iterator[Finding]:
    """Yield what the running scheduler says of itself, or what awaits one that is started from here."""
    try:
        told = client.get("/api/scheduler")
    except Unreachable as error:
        yield _unreached(error)
        if error.nobody:
            yield from _surroundings(max_running)
    except Refused as error:
        yield bad("scheduler", error.what, error.mend or "its log says more")
    except CommandError as error:
        yield bad("scheduler", error.what, error.mend)
    else:
        yield from told_by(told)


def _unreached(error: Unreachable) -> Finding:
    """Judge that nobody answers: nobody there is as it should be, unless one was there and went without a word."""
    if not error.nobody:
        return warn("scheduler", error.what, error.mend)
    if error.left_behind:
        return warn("scheduler", error.what, f"{error.mend}; jobs that were running go on and are found again")
    return ok("scheduler", error.what)


def told_by(told: View) -> Iterator[Finding]:
    """Judge the scheduler's own words."""
    config = told["config"]
    jobs = counted(config["jobs"], "job")
    where = f", at http://{told['listen']}" if told.get("listen") else ""
    yield ok("scheduler", f"{told['name']} runs, {jobs}, configuration version {config['version']}{where}")
    if told["version"] != __version__:
        what = f"it is release {told['version']}, and this command is {__version__}"
        yield warn("release", what, "restart the scheduler: running jobs go on")
    trouble = told["engine"]["last_trouble"]
    if trouble:
        yield warn("engine", f"it has failed {told['engine']['failures']} times, last: {trouble}", "mend that cause")
    if told["config"]["reload_failure"] is not None:
        yield warn("reload", "the last one failed: an older configuration is in force", "pysched validate, then reload")
    for remark in told["remarks"]:
        yield warn("surroundings", *_split(str(remark)))
    if not told["remarks"]:
        yield ok("surroundings", "nothing in them ends running jobs with the scheduler")


def _split(remark: str) -> tuple[str, str]:
    """Return what and mend of a remark."""
    what, _, mend = remark.partition("; ")
    return what, mend


def _surroundings(max_running: int) -> Iterator[Finding]:
    """Look at the unit or container that this very command runs in."""
    from pynet import loop
    from pyscheduler.service.surroundings import gather, remarks

    found = remarks(loop.run(gather(os.environ)), max_running)
    for remark in found:
        what = f"{remark.what} (looked at from this command, since no scheduler runs)"
        yield warn("surroundings", what, remark.mend)
    if not found:
        yield ok("surroundings", "nothing here would end running jobs with a scheduler")
