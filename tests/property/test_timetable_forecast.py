"""The forecast against the engine itself: what is promised is what the simulated engine then starts.

The simulation begins some days before the window, so that what waits for earlier dates has found them.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyscheduler.config import Config, load_config
from pyscheduler.model.run import RunState
from pyscheduler.testing import FakeResult
from pyscheduler.testing.simulate import simulate
from pyscheduler.timetable import ForecastEntry, forecast

CALENDAR = "calendars: {week: {weekdays: [mon, tue, wed, thu, fri], holidays: [2027-05-17]}}\n"
BEGIN = datetime(2027, 5, 7, 0, 0, 30, tzinfo=UTC)
SINCE = datetime(2027, 5, 13, tzinfo=UTC)
ENDS = [SINCE + timedelta(hours=hours) for hours in (9, 30, 60, 118)]
HOURS = ["0 3 * * *", "0 */6 * * *", "0 5,6,7 * * *", "0 23 * * *", "0 4 * * mon", "20 1-9/4 * * *"]
TAKES_S = [17, 29 * 60 + 1, 3 * 3600 + 11, 5 * 3600 + 7]
"""None ends in the very second of a firing: who comes first then is anybody's guess. No job meets its next date."""


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    log = logging.getLogger("pyscheduler")
    level = log.level
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(level)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Up to five jobs without circles, on one calendar or none; what follows others has no schedule of its own."""
    calendar = draw(st.sampled_from(["", ", calendar: week"]))
    lines = [CALENDAR + "jobs:"]
    for number in range(draw(st.integers(2, 5))):
        upstreams = draw(st.lists(st.tuples(st.integers(0, max(number - 1, 0)), st.integers(-1, 0)), max_size=3))
        keys = f"command: x{calendar}, overlap: "
        if number and upstreams:
            edges = ", ".join(
                f"{{job: j{upstream}, run_date: {offset}}}" for upstream, offset in dict(upstreams).items()
            )
            lines.append(f"  j{number}: {{{keys}allow, depends_on: [{edges}]}}")
        else:
            hand = draw(st.integers(0, 9)) == 0 and number
            keys += draw(st.sampled_from(["queue", "skip", "allow"]))
            lines.append(f"  j{number}: {{{keys}, schedule: {'manual' if hand else draw(schedules())}}}")
    return "\n".join(lines) + "\n"


def schedules() -> st.SearchStrategy[str]:
    return st.sampled_from(HOURS).map(lambda text: f'"{text}"')


def loaded(text: str) -> Config:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pysched.yaml"
        path.write_text(text)
        return load_config(path, today=SINCE.date())


def foreseen(config: Config, until: datetime, takes: dict[str, int]) -> list[ForecastEntry]:
    typical = {name: float(seconds) for name, seconds in takes.items()}
    return forecast(config.jobs, config.timetable, config.calendar_for, SINCE, until, typical)


DURATIONS = st.fixed_dictionaries({f"j{number}": st.sampled_from(TAKES_S) for number in range(5)})


@given(texts(), DURATIONS)
@settings(max_examples=15)
def test_the_engine_starts_what_was_promised_and_when(text: str, takes: dict[str, int]) -> None:
    """Every dependant the engine starts was promised for that very second, and nothing else was."""
    config = loaded(text)
    followers = {name for name, job in config.jobs.items() if job.dependency_only}

    def plan(job: str, _run_date: date, _attempt: int) -> FakeResult:
        return FakeResult(timedelta(seconds=takes[job]))

    found = asyncio.run(simulate(config, BEGIN, ENDS[-1] + timedelta(days=1), plan))
    happened = {
        (run.job, run.run_date, found.attempts[run.run_id][0].started_at)
        for run in found.runs
        if run.job in followers and run.state in (RunState.SUCCEEDED, RunState.RUNNING)
    }
    promised = {
        (it.job, it.run_date, it.expected_start) for it in foreseen(config, ENDS[-1], takes) if it.job in followers
    }
    begun = {which for which in happened if SINCE < which[2] <= ENDS[-1]}
    assert begun <= promised
    assert {which for which in promised if which[2] <= ENDS[-1]} == begun
    assert {which for which in promised if which[2] <= ENDS[-1] + timedelta(hours=20)} <= happened


@given(texts(), DURATIONS)
@settings(max_examples=60)
def test_no_promise_moves_with_the_end_of_the_window(text: str, takes: dict[str, int]) -> None:
    """A longer window adds entries; it changes none and takes none away."""
    config = loaded(text)
    shorter: set[ForecastEntry] = set()
    for until in ENDS:
        entries = foreseen(config, until, takes)
        assert entries == sorted(entries, key=lambda it: (it.expected_start, it.job, it.run_date))
        assert shorter <= set(entries)
        assert all(it.expected_start > SINCE for it in entries)
        shorter = set(entries)
