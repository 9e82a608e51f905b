"""The timetable against the independent model of `timetable_model.py`, around real clock changes.

The sample here runs with every `make test`; all changes of all zones from 2000 to 2037 are in
`test_timetable_all_zones.py`, which is slow.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyscheduler.model.job import CronSpec, ScheduleSpec
from pyscheduler.timetable import compile_schedule
from tests.property.timetable_model import (
    Expression,
    changes,
    expected,
    expected_steps,
    expressions,
    steps_of,
    ticks,
    utc,
)

MINUTE, SECOND, HOUR, DAY = timedelta(minutes=1), timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)

ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",  # until 2011 at one minute past midnight: the fold spans two dates
    "America/Sao_Paulo",  # at midnight: days that begin at 01:00, evenings that come twice
    "America/Scoresbysund",
    "America/Nuuk",
    "Africa/Casablanca",  # back in spring, and negative summer time
    "Africa/El_Aaiun",
    "Antarctica/Troll",  # two hours
    "Antarctica/Casey",  # three hours, several times
    "Asia/Gaza",
    "Asia/Pyongyang",  # half an hour, once
    "Asia/Tehran",
    "Australia/Lord_Howe",  # half an hour, twice a year
    "America/Caracas",
    "Europe/Dublin",
    "Europe/Volgograd",
    "Pacific/Apia",  # a day that never was
    "Pacific/Fakaofo",
    "Asia/Kathmandu",
    "UTC",
)


@cache
def changes_of(zone: str) -> tuple[datetime, ...]:
    return tuple(changes(ZoneInfo(zone), utc("2000-01-01"), utc("2026-01-01"))) or (utc("2015-07-01"),)


@st.composite
def moments(draw: st.DrawFn) -> tuple[str, datetime]:
    """A zone and an instant at or near one of its clock changes."""
    zone = draw(st.sampled_from(ZONES))
    return zone, draw(st.sampled_from(changes_of(zone)))


def found(spec: ScheduleSpec, zone: str, star: str, since: datetime, until: datetime) -> list[tuple[datetime, object]]:
    schedule = compile_schedule(spec, zone, star=star)
    return [(firing.scheduled_at, firing.run_date) for firing in schedule.between(since, until)]


@given(moments(), expressions(any_day=True), st.integers(-30, 30))
@settings(max_examples=100)
def test_every_minute_near_a_clock_change_is_judged_as_the_model_judges_it(
    moment: tuple[str, datetime], expression: Expression, lag: int
) -> None:
    """Fixed times run once, at the end of a gap or the first time of two; wildcards keep real time (DESIGN 8 row 4)."""
    zone, change = moment
    since = change + lag * HOUR - 15 * HOUR
    until = since + 30 * HOUR
    model = expected(expression, "lone", ticks(ZoneInfo(zone), since - 26 * HOUR, until, MINUTE), since)
    assert found(CronSpec(text=expression.text), zone, "lone", since, until) == model


@given(moments(), expressions(), st.sampled_from(["lone", "leading"]), st.integers(-25, 25))
@settings(max_examples=20)
def test_whole_months_of_any_expression_agree_with_the_model(
    moment: tuple[str, datetime], expression: Expression, star: str, lag: int
) -> None:
    """Day fields, their special words and both readings of a star, month in, month out."""
    zone, change = moment
    since = (change + lag * DAY).replace(hour=0, minute=0, second=0)
    until = since + 32 * DAY
    model = expected(expression, star, ticks(ZoneInfo(zone), since - 2 * DAY, until, MINUTE), since)
    assert found(CronSpec(text=expression.text), zone, star, since, until) == model


@given(moments(), expressions(with_seconds=True, any_day=True))
@settings(max_examples=20)
def test_every_second_near_a_clock_change_is_judged_as_the_model_judges_it(
    moment: tuple[str, datetime], expression: Expression
) -> None:
    """Six fields follow the same rule as five."""
    zone, change = moment
    since, until = change - HOUR, change + 2 * HOUR
    model = expected(expression, "lone", ticks(ZoneInfo(zone), since - 3 * HOUR, until, SECOND), since)
    assert found(CronSpec(text=expression.text), zone, "lone", since, until) == model


@given(moments(), st.integers(0, 1439), st.none() | st.integers(0, 1439), st.integers(1, 1440).map(lambda n: n * 60))
@settings(max_examples=80)
@example(("Pacific/Apia", utc("2011-12-30T10:00")), 22 * 60, 6 * 60, 3600)
@example(("Pacific/Apia", utc("2011-12-30T10:00")), 0, None, 3600)
@example(("Europe/Berlin", utc("2026-10-25T01:00")), 60, 240, 1800)
def test_steps_near_a_clock_change_are_judged_as_the_model_judges_them(
    moment: tuple[str, datetime], opens: int, closes: int | None, every: int
) -> None:
    """`every` counts real seconds from the opening of each day's window, whatever the clocks do meanwhile."""
    zone, change = moment
    opens = opens if closes is not None else 0
    since, until = change - 30 * HOUR, change + 30 * HOUR
    going_by = ticks(ZoneInfo(zone), since - 2 * DAY, until + 2 * DAY, MINUTE)
    model = [it for it in expected_steps(opens, closes, every, going_by, since) if it[0] <= until]
    assert found(steps_of(every, opens, closes), zone, "lone", since, until) == model


def test_the_model_itself_sees_gaps_and_folds() -> None:
    """The second opinion must have one: Berlin's two nights, counted by hand."""
    berlin = ZoneInfo("Europe/Berlin")
    assert changes(berlin, utc("2026-01-01"), utc("2027-01-01")) == [utc("2026-03-29T01:00"), utc("2026-10-25T01:00")]
    assert all(change.tzinfo is UTC for change in changes_of("Europe/Berlin"))
