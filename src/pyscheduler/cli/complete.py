"""Names of jobs and runs for a shell to complete, from the running scheduler, else from the configuration.

A shell waits for the answer while somebody types, so both ways are bounded: the scheduler has half a second, the
configuration one. Whatever goes wrong, the answer is an empty list: an error would land in the middle of a prompt.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from pyscheduler.cli.session import Session
from pyscheduler.errors import PyschedError

F = TypeVar("F", bound=Callable[..., Any])

SCHEDULER_S: Final = 0.5
FILE_S: Final = 1.0
MOST: Final = 200


def job_names(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the jobs that begin so."""
    session = context.ensure_object(Session)
    try:
        jobs = session.hasty_client(SCHEDULER_S).get("/api/jobs")["jobs"]
        described = {job["name"]: job.get("description") or ", ".join(job.get("schedules") or ()) for job in jobs}
    except (PyschedError, KeyError, TypeError, OSError):
        described = _within(FILE_S, lambda: _jobs_of_file(session))
    return _items(described.items(), incomplete)


def run_ids(
    context: click.Context, _parameter: click.Parameter, incomplete: str, states: Collection[str] = ()
) -> list[CompletionItem]:
    """Return the newest runs in one of these states whose ids begin so; the scheduler alone knows them."""
    session = context.ensure_object(Session)
    asked = {"limit": MOST, "q": incomplete or None, "state": list(states) or None}
    try:
        runs = session.hasty_client(SCHEDULER_S).get("/api/runs", **asked)["runs"]
        return _items([(run["run_id"], run["state"]) for run in runs], incomplete)
    except (PyschedError, KeyError, TypeError, OSError):
        return []


def _items(names: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name, help=text or None) for name, text in names if name.startswith(incomplete)][:MOST]


def _jobs_of_file(session: Session) -> dict[str, str]:
    from pyscheduler.config import build_config

    config, _ = build_config(session.config_path, env=session.environ, allow_inactive=True)
    return {job.name: job.description for job in config.jobs.values()}


def _within(seconds: float, work: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Return what `work` returns, nothing where it fails or takes longer. The thread ends with the process."""
    found: dict[str, str] = {}

    def worked() -> None:
        try:
            found.update(work())
        except (PyschedError, OSError, ValueError):
            found.clear()

    thread = threading.Thread(target=worked, daemon=True)
    thread.start()
    thread.join(seconds)
    return dict(found)


def job_argument(*, required: bool = True) -> Callable[[F], F]:
    """Return the decorator for an argument JOB."""
    return click.argument("job", required=required, shell_complete=job_names, metavar="JOB" if required else "[JOB]")


def run_argument() -> Callable[[F], F]:
    """Return the decorator for an argument RUN."""
    return click.argument("run", shell_complete=run_ids, metavar="RUN")


def run_arguments(states: Collection[str] = ()) -> Callable[[F], F]:
    """Return the decorator for one or more arguments RUN, of which those in one of these states are completed."""
    return click.argument(
        "runs", shell_complete=partial(run_ids, states=states), nargs=-1, required=True, metavar="RUN..."
    )
