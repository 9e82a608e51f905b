"""`show`: one run, whole. Spec: jobs.md 14.1."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pyscheduler.cli.asking import run_meant
from pyscheduler.cli.board import took
from pyscheduler.cli.client import segment
from pyscheduler.cli.complete import run_argument
from pyscheduler.cli.options import json_option, verb
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.states import state_cell
from pyscheduler.cli.table import Cell, Row, pairs, table
from pyscheduler.cli.times import parse_instant

View = Mapping[str, Any]

ATTEMPTS: Final = ("TRY", "STARTED", "ENDED", "TOOK", "OUTCOME", "EXIT", "REASON")
LOGBOOK: Final = ("AT", "WHO", "WHAT", "DETAIL")
_COLOURS: Final = {"succeeded": "green"}


@verb("show", "pysched show load.2027-05-20.1", "pysched show load", "pysched show load.2027-05-20.1 --json")
@run_argument()
@json_option
@pass_session
def show(session: Session, run: str, as_json: bool) -> None:
    """Show one run: its fields, its attempts, its logbook.

    RUN is a run's id, or the name of a job for the newest of its runs. The logbook has every action of the scheduler
    and of operators that concerned the run, oldest first.
    """
    client = session.looking()
    answer = client.get(f"/api/runs/{segment(run_meant(session, client, run))}")
    if as_json:
        session.print_json(answer)
        return
    session.say_all(pairs(_fields(session, answer["run"]), session.terminal))
    narrow = _Narrow(session, answer["run"])
    if answer["attempts"]:
        session.say()
        session.say_all(_attempts(session, answer["attempts"], narrow))
    session.say()
    session.say_all(_logbook(session, answer["events"], narrow))
    if answer.get("next_events_cursor"):
        session.note(f"the logbook has more lines than these {len(answer['events'])}")


class _Narrow:
    """Writes times in tables: on a narrow terminal without their date where that is the day the run was due."""

    def __init__(self, session: Session, run: View) -> None:
        self._times, self.on = session.place.times, session.terminal.is_narrow
        self._day = self._times.local(parse_instant(run["scheduled_at"])).date()

    def time(self, text: str | None) -> str:
        """Return an answer's instant as a cell."""
        if not text:
            return ""
        instant = parse_instant(text)
        return self._times.on(self._day, instant, short=True) if self.on else self._times.full(instant)


def _fields(session: Session, run: View) -> Iterator[tuple[str, str | Cell]]:
    yield "run", run["run_id"]
    yield "state", state_cell(run["state"], session.terminal)
    if run["reason"]:
        yield "reason", run["reason"]
    yield "run date", run["run_date"]
    yield "due", _time(session, run["scheduled_at"])
    yield "trigger", run["trigger"]
    for name, label in (
        ("not_before", "not before"),
        ("queued_at", "queued"),
        ("wait_until", "waits until"),
        ("offered_at", "offered"),
    ):
        if run.get(name):
            yield label, _time(session, run[name])
    if run.get("held_from"):
        yield "held from", run["held_from"]
    yield "attempts", str(run["attempt"])
    if run.get("reruns"):
        yield "reruns", str(run["reruns"])
    if run.get("forced"):
        yield "forced", "yes"
    yield "configuration", f"version {run['config_version']}"
    yield "created", _time(session, run["created_at"])
    yield "changed", _time(session, run["updated_at"])


def _time(session: Session, text: str | None) -> str:
    return session.place.times.full(parse_instant(text)) if text else ""


def _attempts(session: Session, attempts: Iterable[View], narrow: _Narrow) -> Iterator[str]:
    rows: list[Row] = [
        [
            str(attempt["attempt"]),
            narrow.time(attempt["started_at"]),
            *([] if narrow.on else [narrow.time(attempt["ended_at"])]),
            took({**attempt, "state": "running" if attempt["outcome"] is None else ""}, session.now()),
            _outcome(attempt),
            _exit(attempt),
            "; ".join(filter(None, (attempt["reason"], attempt.get("note")))),
        ]
        for attempt in attempts
    ]
    headers = [header for header in ATTEMPTS if not (narrow.on and header == "ENDED")]
    return table(headers, rows, session.terminal, right=("TRY", "TOOK", "EXIT"))


def _outcome(attempt: View) -> Cell:
    outcome = attempt["outcome"]
    return Cell("running", "cyan") if outcome is None else Cell(outcome, _COLOURS.get(outcome, "red"))


def _exit(attempt: View) -> str:
    if attempt["signal"] is not None:
        return f"signal {attempt['signal']}"
    return "" if attempt["exit_code"] is None else str(attempt["exit_code"])


def _logbook(session: Session, events: Iterable[View], narrow: _Narrow) -> Iterator[str]:
    rows = [
        [narrow.time(line["at"]), line["actor"], line["action"], detail_text(session, line["detail"])]
        for line in events
    ]
    return table(LOGBOOK, rows, session.terminal)


def detail_text(session: Session, detail: View) -> str:
    """Return a line's detail as `name value` pairs, times in the scheduler's zone, without what says nothing."""
    return ", ".join(f"{name} {_said(session, value)}" for name, value in detail.items() if value not in (None, ""))


def _said(session: Session, value: Any) -> str:
    if isinstance(value, str):
        try:
            return session.place.times.full(parse_instant(value))
        except ValueError:
            return value
    return json.dumps(value, ensure_ascii=False)
