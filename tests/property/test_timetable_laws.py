"""What holds for any job's timetable: one story however it is asked, and every filter is only a filter."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby, islice
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pyscheduler.model.job import (
    AtSpec,
    BusinessDaySpec,
    CronSpec,
    EverySpec,
    Job,
    OnceSpec,
    RunDateRule,
    ScheduleSpec,
    SourceRef,
    Window,
)
from pyscheduler.timetable import ALL_DAYS, BusinessCalendar, Timetable, compile_schedule, zone
from tests.property.timetable_model import Expression, expressions

SECOND = timedelta(seconds=1)
ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia", "Antarctica/Troll", "Asia/Gaza"]
)
NEAR_CHANGES = st.sampled_from(
    [
        datetime(2026, 10, 25, 1, tzinfo=UTC),
        datetime(2027, 3, 28, 1, tzinfo=UTC),
        datetime(2006, 10, 29, 2, 31, tzinfo=UTC),
        datetime(2025, 4, 5, 15, tzinfo=UTC),
        datetime(2011, 12, 30, 10, tzinfo=UTC),
        datetime(2027, 7, 1, tzinfo=UTC),
    ]
)
INSTANTS = st.tuples(NEAR_CHANGES, st.integers(-2 * 86400, 2 * 86400)).map(lambda it: it[0] + timedelta(seconds=it[1]))
SPANS = st.integers(0, 2 * 86400).map(lambda seconds: timedelta(seconds=seconds))
TIMES = st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda it: time(*it))
DATES = st.dates(date(2006, 10, 1), date(2027, 12, 31))
CALENDARS = st.just(ALL_DAYS) | st.builds(
    BusinessCalendar,
    st.just("odd"),
    st.frozensets(st.integers(0, 6), min_size=1),
    st.frozensets(st.sampled_from([date(2026, 10, 25), date(2026, 10, 26), date(2027, 3, 28), date(2011, 12, 31)])),
    st.frozensets(st.sampled_from([date(2026, 10, 24), date(2027, 3, 27), date(2006, 10, 29)])),
)

WINDOWS = st.one_of(
    st.builds(Window, start_time=TIMES, end_time=TIMES),
    st.tuples(st.datetimes(datetime(2026, 10, 20), datetime(2027, 7, 5)), st.integers(0, 300_000)).map(
        lambda it: Window(start=it[0], end=it[0] + timedelta(seconds=it[1]))
    ),
)


@st.composite
def filters(draw: st.DrawFn) -> dict[str, object]:
    start = draw(st.none() | DATES)
    return {
        "start": start,
        "end": draw(st.none() | DATES.filter(lambda end: start is None or end >= start)),
        "exclude": tuple(draw(st.lists(WINDOWS, max_size=2))),
        "days": tuple(draw(st.sets(st.integers(0, 6), max_size=5))),
        "months": tuple(draw(st.sets(st.integers(1, 12), max_size=8))),
        "jitter_s": draw(st.sampled_from([0, 60])),
    }


FILTERS = filters()
MAYBE_FILTERS: st.SearchStrategy[dict[str, object]] = st.just({}) | FILTERS


@st.composite
def specs(draw: st.DrawFn, filtered: st.SearchStrategy[dict[str, object]] = MAYBE_FILTERS) -> ScheduleSpec:
    extra = draw(filtered)
    form = draw(st.sampled_from(["cron", "any day", "every", "between", "at", "business_day", "once"]))
    match form:
        case "cron" | "any day":
            return CronSpec(text=draw(expressions(any_day=form == "any day")).text, **extra)  # type: ignore[arg-type]
        case "every":
            return EverySpec(every_s=draw(st.integers(600, 86400)), **extra)  # type: ignore[arg-type]
        case "between":
            every_s = draw(st.integers(300, 100_000))
            return EverySpec(every_s=every_s, opens=draw(TIMES), closes=draw(TIMES), **extra)  # type: ignore[arg-type]
        case "at":
            return AtSpec(times=tuple(draw(st.lists(TIMES, min_size=1, max_size=4))), **extra)  # type: ignore[arg-type]
        case "business_day":
            nth = draw(st.integers(-31, 31).filter(bool))
            return BusinessDaySpec(nth=nth, times=(draw(TIMES),), **extra)  # type: ignore[arg-type]
        case _:
            near = draw(INSTANTS).replace(tzinfo=None, microsecond=0)
            return OnceSpec(at=near, **extra)  # type: ignore[arg-type]


@st.composite
def timetables(draw: st.DrawFn) -> Timetable:
    job = Job(
        name=draw(st.sampled_from(["a", "nightly"])),
        source=SourceRef("x.yaml", 1),
        schedules=tuple(draw(st.lists(specs(), min_size=1, max_size=3))),
        timezone=draw(ZONES),
        run_date=draw(st.sampled_from(RunDateRule)),
    )
    return Timetable.of(job, draw(CALENDARS))


# --------------------------------------------------------------------------- one story


@given(timetables(), INSTANTS, SPANS)
@settings(max_examples=100)
def test_firings_ascend_and_next_is_the_first_of_them(table: Timetable, since: datetime, span: timedelta) -> None:
    """`next` and `between` cannot disagree, and no instant comes twice."""
    firings = list(table.between(since, since + span))
    instants = [it.scheduled_at for it in firings]
    assert instants == sorted(set(instants))
    assert all(since < it <= since + span for it in instants)
    upcoming = table.next(since)
    assert firings[:1] == ([upcoming] if upcoming and upcoming.scheduled_at <= since + span else [])


@given(timetables(), INSTANTS, SPANS, st.floats(0, 1))
@settings(max_examples=80)
def test_a_window_is_the_sum_of_its_parts(table: Timetable, since: datetime, span: timedelta, part: float) -> None:
    """(since, mid] and (mid, until] hold what (since, until] holds: a restart anywhere loses and doubles nothing."""
    middle = since + span * part
    whole = list(table.between(since, since + span))
    assert list(table.between(since, middle)) + list(table.between(middle, since + span)) == whole


@given(timetables(), INSTANTS, SPANS, st.integers(0, 20))
@settings(max_examples=120)
def test_what_was_missed_is_what_a_walk_would_find(
    table: Timetable, since: datetime, span: timedelta, keep: int
) -> None:
    """Counted by arithmetic, compared with walking."""
    walked = list(table.between(since, since + span))
    missed = table.missed(since, since + span, keep)
    assert missed.count == len(walked)
    assert (missed.first, missed.last) == ((walked[0], walked[-1]) if walked else (None, None))
    assert list(missed.newest) == (walked[-keep:] if keep else [])


@given(timetables(), INSTANTS)
@settings(max_examples=80)
def test_a_run_dates_firings_are_those_of_the_stream(table: Timetable, since: datetime) -> None:
    """`on` groups what `between` yields, leaving out none and adding none."""
    firings = list(table.between(since, since + timedelta(days=3)))
    for run_date in {it.run_date for it in firings}:
        ours = table.on(run_date)
        assert {it.run_date for it in ours} == {run_date}
        assert table.first_on(run_date) == ours[0]
        assert [it for it in ours if since < it.scheduled_at <= since + timedelta(days=3)] == [
            it for it in firings if it.run_date == run_date
        ]


@given(timetables(), INSTANTS)
@settings(max_examples=80)
def test_a_date_either_fires_or_says_why_not_or_was_never_named(table: Timetable, since: datetime) -> None:
    """`skipped_by` has a reason exactly where something was dropped."""
    for offset in range(-2, 3):
        day = (since + timedelta(days=offset)).date()
        bare = [compile_schedule(_bare(it.spec), it.zone.name, _calendar_of(it.spec, table)) for it in table.schedules]
        named = any(it.days.names((day - date(1970, 1, 1)).days) for it in bare)
        fires = any(True for it in table.schedules for _ in it.on((day - date(1970, 1, 1)).days))
        reason = table.skipped_by(day)
        if fires or not named:
            assert reason is None
        elif _day_exists(table, day):
            assert reason or not any(any(True for _ in it.on((day - date(1970, 1, 1)).days)) for it in bare)


def _bare(spec: ScheduleSpec) -> ScheduleSpec:
    return replace(spec, start=None, end=None, exclude=(), days=(), months=())


def _calendar_of(spec: ScheduleSpec, table: Timetable) -> BusinessCalendar:
    return table.calendar if isinstance(spec, BusinessDaySpec) else ALL_DAYS


def _day_exists(table: Timetable, day: date) -> bool:
    return (table.zone.name, day) != ("Pacific/Apia", date(2011, 12, 30))


@given(timetables())
@settings(max_examples=40)
def test_a_timetable_that_travelled_tells_the_same(table: Timetable) -> None:
    """Pickled and read back, it is equal and fires the same."""
    since = datetime(2027, 3, 20, tzinfo=UTC)
    copy = pickle.loads(pickle.dumps(table))
    assert copy == table
    assert list(islice(copy.between(since, since + timedelta(days=9)), 50)) == list(
        islice(table.between(since, since + timedelta(days=9)), 50)
    )


@given(timetables(), st.datetimes(timezones=st.just(UTC)) | st.datetimes(datetime(9990, 1, 1), timezones=st.just(UTC)))
@settings(max_examples=80)
def test_no_instant_raises(table: Timetable, instant: datetime) -> None:
    """From year 1 to 9999: a firing in bounds, or none."""
    firing = table.next(instant)
    assert firing is None or (firing.scheduled_at > instant and 1970 <= firing.scheduled_at.year <= 9999)
    assert table.missed(instant, instant, 1).count == 0
    table.skipped_by(instant.date())
    table.on(instant.date())


# --------------------------------------------------------------------------- filters only filter


@given(specs(FILTERS), ZONES, CALENDARS, INSTANTS)
@settings(max_examples=120)
def test_filters_take_away_and_add_nothing(
    spec: ScheduleSpec, name: str, calendar: BusinessCalendar, since: datetime
) -> None:
    """What fires is what the bare schedule names, on days and at times that no filter drops."""
    until = since + timedelta(days=4)
    business = calendar if isinstance(spec, BusinessDaySpec) else ALL_DAYS
    bare = compile_schedule(_bare(spec), name, business)
    place = zone(name)
    expected: dict[datetime, date] = {}
    for firing in bare.between(since, until):
        before, wall = place.local(firing.scheduled_at - SECOND), place.local(firing.scheduled_at)
        assume(wall <= before + SECOND)  # at a gap's end one firing stands for several times: each has its own filters
        if _kept(spec, calendar, firing.run_date, wall):
            expected[firing.scheduled_at] = firing.run_date
    found = compile_schedule(spec, name, calendar)
    assert {it.scheduled_at: it.run_date for it in found.between(since, until)} == expected


def _kept(spec: ScheduleSpec, calendar: BusinessCalendar, landing: date, wall: datetime) -> bool:
    return (
        calendar.is_business_day(landing)
        and (spec.start is None or spec.start <= landing)
        and (spec.end is None or landing <= spec.end)
        and (not spec.days or landing.weekday() in spec.days)
        and (not spec.months or landing.month in spec.months)
        and not any(_covers(window, wall) for window in spec.exclude)
    )


def _covers(window: Window, wall: datetime) -> bool:
    if window.start_time is None or window.end_time is None:
        assert window.start is not None
        assert window.end is not None
        return window.start.replace(microsecond=0) <= wall <= window.end
    minute = wall.time().replace(second=0, microsecond=0)
    if window.start_time <= window.end_time:
        return window.start_time <= minute <= window.end_time
    return minute >= window.start_time or minute <= window.end_time


# --------------------------------------------------------------------------- against the library itself


OURS_ALONE = re.compile(r"\dw|l-|[a-z]{3}l|\b(\d+)-\1/", re.IGNORECASE)
"""Words that cronsim does not read, or reads another way (`5-5/2`)."""


@given(expressions(), st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]), INSTANTS)
@settings(max_examples=80)
def test_where_the_library_knows_the_words_it_agrees(expression: Expression, name: str, since: datetime) -> None:
    """Five fields, changes of an hour, Debian's star: cronsim's own walk from firing to firing is another witness."""
    assume(OURS_ALONE.search(expression.text) is None)
    ours = compile_schedule(CronSpec(text=expression.text), name, star="leading")
    found = [it.scheduled_at for it in islice(ours.between(since, datetime.max.replace(tzinfo=UTC)), 15)]
    try:
        walk = CronSim(expression.text, since.astimezone(ZoneInfo(name)))
    except CronSimError:  # a day that no named month has
        assert found == []
        return
    # The library yields a gap's end once for each time in the gap, and in a fold the hour before `since` again.
    later = (it.astimezone(UTC) for it in islice(walk, 200))
    assert found == list(islice((at for at, _ in groupby(later) if at > since), 15))


# --------------------------------------------------------------------------- calendars


@given(CALENDARS, DATES, st.integers(-12, 12))
@settings(max_examples=100)
def test_unshift_undoes_shift(calendar: BusinessCalendar, day: date, n: int) -> None:
    """For every working run date R, the date it waits for calls for R, and only for it."""
    if calendar.is_business_day(day):
        upstream = calendar.shift(day, n)
        assert upstream is not None
        assert calendar.unshift(upstream, n) == (day,)
    for run_date in calendar.unshift(day, n):
        assert calendar.shift(run_date, n) == day


@given(CALENDARS, DATES, st.integers(-9, 9), st.integers(-9, 9))
@settings(max_examples=100)
def test_shifts_add_up_in_one_direction(calendar: BusinessCalendar, day: date, a: int, b: int) -> None:
    """Three and two working days are five; from a working day, there and back leads home."""
    assume(a * b >= 0)
    first = calendar.shift(day, a)
    assert first is not None
    assert calendar.shift(first, b) == calendar.shift(day, a + b)
    if calendar.is_business_day(day):
        assert calendar.shift(first, -a) == day


@given(CALENDARS, DATES)
@settings(max_examples=100)
def test_next_and_previous_are_neighbours(calendar: BusinessCalendar, day: date) -> None:
    """Nothing between is a working day."""
    following, before = calendar.next(day), calendar.previous(day)
    assert following is not None
    assert before is not None
    assert before < day < following
    assert calendar.is_business_day(following)
    assert calendar.is_business_day(before)
    between = [before + timedelta(n) for n in range(1, (following - before).days)]
    assert [it for it in between if calendar.is_business_day(it)] == ([day] if calendar.is_business_day(day) else [])


@given(CALENDARS, st.integers(2006, 2027), st.integers(1, 12), st.integers(1, 31))
@settings(max_examples=100)
def test_counting_from_both_ends_of_a_month_meets(calendar: BusinessCalendar, year: int, month: int, nth: int) -> None:
    """The n-th of m working days is the (m - n + 1)-th from the end."""
    first = date(year, month, 1)
    days = [first + timedelta(n) for n in range(31) if (first + timedelta(n)).month == month]
    working = [day for day in days if calendar.is_business_day(day)]
    assert calendar.nth_of_month(year, month, nth) == (working[nth - 1] if nth <= len(working) else None)
    assert calendar.nth_of_month(year, month, -nth) == (working[-nth] if nth <= len(working) else None)
