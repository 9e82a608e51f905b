from __future__ import annotations

import pickle
from datetime import date, datetime, time, timedelta

import pytest

from pyscheduler.model.job import (
    AtSpec,
    BusinessDaySpec,
    CronSpec,
    EverySpec,
    OnceSpec,
    RebootSpec,
    ScheduleSpec,
    Window,
)
from pyscheduler.timetable import (
    ALL_DAYS,
    BusinessCalendar,
    ScheduleError,
    UnknownZone,
    check_can_fire,
    compile_schedule,
    spec_from_text,
)
from pyscheduler.timetable.schedule import boot_schedule
from tests.unit.timetable.support import UK_2027, at, compiled, rows, rows_between, shown

NOON = (time(12),)


# --------------------------------------------------------------------------- from text


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("0 9 * * *", CronSpec(text="0 9 * * *")),
        ("@daily", CronSpec(text="@daily")),
        ("@every 1h30m", EverySpec(every_s=5400)),
        (" @every  10s ", EverySpec(every_s=10)),
        ("@reboot", RebootSpec()),
    ],
)
def test_a_text_stands_for_a_specification(text: str, spec: ScheduleSpec) -> None:
    """Cron, its macros, and the two that are none (DESIGN 8 row 14)."""
    assert spec_from_text(text) == spec


@pytest.mark.parametrize(
    "text", ["@every", "@every 10", "@every 0s", "@every 1h 30m", "@Every 1h", "@reboot now", "0 9 * *", ""]
)
def test_a_text_that_stands_for_nothing_is_refused(text: str) -> None:
    """With the reader's usual three parts."""
    with pytest.raises(ScheduleError):
        spec_from_text(text)


# --------------------------------------------------------------------------- compiling


def test_equal_specifications_are_one_schedule() -> None:
    """Ten thousand jobs of two thousand schedules hold two thousand of them."""
    one = compile_schedule(CronSpec(text="0 9 * * *"), "Europe/Berlin", UK_2027)
    same = BusinessCalendar("uk", holidays=frozenset({date(2027, 5, 17)}))
    assert compile_schedule(CronSpec(text="0 9 * * *"), "Europe/Berlin", same) is one
    others = [
        compile_schedule(CronSpec(text="0 9 * * *"), "Europe/London", UK_2027),
        compile_schedule(CronSpec(text="0 9 * * *"), "Europe/Berlin"),
        compile_schedule(CronSpec(text="0 9 * * *"), "Europe/Berlin", UK_2027, star="leading"),
        compile_schedule(CronSpec(text="0 9 * * *", jitter_s=1), "Europe/Berlin", UK_2027),
    ]
    assert one not in others


def test_at_fires_at_each_of_its_times() -> None:
    """Spec 2.2, with filters on the landing day."""
    twice = AtSpec(times=(time(19), time(7, 15)), days=(0, 4), months=(5,))
    assert rows(compiled(twice), "2027-05-20T00:00", 4) == [
        "2027-05-21T07:15",
        "2027-05-21T19:00",
        "2027-05-24T07:15",
        "2027-05-24T19:00",
    ]
    assert rows(compiled(twice), "2027-05-31T20:00", 1) == ["2028-05-01T07:15"]


def test_filters_bind_cron_too() -> None:
    """A mapping may hold a cron expression and the filters beside it."""
    assert rows(compiled(CronSpec(text="0 9 * * *", days=(6,), months=(6,))), "2027-05-20T00:00", 2) == [
        "2027-06-06T09:00",
        "2027-06-13T09:00",
    ]


def test_the_nth_working_day_of_the_month() -> None:
    """Spec 2.2: negative counts from the end."""
    last = compiled(BusinessDaySpec(nth=-1, times=(time(18),)), "Europe/London", UK_2027)
    assert rows(last, "2027-05-20T00:00", 2) == ["2027-05-31T17:00", "2027-06-30T17:00"]
    tenth = compiled(BusinessDaySpec(nth=11, times=NOON), calendar=UK_2027)
    assert rows(tenth, "2027-05-01T00:00", 1) == ["2027-05-18T12:00"]


