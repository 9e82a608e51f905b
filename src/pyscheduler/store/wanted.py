"""What a list of runs is asked for, resolved: the text into jobs and dates, the filters into SQL and into checks. Pure
but for the names that a text begins, which the store is asked for.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from pyscheduler.model.run import FINAL_STATES, OPEN_STATES, RunState, Trigger
from pyscheduler.store import rows, run_streams
from pyscheduler.store.questions import RunQuery, position
from pyscheduler.store.run_streams import Sieve, Window
from pyscheduler.store.streams import Row

_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)

Check = Callable[[Row], bool]
JobsBeginning = Callable[[str], frozenset[str]]
"""Return the jobs with runs whose names begin so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A query with its text resolved. `dates` are the lowest and highest run date, as text.

    `sieve` and `checks` say the same: the one to SQLite, to pass over what is not wanted, the other here, for good.
    """

    jobs: frozenset[str] | None
    dates: tuple[str, str] | None
    ended: tuple[str, ...]
    open: bool
    triggers: tuple[str, ...]
    sieve: Sieve
    checks: tuple[Check, ...]
    more: tuple[str, ...]

    def keeps(self, row: Row) -> bool:
        return not run_streams.is_mark(row) and all(check(row) for check in self.checks)

    @property
    def day(self) -> str | None:
        """The one run date that is wanted."""
        return self.dates[0] if self.dates is not None and self.dates[0] == self.dates[1] else None


def window_of(query: RunQuery) -> Window:
    """Return the stretch of the list that is asked for. Raises BadRequest for a cursor that is none of ours."""
    whole = Window.whole(newest_first=query.newest_first)
    low = whole.low if query.since is None else rows.micros(query.since)
    high = whole.high if query.until is None else rows.micros(query.until) - 1
    window = Window(newest_first=query.newest_first, low=low, high=high, tie=whole.tie)
    return window if query.cursor is None else window.after(*position(query.cursor))


def resolved(query: RunQuery, jobs_beginning: JobsBeginning) -> Wanted:
    """Return the query with everything that follows from it."""
    states = frozenset(query.states) or frozenset(RunState)
    jobs = None if query.jobs is None else frozenset(query.jobs)
    if query.job is not None:
        jobs = frozenset({query.job}) if jobs is None else jobs & {query.job}
    day = None if query.run_date is None else query.run_date.isoformat()
    dates = None if day is None else (day, day)
    reasons = bool(query.text) and (day is not None or query.since is not None)
    if query.text and not reasons:
        named, dates = _named_by(query, jobs_beginning)
        jobs = named if jobs is None else jobs & named
    return Wanted(
        jobs=jobs,
        dates=dates,
        ended=tuple(sorted(states & FINAL_STATES)),
        open=bool(states & OPEN_STATES),
        triggers=tuple(Trigger) if query.trigger is None else (query.trigger,),
        sieve=_sieve(query, jobs, dates, reasons=reasons),
        checks=tuple(_checks(query, jobs, dates, reasons=reasons)),
        more=("reason",) if reasons else (),
    )


def _sieve(query: RunQuery, jobs: frozenset[str] | None, dates: tuple[str, str] | None, *, reasons: bool) -> Sieve:
    """Return what is wanted as SQL."""
    conditions: dict[str, dict[str, object]] = {}
    if query.states:
        conditions["states"] = {"states_wanted": json.dumps(sorted(query.states))}
    if query.trigger is not None:
        conditions["trigger"] = {"trigger_wanted": query.trigger.value}
    if jobs is not None:
        conditions["jobs"] = {"jobs_wanted": json.dumps(sorted(jobs))}
    if dates is not None:
        conditions["dates"] = {"low_date": dates[0], "high_date": dates[1]}
    if query.text:
        text_values: dict[str, object] = {"beginning": query.text, "jobs_named": json.dumps(sorted(query.text_jobs))}
        if reasons:
            conditions["reason"] = {**text_values, "needle": query.text.translate(_LOWER)}
        elif "." in query.text:  # without a dot it names jobs, which are chosen already
            conditions["text"] = text_values
    return Sieve(conditions)


def _checks(
    query: RunQuery, jobs: frozenset[str] | None, dates: tuple[str, str] | None, *, reasons: bool
) -> Iterator[Check]:
    """Yield what a row of KEY's columns (and its reason) must pass."""
    if query.states:
        states = frozenset(query.states)
        yield lambda row: row[2] in states
    if query.trigger is not None:
        trigger = query.trigger
        yield lambda row: bool(row[3] == trigger)
    if jobs is not None:
        yield lambda row: row[0].partition(".")[0] in jobs
    if dates is not None:
        low, high = dates
        yield lambda row: low <= row[0].split(".")[1] <= high
    if query.text:
        yield _text_check(query, reasons=reasons)


def _text_check(query: RunQuery, *, reasons: bool) -> Check:
    beginning, named, needle = query.text, frozenset(query.text_jobs), query.text.translate(_LOWER)

    def check(row: Row) -> bool:
        run_id: str = row[0]
        if run_id.startswith(beginning) or run_id.partition(".")[0] in named:
            return True
        return reasons and needle in row[4].translate(_LOWER)

    return check


def _named_by(query: RunQuery, jobs_beginning: JobsBeginning) -> tuple[frozenset[str], tuple[str, str] | None]:
    """Return the jobs that the text can mean, and the run dates where it goes on into one."""
    name, dot, rest = query.text.partition(".")
    if not dot:
        return frozenset(query.text_jobs) | jobs_beginning(name), None
    day = rest.partition(".")[0]
    return frozenset(query.text_jobs) | {name}, None if query.text_jobs else (day, day + run_streams.HIGHEST_ID)
