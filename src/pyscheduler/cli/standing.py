"""Looking at how the jobs of `tick` and `work` stand: `list` and `health`, without holding anybody up. DESIGN 6."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

from pyscheduler.cli import faults
from pyscheduler.cli.faults import CommandError, WrongUsage, no_such_job
from pyscheduler.cli.options import file_argument, json_option, only_here, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.states import state_cell
from pyscheduler.cli.table import Row, table
from pyscheduler.cli.times import Times, json_instant, since

if TYPE_CHECKING:
    from pyscheduler.cluster.looking import Look
    from pyscheduler.config import Config
    from pyscheduler.store.claims.standing import EndedRun, OpenRun, Standing

HEADERS: Final = ("JOB", "LAST OUTCOME", "LAST SUCCESS", "NEXT", "OWNER", "CLAIMED")


@only_here
@verb("list", "pysched list /etc/pysched.yaml", "pysched list --json")
@file_argument
@json_option
@pass_session
def list_(session: Session, as_json: bool) -> None:
    """List jobs by their last outcome, last success and owner.

    For jobs that `pysched tick` and `pysched work` run. One line for each job: how its newest ended run ended, when it
    last succeeded, when it is due next, which host and process has a run of it now, and since when. Reads the store
    alone: nothing is claimed, and nobody waits.
    """
    config = session.load()
    with _look(config) as look:
        now, marks, found = look.now(), look.marks(config.jobs), look.standings(config.jobs)
    coming = {name: _next(config, name, marks.until(name), found[name], now) for name in config.jobs}
    if as_json:
        session.print_json({"jobs": [_document(found[name], coming[name]) for name in config.jobs]})
    elif config.jobs:
        session.say_all(_table(session, config, found, coming, now))
    else:
        session.say(f"{config.path} has no jobs yet")


@only_here
@verb("health", "pysched health nightly --within 26h", "pysched health nightly -c /etc/pysched.yaml --within 90m")
@click.argument("job")
@click.option("--within", required=True, metavar="TIME", help="How long ago the last success may lie, as in 26h.")
@json_option
@pass_session
def health(session: Session, job: str, within: str, as_json: bool) -> int:
    """Exit with 1 where a job has not succeeded in time.

    For monitoring, and for the line of a crontab that must not go on without another job's success. Reads the store
    alone.
    """
    from pyscheduler.timetable.wording import duration_s

    seconds = duration_s(within)
    if seconds is None:
        raise WrongUsage(f"--within: {within!r} is no duration", mend="write for example --within 26h")
    config = session.load()
    if job not in config.jobs:
        raise no_such_job(job, config.jobs, config.path)
    with _look(config) as look:
        now, success = look.now(), look.standings((job,))[job].success
    age = None if success is None else max(0.0, (now - success.ended_at).total_seconds())
    is_well = age is not None and age <= seconds
    if as_json:
        session.print_json({"job": job, "healthy": is_well, "last_success": _ended(success), "age_seconds": age})
    else:
        session.say(_verdict(job, success, now, within, Times.of(config.settings.timezone), is_well=is_well))
    return faults.OK if is_well else faults.FAILED


@contextmanager
def _look(config: Config) -> Iterator[Look]:
    from pyscheduler.cluster.looking import look_at

    with look_at(config.settings.store, config.settings.state_dir) as look:
        if look is None:
            what = "there is no store yet: no pass was ever made with this configuration"
            raise CommandError(what, where=str(config.settings.state_dir), mend="`pysched tick` makes one")
        yield look


def _next(config: Config, name: str, mark: datetime | None, standing: Standing, now: datetime) -> datetime | None:
    """Return when a job is due next: a run that waits, or the next firing after what was looked through."""
    waiting = [run.scheduled_at for run in standing.open if run.owner is None]
    if waiting or not config.jobs[name].enabled:
        return min(waiting, default=None)
    firing = config.timetable(name).next(mark or now)
    return None if firing is None else firing.scheduled_at


def _owned(standing: Standing) -> list[OpenRun]:
    return [run for run in standing.open if run.owner is not None]


def _table(
    session: Session,
    config: Config,
    found: dict[str, Standing],
    coming: dict[str, datetime | None],
    now: datetime,
) -> Iterator[str]:
    times = Times.of(config.settings.timezone)
    today = times.local(now).date()

    def written(instant: datetime | None) -> str:
        return "" if instant is None else times.on(today, instant, short=session.terminal.is_narrow)

    rows: list[Row] = []
    for name in config.jobs:
        each = found[name]
        owned = _owned(each)
        owners = ", ".join(dict.fromkeys(_owner(run) for run in owned))
        claimed = min((run.claimed_at for run in owned if run.claimed_at is not None), default=None)
        last = state_cell(each.last.state, session.terminal) if each.last else ""
        success = written(each.success.ended_at) if each.success else ""
        rows.append([name, last, success, written(coming[name]), owners, written(claimed)])
    return table(HEADERS, rows, session.terminal)


def _owner(run: OpenRun) -> str:
    return f"{run.node or run.host_id[:8]} {run.pid or ''}".strip()


def _verdict(job: str, success: EndedRun | None, now: datetime, within: str, times: Times, *, is_well: bool) -> str:
    if success is None:
        return f"{job} has never succeeded"
    said = f"{job} succeeded {since(success.ended_at, now)} ago, at {times.full(success.ended_at)}"
    return said if is_well else f"{said}: not within {within}"


def _document(standing: Standing, coming: datetime | None) -> dict[str, Any]:
    return {
        "job": standing.job,
        "last": _ended(standing.last),
        "last_success": _ended(standing.success),
        "next": None if coming is None else json_instant(coming),
        "open": [_open(run) for run in standing.open],
    }


def _ended(run: EndedRun | None) -> dict[str, Any] | None:
    if run is None:
        return None
    return {
        "run_id": run.run_id,
        "state": run.state.value,
        "reason": run.reason,
        "scheduled_at": json_instant(run.scheduled_at),
        "ended_at": json_instant(run.ended_at),
    }


def _open(run: OpenRun) -> dict[str, Any]:
    owner = {"inc_id": run.owner, "host": run.node or run.host_id, "pid": run.pid}
    return {
        "run_id": run.run_id,
        "state": run.state.value,
        "scheduled_at": json_instant(run.scheduled_at),
        "token": run.token,
        "claimed_at": None if run.claimed_at is None else json_instant(run.claimed_at),
        "owner": owner if run.owner is not None else None,
    }