def test_once_is_once() -> None:
    """A local time in the job's zone; afterwards there is nothing."""
    once = compiled(OnceSpec(at=datetime(2027, 1, 4, 6)), "America/New_York")
    assert rows(once, "2026-01-01T00:00", 5) == ["2027-01-04T11:00"]
    assert once.next(at("2027-01-04T11:00")) is None
    assert rows(compiled(OnceSpec(at=datetime(2027, 3, 28, 2, 30)), "Europe/Berlin"), "2026-01-01T00:00", 5) == [
        "2027-03-28T01:00"
    ]
    assert rows(compiled(OnceSpec(at=datetime(2027, 5, 17, 6)), calendar=UK_2027), "2026-01-01T00:00", 5) == []


def test_start_and_end_bound_the_landing_day() -> None:
    """Both inclusive; a window that crosses midnight belongs to the day it opened."""
    bounded = EverySpec(every_s=3600, opens=time(23), closes=time(1), start=date(2027, 5, 20), end=date(2027, 5, 21))
    assert rows(compiled(bounded), "2027-05-01T00:00", 9) == [
        "2027-05-20T23:00",
        "2027-05-21T00:00",
        "2027-05-21T01:00",
        "2027-05-21T23:00",
        "2027-05-22T00:00",
        "2027-05-22T01:00",
    ]


def test_exclude_windows_drop_by_the_time_that_is_named() -> None:
    """Before a clock change moves it: 02:30 is excluded also on the night when it would run at 03:00."""
    spec = CronSpec(text="30 2 * * *", exclude=(Window(start_time=time(2), end_time=time(2, 45)),))
    assert compiled(spec, "Europe/Berlin").next(at("2027-03-01T00:00")) is None
    spec = CronSpec(text="30 2 * * *", exclude=(Window(start_time=time(3), end_time=time(3, 45)),))
    assert rows(compiled(spec, "Europe/Berlin"), "2027-03-27T12:00", 1) == ["2027-03-28T01:00"]
    hourly = CronSpec(text="0 * * * *", exclude=(Window(start_time=time(22), end_time=time(6)),))
    assert len(rows_between(compiled(hourly), "2027-05-19T23:59", "2027-05-20T23:59")) == 15


def test_six_fields_begin_with_seconds() -> None:
    """And fall under the same rule for clock changes: fixed minute and hour, so the gap's seconds are one firing."""
    assert rows(compiled("*/20 0 9 * * *"), "2027-05-20T00:00", 4) == [
        "2027-05-20T09:00",
        "2027-05-20T09:00:20",
        "2027-05-20T09:00:40",
        "2027-05-21T09:00",
    ]
    gap = compiled("*/20 30 2 * * *", "Europe/Berlin")
    assert rows(gap, "2027-03-27T12:00", 2) == ["2027-03-28T01:00", "2027-03-29T00:30"]


def test_the_reading_of_a_star_is_chosen() -> None:
    """`cron_star` of the settings."""
    both = [
        len(rows_between(compiled("0 9 */2 * 1", star=it), "2026-05-01T00:00", "2026-06-01T00:00"))
        for it in ("lone", "leading")
    ]
    assert both == [18, 2]


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        (CronSpec(text="0 24 * * *"), "hour", "the hour field is 24"),
        (AtSpec(times=()), "at", "the list of times is empty"),
        (BusinessDaySpec(nth=1, times=()), "at", "the list of times is empty"),
        (BusinessDaySpec(nth=0, times=NOON), "business_day", "business_day is 0"),
        (BusinessDaySpec(nth=32, times=NOON), "business_day", "business_day is 32"),
        (BusinessDaySpec(nth=-32, times=NOON), "business_day", "business_day is -32"),
        (EverySpec(every_s=0), "every", "every is 0 s"),
        (EverySpec(every_s=90000), "every", "every 1d1h is longer than a day"),
        (EverySpec(every_s=60, opens=time(7)), "between", "the window has only one end"),
        (EverySpec(every_s=60, closes=time(7)), "between", "the window has only one end"),
        (AtSpec(times=NOON, days=(7,)), "days", "weekdays run from 0"),
        (AtSpec(times=NOON, months=(0,)), "months", "months run from 1 to 12"),
        (AtSpec(times=NOON, start=date(2027, 1, 2), end=date(2027, 1, 1)), "end", "before it starts"),
        (AtSpec(times=NOON, jitter_s=-1), "jitter", "it cannot be negative"),
        (AtSpec(times=NOON, exclude=(Window(),)), "exclude", "only one end"),
    ],
)
def test_what_makes_no_sense_is_refused(spec: ScheduleSpec, field: str, words: str) -> None:
    """At once, with the field to blame."""
    with pytest.raises(ScheduleError, match=words) as caught:
        compile_schedule(spec, "UTC", UK_2027)
    assert caught.value.field == field


