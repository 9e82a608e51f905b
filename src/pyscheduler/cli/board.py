"""Runs as tables: the board of a date, lists of runs, counts. Fed with runs in the API's shape (spec: jobs.md 13.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from pyscheduler.cli.faults import counted
from pyscheduler.cli.states import LOOKS, rank, state_cell
from pyscheduler.cli.table import Cell, table
from pyscheduler.cli.terminal import Terminal
from pyscheduler.cli.times import Times, parse_instant, since
from pyscheduler.lengths import length

View = Mapping[str, Any]

HEADERS: Final = ("RUN", "STATE", "TRY", "STARTED", "TOOK", "REASON")


def worst_first(runs: Iterable[View]) -> list[View]:
    """Return the runs in a board's order: by state, the worst first, then by id."""
    return sorted(runs, key=lambda run: (rank(run["state"]), run["job"], run["run_date"], run["seq"]))


def board(runs: Sequence[View], day: date | None, times: Times, now: datetime, terminal: Terminal) -> Iterator[str]:
    """Yield a table of runs in the order given. Times on `day` are shown without their date."""
    rows = [_row(run, day, times, now, terminal) for run in runs]
    return table(HEADERS, rows, terminal, right=("TRY", "TOOK"))


def _row(run: View, day: date | None, times: Times, now: datetime, terminal: Terminal) -> list[str | Cell]:
    return [
        run["run_id"],
        state_cell(run["state"], terminal),
        str(run["attempt"]) if run["attempt"] else "",
        _started(run, day, times, terminal),
        took(run, now),
        run["reason"],
    ]


def _started(run: View, day: date | None, times: Times, terminal: Terminal) -> str:
    if not run.get("started_at"):
        return ""
    instant = parse_instant(run["started_at"])
    if day is None:
        return times.full(instant)
    return times.on(day, instant, short=terminal.is_narrow)


def took(run: View, now: datetime) -> str:
    """Return how long the latest attempt took; with a `+` behind it while it still runs."""
    if run.get("duration_seconds") is not None:
        return length(run["duration_seconds"])
    if run["state"] == "running" and run.get("started_at"):
        return since(parse_instant(run["started_at"]), now) + "+"
    return ""


def counts(runs: Iterable[View]) -> dict[str, int]:
    """Return how many runs are in each state that occurs, the worst first."""
    found = Counter(run["state"] for run in runs)
    return {state: found[state] for state in (*LOOKS, *sorted(found.keys() - LOOKS)) if found[state]}


def counts_text(found: Mapping[str, int]) -> str:
    """Return `3 runs: 1 failed, 2 succeeded`."""
    total = sum(found.values())
    if not total:
        return "no runs"
    return f"{counted(total, 'run')}: " + ", ".join(f"{number} {state}" for state, number in found.items())
