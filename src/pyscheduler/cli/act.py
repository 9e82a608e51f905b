"""What may be done to runs that exist: one verb each, several runs at a time. Spec: jobs.md 11, 14.1.

Each run is an action of its own at the scheduler. One that is refused is told on stderr, the others are still done, and
the exit code is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import click

from pyscheduler.cli import faults
from pyscheduler.cli.asking import is_run_id, no_such_run
from pyscheduler.cli.calling_off import DEEDS, called_off
from pyscheduler.cli.client import Client, Json, segment
from pyscheduler.cli.complete import run_arguments
from pyscheduler.cli.faults import CommandError, Refused, Unreachable
from pyscheduler.cli.options import Verb, json_option, reason_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.states import ENDED, STANDING
from pyscheduler.cli.text import on_one_line

_TOLD: Final = {("kill", "running"): ", told to end", ("cancel", "running"): ", told to end"}
"""What the state alone does not say."""


def result_line(run: Mapping[str, Any]) -> str:
    """Return `RUN_ID: STATE`, with the reason behind it if there is one."""
    return f"{run['run_id']}: {run['state']}" + (f" ({on_one_line(run['reason'])})" if run["reason"] else "")


def act(session: Session, action: str, runs: tuple[str, ...], body: Mapping[str, object], *, as_json: bool) -> int:
    """Do one thing to each run and print what became of it; returns the exit code."""
    client = session.client()
    done: list[Mapping[str, Any]] = []
    refused: list[Mapping[str, str]] = []
    for run_id in runs:
        try:
            if not is_run_id(run_id):
                raise no_such_run(session, client, run_id)
            answer = _done(session, client, action, run_id, body)
        except Unreachable:
            raise
        except CommandError as error:
            if isinstance(error, Refused) and error.status == 503:
                raise  # the scheduler as a whole is out of action: the next run would hear the same
            refused.append({"run_id": run_id, "error": error.what, "mend": error.mend})
            if not as_json:
                session.note_all(faults.lines_of(error))
            continue
        changed = answer["runs"] if "runs" in answer else [answer["run"]]
        done += changed
        if not as_json:
            session.say_all(result_line(run) + _TOLD.get((action, run["state"]), "") for run in changed)
    if as_json:
        session.print_json({"runs": done, "refused": refused})
    return faults.FAILED if refused else faults.OK


def _done(session: Session, client: Client, action: str, run_id: str, body: Mapping[str, object]) -> Json:
    try:
        return client.post(f"/api/runs/{segment(run_id)}/{action}", body)
    except Unreachable as error:
        if not error.nobody or action not in DEEDS or session.address is not None:
            raise
        return called_off(session, action, run_id, str(body["reason"] or ""), error)


def _deed(name: str, states: tuple[str, ...], help_text: str, *examples: str) -> Verb:
    """Return the verb for an action on runs in one of these states that needs nothing else but a reason."""

    def command(session: Session, runs: tuple[str, ...], reason: str | None, as_json: bool) -> int:
        return act(session, name, runs, {"reason": reason}, as_json=as_json)

    command.__doc__ = help_text
    decorated: Callable[..., Any] = json_option(reason_option(run_arguments(states)(pass_session(command))))
    return verb(name, *examples)(decorated)


hold = _deed(
    "hold",
    tuple(state for state in STANDING if state != "held"),
    """Keep runs from starting until they are released.

    For runs that are scheduled, waiting, blocked, queued or between two tries. What depends on them waits as well.
    """,
    "pysched hold load.2027-05-20.1",
    'pysched hold load.2027-05-20.1 --reason "disk is being replaced"',
)

release = _deed(
    "release",
    ("held",),
    """Let held runs go on.

    A run goes back to where it was held and is decided anew. One that was held in line, or between two tries, has
    waited enough: its dependencies are not asked again.
    """,
    "pysched release load.2027-05-20.1",
)

kill = _deed(
    "kill",
    ("running",),
    """End a running attempt; its run fails, with no further try.

    All processes of the attempt get the polite signal (TERM) and, after the job's kill_grace, the one that cannot be
    ignored (KILL). The answer comes once the order is written down; `pysched why` says what the end still waits for.
    A run of `tick` or `work` needs no scheduler for it: its owner reads the order in the store, and it ends as
    cancelled.
    """,
    "pysched kill load.2027-05-20.1",
)

force_start = _deed(
    "force-start",
    STANDING,
    """Start runs whatever they wait for but pools and slots.

    Puts open runs that are not running at the head of the line: past dependencies, overlap, holds and pauses.
    """,
    "pysched force-start load.2027-05-20.1",
)

skip = _deed(
    "skip",
    STANDING,
    """Pass runs over; what depends on them sees a success.

    For open runs that are not running. To stop what depends on them as well, cancel them instead.
    """,
    "pysched skip load.2027-05-20.1",
)

cancel = _deed(
    "cancel",
    STANDING,
    """Call runs off that have not started.

    For open runs that are not running. What depends on their success is blocked; skip them instead to let it go on.
    Runs of `tick` and `work` are called off in their store while no `serve` runs, those that are running too.
    """,
    "pysched cancel load.2027-05-20.1",
)

mark_success = _deed(
    "mark-success",
    (*STANDING, *ENDED),
    """Declare runs succeeded.

    For runs that are not running, ended or not: somebody has done their work by hand. What depends on them is decided
    anew.
    """,
    'pysched mark-success load.2027-05-20.1 --reason "loaded by hand"',
)

mark_failed = _deed(
    "mark-failed",
    (*STANDING, *ENDED),
    """Declare runs failed.

    For runs that are not running, ended or not: what they did is worth nothing. What depends on them is decided anew.
    """,
    'pysched mark-failed load.2027-05-20.1 --reason "wrong input"',
)


@verb(
    "rerun",
    "pysched rerun load.2027-05-20.1",
    'pysched rerun extract.2027-05-20.1 --downstream --reason "source was late"',
)
@run_arguments(ENDED)
@click.option("--downstream", is_flag=True, help="Also reopen the ended runs that depend on them, and so on.")
@reason_option
@json_option
@pass_session
def rerun(session: Session, runs: tuple[str, ...], downstream: bool, reason: str | None, as_json: bool) -> int:
    """Open ended runs again, with a fresh retry budget.

    A reopened run is decided anew and runs as soon as its dependencies allow. Runs that were blocked or skipped because
    of it are decided anew by themselves; those that ran already only with --downstream.
    """
    body = {"reason": reason, "downstream": downstream or None}
    return act(session, "rerun", runs, body, as_json=as_json)
