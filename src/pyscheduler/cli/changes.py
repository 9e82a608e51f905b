"""What `diff` has found, as lines for people; changes that are alike are one line with their number.

Alike are changes of one job and kind; those that move or get another date only where they do so by the same step. A
schedule moved by an hour is one line then, and not one a night. Totals come last, where the eye is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final

from pyscheduler.cli.faults import counted
from pyscheduler.cli.session import Session
from pyscheduler.cli.table import Cell, Row, table
from pyscheduler.cli.times import Times, parse_instant

Change = Mapping[str, Any]
"""One change in the shape of `--json`."""

HEADERS: Final = ("CHANGE", "JOB", "RUNS", "RUN DATE", "BEFORE", "AFTER")
MORE: Final = "more"
"""The kind of the remark that there are more changes than are listed."""
FEW: Final = 3
"""So many changes that are alike are still shown one by one."""
_COLOURS: Final = {"added": "green", "lost": "red", "moved": "yellow", "redated": "yellow"}


def written_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what differs between the two texts."""
    for job in found["added"]:
        yield f"job {job} is new"
    for job in found["removed"]:
        yield f"job {job} is gone"
    for job, names in found["changed"].items():
        yield f"job {job} differs in {', '.join(names)}"
    for what, kind in (("scheduler", "settings"), ("pool", "pools")):
        for name, pair in found[kind].items():
            yield f"{what} {name}: {_shown(pair['old'])} -> {_shown(pair['new'])}"
    for calendar in found["calendars"]:
        yield f"calendar {calendar} has other days"


def _shown(value: object) -> str:
    return "not there" if value is None else str(value)


def firing_lines(session: Session, changes: Sequence[Change], times: Times, *, every: bool) -> Iterator[str]:
    """Yield the waits as they are worded, a table of the firings, and how many there are."""
    firings = [change for change in changes if change["run_date"] is not None]
    groups = _alike(firings, times)
    if every:
        groups = [[change] for change in firings]
    yield from (f"  {change['text']}" for change in changes if change["run_date"] is None and change["kind"] != MORE)
    if groups:
        yield from _table(session, groups, times)
    yield from (f"  {change['text']}" for change in changes if change["kind"] == MORE)
    if firings:
        found = Counter(change["kind"] for change in firings)
        kinds = ", ".join(f"{number} {kind}" for kind, number in found.items())
        yield f"{counted(len(firings), 'run')} shown: {kinds}"
        if len(groups) < len(firings):
            yield "BEFORE and AFTER are those of the first of each line; --all shows every one"


def _alike(firings: Sequence[Change], times: Times) -> list[list[Change]]:
    """Return the changes in groups that are alike, in the order in which each group begins; a few stay apart."""
    groups: dict[tuple[object, ...], list[Change]] = {}
    for change in firings:
        groups.setdefault((change["kind"], change["job"], *_step(change, times)), []).append(change)
    found: list[list[Change]] = []
    for group in groups.values():
        found += [group] if len(group) > FEW else [[change] for change in group]
    return found


def _step(change: Change, times: Times) -> tuple[object, ...]:
    """Return by how much a change moves a run, on the walls of the zone: clock changes make no other step of it."""
    if change["before"] is None or change["after"] is None:
        return ()
    before, after = (times.local(parse_instant(change[end])).replace(tzinfo=None) for end in ("before", "after"))
    days = (before.date() - date.fromisoformat(change["run_date"])).days if change["kind"] == "redated" else 0
    return (after - before, days)


def _table(session: Session, groups: Sequence[Sequence[Change]], times: Times) -> Iterator[str]:
    seconds = not session.terminal.is_narrow
    rows = [_row(group, times, seconds=seconds) for group in groups]
    headers: Sequence[str] = HEADERS
    if all(len(group) == 1 for group in groups):
        headers, rows = [*HEADERS[:2], *HEADERS[3:]], [[*row[:2], *row[3:]] for row in rows]
    return table(headers, rows, session.terminal, right=("RUNS",))


def _row(group: Sequence[Change], times: Times, *, seconds: bool) -> Row:
    def shown(text: str | None) -> str:
        return "" if text is None else times.full(parse_instant(text), seconds=seconds)

    first = group[0]
    dates = sorted(change["run_date"] for change in group)
    span = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    kind = Cell(first["kind"], _COLOURS.get(first["kind"]))
    return [kind, first["job"], str(len(group)), span, shown(first["before"]), shown(first["after"])]