def test_the_bounds_themselves_are_allowed() -> None:
    """One step a day, one day of validity, working day 31."""
    compile_schedule(EverySpec(every_s=86400), "UTC")
    compile_schedule(EverySpec(every_s=1), "UTC")
    compile_schedule(AtSpec(times=NOON, start=date(2027, 1, 1), end=date(2027, 1, 1)), "UTC")
    compile_schedule(BusinessDaySpec(nth=-31, times=NOON), "UTC")


def test_an_unknown_zone_or_reading_of_stars_is_refused() -> None:
    """Never UTC, never a guess."""
    with pytest.raises(UnknownZone):
        compile_schedule(AtSpec(times=NOON), "Europe/Berln")
    with pytest.raises(ScheduleError, match="cron_star is 'first'"):
        compile_schedule(AtSpec(times=NOON), "UTC", star="first")


# --------------------------------------------------------------------------- boots


def test_a_boot_fires_when_it_began() -> None:
    """`@reboot` is due at boot time, once; without a known boot it never is."""
    reboot = boot_schedule(RebootSpec(), "Europe/Berlin", ALL_DAYS, at("2026-10-25T01:30"))
    assert [(shown(it), it.run_date) for it in reboot.between(at("2020-01-01T00:00"), at("2030-01-01T00:00"))] == [
        ("2026-10-25T01:30", date(2026, 10, 25))  # in the second pass: a boot asks no wall
    ]
    assert compiled(RebootSpec()).next(at("2020-01-01T00:00")) is None
    copy = pickle.loads(pickle.dumps(reboot))
    assert copy.next(at("2020-01-01T00:00")) == reboot.next(at("2020-01-01T00:00"))


def test_a_boot_on_a_day_off_or_in_a_window_does_not_fire() -> None:
    """The filters of a schedule bind this one too."""
    booted = at("2027-05-17T11:30")
    lunch = RebootSpec(exclude=(Window(start_time=time(13), end_time=time(14)),))
    assert boot_schedule(RebootSpec(), "UTC", UK_2027, booted).next(at("2020-01-01T00:00")) is None
    assert boot_schedule(lunch, "Europe/Berlin", ALL_DAYS, booted).next(at("2020-01-01T00:00")) is None
    assert boot_schedule(lunch, "UTC", ALL_DAYS, booted).next(at("2020-01-01T00:00")) is not None
    late = RebootSpec(end=date(2027, 5, 16))
    assert boot_schedule(late, "UTC", ALL_DAYS, booted).next(at("2020-01-01T00:00")) is None


# --------------------------------------------------------------------------- never


FAR_UK = BusinessCalendar(
    "far", holidays=frozenset(date(year, 12, 25) for year in range(2025, 2034)), ends=date(2033, 12, 31)
)


@pytest.mark.parametrize(
    ("spec", "calendar"),
    [
        (CronSpec(text="0 0 31 4 *"), ALL_DAYS),
        (CronSpec(text="0 0 30 2 *"), ALL_DAYS),
        (CronSpec(text="0 0 31W 4 *"), ALL_DAYS),
        (CronSpec(text="0 0 * * sat"), UK_2027),
        (
            CronSpec(text="0 0 15 * *", months=(2,), days=(), exclude=(Window(start_time=time(0), end_time=time(0)),)),
            ALL_DAYS,
        ),
        (AtSpec(times=NOON, exclude=(Window(start_time=time(12), end_time=time(12)),)), ALL_DAYS),
        (AtSpec(times=NOON, exclude=(Window(start=datetime(1970, 1, 1)),)), ALL_DAYS),
        (EverySpec(every_s=3600, exclude=(Window(start_time=time(0), end_time=time(23, 59)),)), ALL_DAYS),
        (CronSpec(text="* * * * * *", exclude=(Window(start_time=time(0), end_time=time(23, 59)),)), ALL_DAYS),
        (BusinessDaySpec(nth=24, times=NOON), UK_2027),
        (AtSpec(times=NOON, days=(5,)), UK_2027),
        (CronSpec(text="0 0 29 2 *", start=date(2097, 1, 1), end=date(2103, 12, 31)), ALL_DAYS),
        (OnceSpec(at=datetime(2027, 5, 17, 6)), UK_2027),
        (CronSpec(text="0 0 25 12 *"), FAR_UK),
    ],
)
def test_a_schedule_that_can_never_fire_is_refused(spec: ScheduleSpec, calendar: BusinessCalendar) -> None:
    """At load, with the reason (FC-006)."""
    with pytest.raises(ScheduleError, match="this schedule can never fire") as caught:
        check_can_fire(spec, "Europe/Berlin", calendar)
    assert caught.value.mend


