"""`status`: the board. Worst first, with why each run stands where it stands. Spec: jobs.md 14.1; DESIGN 11."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, Final

import click

from pyscheduler.cli import board
from pyscheduler.cli.asking import View, pages_of_runs
from pyscheduler.cli.client import Client
from pyscheduler.cli.faults import counted
from pyscheduler.cli.moments import DATE
from pyscheduler.cli.options import json_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.states import OPEN
from pyscheduler.cli.table import Cell, styled
from pyscheduler.cli.text import on_one_line
from pyscheduler.cli.times import json_instant, parse_instant

MOST: Final = 10_000
"""Runs on one board at most."""
LOOK_S: Final = 2.0
FROM_THE_TOP: Final = "\x1b[H"
CLEAR: Final = "\x1b[J"
SHOWN: Final = 3
"""Jobs of the next firing that are named."""


@verb("status", "pysched status", "pysched status --date 2027-05-20", "pysched status --watch", "pysched status --json")
@click.option("--date", "day", type=DATE, metavar="DATE", help="The runs of this run date, and no others.")
@click.option("--watch", is_flag=True, help="Show it again every two seconds, until Ctrl-C.")
@json_option
@pass_session
def status(session: Session, day: date | None, watch: bool, as_json: bool) -> None:
    """Show the board: the runs of a date, the worst first.

    Without --date the board is today's: the runs for today, whatever else was due today (a nightly job works on
    yesterday), and every run of another day that is still open. A run that waits says for what; `pysched why` says more
    about one. Times on the board's own day are shown without their date.
    """
    if watch and as_json:
        raise click.UsageError("--watch and --json do not go together")
    client = session.looking()
    day = None if day is None else session.settle(day)
    if as_json:
        session.print_json(_Board(session, client, day).document())
    elif watch:
        _watch(session, client, day)
    else:
        session.say_all(_Board(session, client, day).lines())


def _watch(session: Session, client: Client, day: date | None) -> None:
    """Show the board again and again. Ctrl-C leaves the last one on the screen, whole."""
    lines: list[str] = []
    try:
        while True:
            lines = list(_Board(session, client, day).lines())
            _show(session, lines)
            time.sleep(LOOK_S)
    except KeyboardInterrupt:
        if session.terminal.height is not None and len(lines) >= session.terminal.height:
            sys.stdout.write(FROM_THE_TOP + CLEAR)
            session.say_all(lines)
        raise


def _show(session: Session, lines: list[str]) -> None:
    """Print a board; on a terminal in the place of the last one and no longer than the screen."""
    height = session.terminal.height
    if height is None:
        session.say_all(lines)
        return
    if len(lines) >= height:
        lines = [*lines[: height - 2], f"... and {counted(len(lines) - height + 2, 'more line')}"]
    sys.stdout.write(FROM_THE_TOP + "".join(f"{line}\x1b[K\n" for line in lines) + CLEAR)
    sys.stdout.flush()


class _Board:
    """What the scheduler says of itself and of the runs of one day."""

    def __init__(self, session: Session, client: Client, day: date | None) -> None:
        self._session = session
        self.scheduler: View = client.get("/api/scheduler")
        self.today = day is None
        self.day = day or date.fromisoformat(self.scheduler["today"])
        self.runs, self.complete = self._gather(client)

    def _gather(self, client: Client) -> tuple[list[View], bool]:
        queries: list[dict[str, Any]] = [{"run_date": self.day.isoformat()}]
        if self.today:
            midnight = self._session.place.times.midnight(self.day)
            queries += [{"since": json_instant(midnight)}, {"state": list(OPEN)}]
        found: dict[str, View] = {}
        complete = True
        for query in queries:
            runs = list(pages_of_runs(client, MOST, **query))
            complete = complete and len(runs) < MOST
            found.update((run["run_id"], run) for run in runs)
        return board.worst_first(found.values()), complete

    def document(self) -> dict[str, Any]:
        """Return the board for programs."""
        return {
            "date": self.day.isoformat(),
            "counts": board.counts(self.runs),
            "complete": self.complete,
            "scheduler": self.scheduler,
            "runs": self.runs,
        }

    def lines(self) -> Iterator[str]:
        """Yield the board for people: the scheduler, what is amiss with it, the runs, what comes next."""
        session, now = self._session, parse_instant(self.scheduler["now"])
        yield self._title(now)
        yield from self._amiss()
        yield ""
        if self.runs:
            yield from board.board(self.runs, self.day, session.place.times, now, session.terminal)
            yield ""
        yield from self._last_lines()
        if not self.complete:
            yield f"The board holds {MOST:,} runs at most; `pysched runs` lists all."

    def _title(self, now: datetime) -> str:
        name = styled(Cell("", bold=True), self.scheduler["name"], self._session.terminal)
        what = "today" if self.today else "run date"
        return f"{name}: {what} {self.day:%Y-%m-%d %a}, now {self._session.place.times.full(now)}"

    def _last_lines(self) -> Iterator[str]:
        yield board.counts_text(board.counts(self.runs))
        yield self._next_firing()
        if (address := self.scheduler.get("listen")) and not self.scheduler.get("error"):
            yield f"console at http://{address}/"

    def _next_firing(self) -> str:
        if self.scheduler.get("error"):
            return "nothing fires or starts while no scheduler runs"
        upcoming, jobs = self.scheduler["next_firing"], self.scheduler.get("next_firing_jobs") or ()
        if not upcoming:
            return "no firing is to come"
        more = f" and {counted(len(jobs) - SHOWN, 'other')}" if len(jobs) > SHOWN else ""
        names = f": {', '.join(jobs[:SHOWN])}{more}" if jobs else ""
        return f"next firing {self._time(upcoming)}{names}"

    def _time(self, text: str) -> str:
        return self._session.place.times.full(parse_instant(text))

    def _amiss(self) -> Iterator[str]:
        """Yield what keeps the scheduler itself from doing its work as configured."""
        told = self.scheduler
        for pause in told["pauses"]:
            what = "everything" if pause["job"] is None else f"job {pause['job']}"
            reason = f": {pause['reason']}" if pause["reason"] else ""
            yield self._alarm(f"{what} is paused by {pause['by']} since {self._time(pause['since'])}{reason}")
        if (held := told["catch_up_held"]) is not None:
            since, until = self._time(held["since"]), self._time(held["until"])
            yield self._alarm(f"firings from {since} to {until} are held: see `pysched catch-up --dry-run`")
        if (failure := told["config"]["reload_failure"]) is not None:
            what = (
                f"the reload by {failure['actor']} at {self._time(failure['at'])} failed, the old configuration goes on"
            )
            yield self._alarm(f"{what}: see `pysched validate`")

    def _alarm(self, text: str) -> str:
        mark = self._session.terminal.symbol("▲", "*")
        return styled(Cell("", "yellow"), f"{mark} {on_one_line(text)}", self._session.terminal)
