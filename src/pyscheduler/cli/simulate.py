"""`simulate`: days of a schedule in a blink, by the real engine on a fake clock. Nothing is started or written."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import click

from pyscheduler.cli import board
from pyscheduler.cli.faults import CommandError, WrongUsage, no_such_job
from pyscheduler.cli.moments import JUST_BEFORE, MOMENT, window
from pyscheduler.cli.options import file_argument, json_option, only_here, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.text import wrapped
from pyscheduler.cli.times import Times, json_instant

if TYPE_CHECKING:
    from pyscheduler.config import Config
    from pyscheduler.testing import FakeResult
    from pyscheduler.testing.simulate import Simulation

MOST_DAYS: Final = 366
MOST_FIRINGS: Final = 200_000
"""More would take minutes and gigabytes: refused before anything is begun."""


@only_here
@verb(
    "simulate",
    "pysched simulate",
    "pysched simulate new.yaml --from 2027-03-22 --to 2027-04-05",
    "pysched simulate --fail extract@2027-05-20 --duration load=45m --json",
)
@file_argument
@click.option("--from", "start", type=MOMENT, metavar="WHEN", help="Default: today.")
@click.option("--to", "end", type=MOMENT, metavar="WHEN", help="Default: a day. A date counts whole.")
@click.option(
    "--fail", "failures", multiple=True, metavar="JOB[@DATE]", help="Let a job fail, on a run date or always."
)
@click.option("--duration", "durations", multiple=True, metavar="JOB=TIME", help="How long a job takes. Default: 1m.")
@json_option
@pass_session
def simulate(
    session: Session,
    start: date | None,
    end: date | None,
    failures: tuple[str, ...],
    durations: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run days of the schedule in a blink, starting nothing.

    The scheduler's own engine works through the window on a clock that leaps from event to event. Attempts are no
    processes: each takes a minute and succeeds, unless --fail and --duration say otherwise (both may be given several
    times). Dependencies, overlap, pools, retries, timeouts and clock changes act as they will in earnest. What has not
    ended by the end of the window is shown as it stands then.

    The engine begins without a history, so a run that needs one from before the window waits for it. The window spans
    366 days at most.
    """
    config = session.load()
    times = Times.of(config.settings.timezone)
    first = start or times.local(session.now()).date()
    since, until = window(first, end, config.settings.timezone, session.now(), days=1, at_most=MOST_DAYS)
    since += JUST_BEFORE  # the engine counts a firing due at its start; the window excludes its own
    plan = _plan(config, failures, durations)
    _refuse_flood(config, since, until)
    found = _run(config, since, until, plan, _progress(times))
    if as_json:
        session.print_json(_document(found, since, until))
    else:
        session.say_all(_lines(session, found, times, since, until))


# --------------------------------------------------------------------------- what is asked


@dataclass
class _Plan:
    """How attempts go: the durations of some jobs, the failures of some runs."""

    seconds: dict[str, int] = field(default_factory=dict)
    failing: set[tuple[str, date | None]] = field(default_factory=set)

    def __call__(self, job: str, run_date: date, _attempt: int) -> FakeResult:
        """Return how an attempt goes."""
        from pyscheduler.testing import FakeResult

        failed = not self.failing.isdisjoint({(job, None), (job, run_date)})
        return FakeResult(duration=timedelta(seconds=self.seconds.get(job, 60)), exit_code=int(failed))


def _plan(config: Config, failures: Iterable[str], durations: Iterable[str]) -> _Plan:
    from pyscheduler.timetable.wording import duration_s

    plan = _Plan()
    for text in failures:
        job, at, day = text.partition("@")
        _must_know(config, job, "--fail")
        plan.failing.add((job, _date(day) if at else None))
    for text in durations:
        job, _, length = text.partition("=")
        _must_know(config, job, "--duration")
        seconds = duration_s(length)
        if seconds is None:
            raise WrongUsage(f"--duration: {length!r} is no duration", mend="write for example load=1h30m")
        plan.seconds[job] = seconds
    return plan


def _must_know(config: Config, job: str, option: str) -> None:
    if job not in config.jobs:
        error = no_such_job(job, config.jobs, config.path)
        raise WrongUsage(f"{option}: {error.what}", where=error.where, mend=error.mend)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise WrongUsage(f"--fail: {text!r} is no date", mend="write for example extract@2027-05-20") from None


def _refuse_flood(config: Config, since: datetime, until: datetime) -> None:
    jobs = [job.name for job in config.jobs.values() if job.enabled and job.schedules]
    firings = {job: config.timetable(job).missed(since - JUST_BEFORE, until, 0).count for job in jobs}
    if sum(firings.values()) > MOST_FIRINGS:
        worst = max(firings, key=lambda job: firings[job])
        what = f"the window holds {sum(firings.values()):,} firings, {firings[worst]:,} of them of {worst}"
        raise CommandError(f"{what}; {MOST_FIRINGS:,} are the most", mend="choose a shorter window")


# --------------------------------------------------------------------------- doing it


def _run(
    config: Config, since: datetime, until: datetime, plan: _Plan, progress: Callable[[datetime], None]
) -> Simulation:
    from pynet import loop
    from pyscheduler.testing.simulate import simulate as simulated

    log = logging.getLogger("pyscheduler")
    level = log.level
    log.setLevel(logging.CRITICAL)  # what a scheduler would tell its log is no part of the answer
    try:
        return loop.run(simulated(config, since, until, plan, progress=progress))
    finally:
        log.setLevel(level)
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")


def _progress(times: Times) -> Callable[[datetime], None]:
    """Return what shows the day that is being worked through, on a terminal only."""
    if not sys.stderr.isatty():
        return lambda _now: None
    shown: date | None = None

    def show(now: datetime) -> None:
        nonlocal shown
        day = times.local(now).date()
        if day != shown:
            shown = day
            sys.stderr.write(f"\rsimulating {day} ")
            sys.stderr.flush()

    return show


# --------------------------------------------------------------------------- the answer


def _views(found: Simulation) -> list[dict[str, Any]]:
    """Return the runs in the API's shape, in the order in which they started, or were due where they never did."""
    from pyscheduler.api.views import run_view

    runs = [run_view(run, (found.attempts.get(run.run_id) or (None,))[-1]) for run in found.runs]
    return sorted(runs, key=lambda run: (run["started_at"] or run["scheduled_at"], run["run_id"]))


def _document(found: Simulation, since: datetime, until: datetime) -> dict[str, Any]:
    runs = _views(found)
    return {"from": json_instant(since), "to": json_instant(until), "counts": board.counts(runs), "runs": runs}


def _lines(session: Session, found: Simulation, times: Times, since: datetime, until: datetime) -> Iterator[str]:
    runs = _views(found)
    totals = wrapped(_totals(runs, times, since, until), session.terminal.width)
    yield totals
    if runs:
        yield ""
        yield from board.board(runs, None, times, found.ended_at, session.terminal)
        yield ""
        yield totals  # the first line is off the screen by now


def _totals(runs: list[dict[str, Any]], times: Times, since: datetime, until: datetime) -> str:
    return f"From {times.full(since)} to {times.full(until)}: {board.counts_text(board.counts(runs))}"