@pytest.mark.parametrize(
    ("spec", "calendar"),
    [
        (CronSpec(text="0 0 31 4,5 *"), ALL_DAYS),
        (CronSpec(text="0 0 29 2 *"), ALL_DAYS),
        (CronSpec(text="0 0 29 2 *", start=date(2097, 1, 1)), ALL_DAYS),
        (CronSpec(text="0 0 * 2 mon#5", start=date(2073, 1, 1)), ALL_DAYS),
        (OnceSpec(at=datetime(1999, 1, 1)), ALL_DAYS),
        (OnceSpec(at=datetime(2199, 1, 1)), ALL_DAYS),
        (OnceSpec(at=datetime(1975, 1, 1)), UK_2027),
        (AtSpec(times=NOON, end=date(2020, 1, 1)), ALL_DAYS),
        (AtSpec(times=NOON, end=date(1971, 1, 1)), UK_2027),
        (AtSpec(times=NOON, start=date(2150, 1, 1)), UK_2027),
        (AtSpec(times=NOON, start=date(1960, 1, 1)), UK_2027),
        (RebootSpec(), UK_2027),
        (BusinessDaySpec(nth=23, times=NOON), UK_2027),
        (CronSpec(text="0 0 25 12 *"), UK_2027),
        (CronSpec(text="0 0 26 12 *"), FAR_UK),
        (AtSpec(times=NOON, months=(6,), start=date(2033, 11, 1)), FAR_UK),
        (
            CronSpec(text="0 0 29 2 *"),
            BusinessCalendar("x", holidays=frozenset({date(2028, 2, 29)}), ends=date(2031, 12, 31)),
        ),
    ],
)
def test_a_schedule_that_fires_or_has_fired_is_accepted(spec: ScheduleSpec, calendar: BusinessCalendar) -> None:
    """What is over was no mistake, and 29 February comes after eight years at the latest."""
    check_can_fire(spec, "Europe/Berlin", calendar)


@pytest.mark.parametrize(
    ("spec", "calendar", "reason"),
    [
        (CronSpec(text="0 0 31 4 *"), ALL_DAYS, "no year has a day that cron 0 0 31 4 * names"),
        (CronSpec(text="0 0 * * sat"), UK_2027, "2027-01-02 is a Saturday, no working day of calendar uk"),
        (OnceSpec(at=datetime(2027, 5, 17, 6)), UK_2027, "2027-05-17 is a holiday of calendar uk"),
        (
            AtSpec(times=NOON, exclude=(Window(start_time=time(12), end_time=time(12)),)),
            ALL_DAYS,
            "its exclude windows cover every time it names, on 2000-01-01 and on any other day",
        ),
        (CronSpec(text="0 0 25 12 *"), FAR_UK, "choose other days or another calendar"),
        (AtSpec(times=NOON, days=(5,)), UK_2027, "2027-01-02 is a Saturday, no working day of calendar uk"),
        (
            CronSpec(text="0 0 29 2 *", start=date(2097, 1, 1), end=date(2103, 12, 31)),
            ALL_DAYS,
            "the schedule ended on 2103-12-31",
        ),
        (CronSpec(text="0 0 29 2 *", months=(3,)), ALL_DAYS, "month 2 is not among its `months`"),
    ],
)
def test_why_it_can_never_fire_is_said(spec: ScheduleSpec, calendar: BusinessCalendar, reason: str) -> None:
    """The nearest day that it names, and what takes it away."""
    with pytest.raises(ScheduleError) as caught:
        check_can_fire(spec, "UTC", calendar)
    assert caught.value.mend == reason


def test_what_cannot_be_compiled_cannot_fire() -> None:
    """One call is enough for config."""
    with pytest.raises(ScheduleError, match="hour field is 24"):
        check_can_fire(CronSpec(text="0 24 * * *"), "UTC")


def test_a_firing_across_the_century_is_right() -> None:
    """2096 to 2104: the year 2100 has no 29 February (FC-006)."""
    assert compiled("0 0 29 2 *").next(at("2096-02-29T00:00") + timedelta(days=1)) == compiled("0 0 29 2 *").next(
        at("2104-02-28T00:00")
    )
