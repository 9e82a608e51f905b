"""`tick` and `work`: the jobs of a configuration by system cron, or in a loop, on any number of hosts. DESIGN 6."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from pyscheduler.cli import faults
from pyscheduler.cli.options import file_argument, json_option, only_here, verb
from pyscheduler.cli.session import Session, pass_session

if TYPE_CHECKING:
    from pyscheduler.cli.beside import Left
    from pyscheduler.cluster import Scheduler, Ticked

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
STOPPING: Final = (signal.SIGTERM, signal.SIGINT)

processes_option = click.option(
    "--max-processes", type=click.IntRange(min=1), metavar="N", help="Attempts at once. Default: scheduler.max_running."
)
level_option = click.option(
    "--log-level", type=click.Choice(LEVELS, case_sensitive=False), default="WARNING", show_default=True
)


@only_here
@verb("tick", "pysched tick /etc/pysched.yaml", "* * * * * pysched tick /etc/pysched.yaml   # in a crontab")
@file_argument
@processes_option
@level_option
@json_option
@pass_session
def tick(session: Session, max_processes: int | None, log_level: str, as_json: bool) -> int:
    """Make one pass: run what is due, record what became of it.

    For system cron, in place of `pysched serve`. Claims every run that is due, runs them, waits for their ends and
    prints how many were started, refused and handed back, and how they ended. The first pass over a job only notes the
    time. Any number of hosts may do it on one PostgreSQL store, and several processes on one SQLite store. Beside a
    `pysched serve` of the same configuration and SQLite store it starts nothing, and says what serve does.

    Exits with 1 where a run failed or its outcome could not be stored, else with 3 where another scheduler leads (or
    such a serve is not up to it) and nothing could be made of what is due; a leader that has died is followed by the
    second or third pass. SIGTERM and Ctrl-C give back what has not started and wait for what runs; a second one leaves
    it to its minders, and the next pass records its end.
    """
    return _at_work(session, max_processes, log_level, as_json, lambda scheduler, slots: scheduler.tick(True, slots))


def _left(session: Session, left: Left, *, as_json: bool) -> int:
    """Say that serve does it."""
    from pyscheduler.cluster import Ticked

    if as_json:
        document = _document(Ticked()) | {"held_off": left.held_off or None, "served_by": left.document()}
        session.print_json(document)
    else:
        session.say(left.words())
    return faults.HELD_OFF if left.held_off else faults.OK


@only_here
@verb("work", "pysched work /etc/pysched.yaml", "pysched work --max-processes 4")
@file_argument
@processes_option
@click.option(
    "--sleep", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True, metavar="SECONDS",
    help="The longest wait between two looks for something due.",
)  # fmt: skip
@level_option
@json_option
@pass_session
def work(session: Session, max_processes: int | None, sleep: float, log_level: str, as_json: bool) -> int:
    """Make passes until stopped: `tick` in a loop.

    Stays in the foreground. A failed run is logged and ends nothing; a store out of reach is waited for. Attempts that
    a dead scheduler of this host has left running are adopted. SIGTERM and Ctrl-C stop it as they stop `tick`; then it
    exits with 0, whatever its runs have come to.
    """
    return _at_work(
        session, max_processes, log_level, as_json, lambda scheduler, slots: scheduler.work(sleep, slots), is_loop=True
    )


def _at_work(
    session: Session,
    max_processes: int | None,
    log_level: str,
    as_json: bool,
    do: Callable[[Scheduler, int], Ticked],
    *,
    is_loop: bool = False,
) -> int:
    from pyscheduler.cli.beside import left_to_serve
    from pyscheduler.cluster import TaskFailed
    from pyscheduler.cluster.configured import scheduler_of
    from pyscheduler.cluster.honoured import remarks
    from pyscheduler.engine import machine
    from pyscheduler.errors import StoreLocked
    from pyscheduler.service.logs import logging_to

    machine.shed_attempt_key()
    config = session.load(allow_inactive=False)
    scheduler = scheduler_of(config, session.environ)
    session.note_all(remarks(config))
    if not is_loop and (left := left_to_serve(session, config)) is not None:
        return _left(session, left, as_json=as_json)
    with logging_to(None, log_level.upper()), _stopping(scheduler.stop):
        try:
            ticked = do(scheduler, max_processes or config.settings.max_running)
        except TaskFailed as failure:
            ticked = failure.ticked
        except StoreLocked:  # by a serve that has begun in the meantime?
            if is_loop or (left := left_to_serve(session, config)) is None:
                raise
            return _left(session, left, as_json=as_json)
    if as_json:
        session.print_json(_document(ticked))
    else:
        session.say(_words(ticked))
    if is_loop:
        return faults.OK
    return faults.FAILED if ticked.failures else faults.HELD_OFF if ticked.held_off else faults.OK


@contextmanager
def _stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Let TERM and INT stop the scheduler while the block runs."""
    before = {number: signal.signal(number, lambda _number, _frame: stop()) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


NUMBERS: Final = (
    "started", "done", "failed", "retrying", "skipped", "cancelled", "refused", "handed_back", "adopted",
)  # fmt: skip


def _document(ticked: Ticked) -> dict[str, object]:
    failures = [{"job": each.task, "run_id": each.run_id, "reason": each.reason} for each in ticked.failures]
    numbers = {name: getattr(ticked, name) for name in NUMBERS}
    return numbers | {"failures": failures, "held_off": ticked.held_off or None, "served_by": None}


def _words(ticked: Ticked) -> str:
    counted = [(name.replace("_", " "), getattr(ticked, name)) for name in NUMBERS]
    if not any(number for _, number in counted):
        return ticked.held_off or "nothing is due"
    always = ("started", "refused", "handed back")
    return ", ".join(f"{number} {name}" for name, number in counted if number or name in always)
