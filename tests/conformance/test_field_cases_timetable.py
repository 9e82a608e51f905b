"""Field cases that the timetable answers: each with the case's own input and numbers.

Where a case offers policies, the house's stands in the docstring: run-after-gap and the first of two for fixed times,
real time for wildcards (DESIGN 8 row 4), a backward range refused (jobs.md 2.1), catch-up bounded at the latest 1000 a
job (DESIGN 8 row 3). The parts of a case that need a running scheduler are tested where that lives.
"""

from __future__ import annotations

import time as process_time
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, pairwise

import pytest

from pyscheduler.model.firing import Firing
from pyscheduler.model.job import (
    AtSpec,
    BusinessDaySpec,
    CronSpec,
    EverySpec,
    Job,
    OnceSpec,
    ScheduleSpec,
    SourceRef,
)
from pyscheduler.timetable import (
    ALL_DAYS,
    TZDATA_VERSION,
    BusinessCalendar,
    ScheduleError,
    Timetable,
    UnknownZone,
    check_can_fire,
    zone,
)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def table(
    *schedules: ScheduleSpec | str, tz: str = "UTC", calendar: BusinessCalendar = ALL_DAYS, star: str = "lone"
) -> Timetable:
    specs = tuple(CronSpec(text=it) if isinstance(it, str) else it for it in schedules)
    job = Job(name="job", source=SourceRef("pysched.yaml", 1), schedules=specs, timezone=tz)
    return Timetable.of(job, calendar, star=star)


def instants(firings: Iterator[Firing] | tuple[Firing, ...]) -> list[str]:
    return [it.scheduled_at.isoformat()[:19].removesuffix(":00") for it in firings]


def between(timetable: Timetable, since: str, until: str) -> list[str]:
    return instants(timetable.between(at(since), at(until)))


def upcoming(timetable: Timetable, since: str, count: int) -> list[str]:
    return instants(islice(timetable.between(at(since), datetime.max.replace(tzinfo=UTC)), count))


def days_of_may_2026(expression: str, star: str) -> list[int]:
    found = table(expression, star=star).between(at("2026-04-30T23:59"), at("2026-05-31T23:59"))
    return [it.scheduled_at.day for it in found]


# --------------------------------------------------------------------------- cron-syntax


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 9 1-31 * 1", list(range(1, 32))),
        ("0 9 */2 * 1", [11, 25]),
        ("0 9 1/1 * 1", list(range(1, 32))),
        ("0 9 1 * 0/1", list(range(1, 32))),
        ("0 9 13 * 5", [1, 8, 13, 15, 22, 29]),
        ("0 9 1 * */2", []),
    ],
)
def test_fc_002_a_leading_star_decides_between_and_and_or(expression: str, days: list[int]) -> None:
    """`cron_star: leading` is the case's Vixie rule. `N/step` runs from N to the field's maximum, in both fields."""
    assert days_of_may_2026(expression, "leading") == days


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 9 1-31 * 1", list(range(1, 32))),
        ("0 9 */2 * 1", [1, 3, 4, 5, 7, 9, 11, 13, 15, 17, 18, 19, 21, 23, 25, 27, 29, 31]),
        ("0 9 1/1 * 1", list(range(1, 32))),
        ("0 9 1 * 0/1", list(range(1, 32))),
        ("0 9 13 * 5", [1, 8, 13, 15, 22, 29]),
        ("0 9 1 * */2", [1, 2, 3, 5, 7, 9, 10, 12, 14, 16, 17, 19, 21, 23, 24, 26, 28, 30, 31]),
    ],
)
def test_fc_002_by_default_only_a_lone_star_is_one(expression: str, days: list[int]) -> None:
    """jobs.md 2.1: anything but a lone `*` restricts, and of two restricted fields either may match."""
    assert days_of_may_2026(expression, "lone") == days


def test_fc_002_next_and_the_firing_loop_give_one_list() -> None:
    """Stepping from firing to firing, and listing a window, are the same thing."""
    timetable = table("0 9 */2 * 1")
    stepped, moment = [], at("2026-05-01T00:00")
    while (firing := timetable.next(moment)) is not None and firing.scheduled_at < at("2026-06-01T00:00"):
        stepped.append(firing)
        moment = firing.scheduled_at
    assert stepped == list(timetable.between(at("2026-05-01T00:00"), at("2026-05-31T23:59")))


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 0 * * 5-7", [1, 2, 3, 8, 9, 10]),
        ("0 0 * * FRI-SUN", [1, 2, 3, 8, 9, 10]),
        ("0 0 * * 0-7", list(range(1, 15))),
        ("0 0 * * 7", [3, 10]),
    ],
)
def test_fc_004_ranges_to_sunday(expression: str, days: list[int]) -> None:
    """Sunday is 7 at the end of a range, by number and by name in any letter case."""
    found = table(expression).between(at("2026-04-30T23:59"), at("2026-05-14T23:59"))
    assert [it.scheduled_at.day for it in found] == days


@pytest.mark.parametrize(
    ("expression", "field", "range_"),
    [
        ("0 0 * * fri-mon", "day-of-week", "fri-mon"),
        ("0 0 * * 5-1", "day-of-week", "5-1"),
        ("0 19 * NOV-MAR 0", "month", "nov-mar"),
        ("0 0 20-10 * *", "day-of-month", "20-10"),
    ],
)
def test_fc_004_a_range_past_the_end_is_refused_by_name(expression: str, field: str, range_: str) -> None:
    """Rejected at load with the field and the range, names and numbers alike; never accepted and silently empty."""
    with pytest.raises(ScheduleError) as caught:
        check_can_fire(CronSpec(text=expression), "UTC")
    assert caught.value.field == field
    assert range_ in caught.value.what


# --------------------------------------------------------------------------- cron-impossible


@pytest.mark.parametrize("expression", ["0 0 31 4 *", "0 0 30 2 *", "0 0 31 2 *", "0 0 31 2,4,6,9,11 *"])
def test_fc_006_a_date_that_never_comes_is_refused_fast(expression: str) -> None:
    """An error in well under a second of computing; a look ahead or back for it is bounded too."""
    begin = process_time.process_time()
    with pytest.raises(ScheduleError, match="this schedule can never fire"):
        check_can_fire(CronSpec(text=expression), "Europe/Berlin")
    assert table(expression).next(at("2026-01-01T00:00")) is None
    assert table(expression).missed(at("1970-01-01T00:00"), at("2026-01-01T00:00"), 1).count == 0
    assert process_time.process_time() - begin < 1.0  # the case's own bound, twenty times what it takes


def test_fc_006_dates_that_come_seldom_are_found() -> None:
    """31 April or May is May; 29 February comes every four years, and after eight across 2100."""
    check_can_fire(CronSpec(text="0 0 31 4,5 *"), "UTC")
    check_can_fire(CronSpec(text="0 0 29 2 *"), "UTC")
    assert upcoming(table("0 0 31 4,5 *"), "2026-01-01T00:00", 1) == ["2026-05-31T00:00"]
    assert upcoming(table("0 0 29 2 *"), "2026-01-01T00:00", 1) == ["2028-02-29T00:00"]
    assert upcoming(table("0 0 29 2 *"), "2096-03-01T00:00", 1) == ["2104-02-29T00:00"]


# --------------------------------------------------------------------------- dst


def test_fc_008_a_fixed_time_in_the_spring_gap_runs_at_its_end() -> None:
    """Run-after-gap; the next day is the next day, and the yearly variant is not put off by a year."""
    assert between(table("30 2 * * *", tz="America/New_York"), "2025-03-08T08:00", "2025-03-11T06:30") == [
        "2025-03-09T07:00",
        "2025-03-10T06:30",
        "2025-03-11T06:30",
    ]
    assert upcoming(table("0 2 9 3 *", tz="America/New_York"), "2025-01-01T00:00", 2) == [
        "2025-03-09T07:00",
        "2026-03-09T06:00",
    ]


def test_fc_010_midnight_moves_on_over_the_long_day() -> None:
    """The 26th is 25 hours long; a year ahead is 400 distinct dates, strictly rising."""
    midnight = table("0 0 * * *", tz="Europe/London")
    assert upcoming(midnight, "2025-10-24T00:00", 4) == [
        "2025-10-24T23:00",
        "2025-10-25T23:00",
        "2025-10-27T00:00",
        "2025-10-28T00:00",
    ]
    assert upcoming(table("0 0 * * 0", tz="Europe/London"), "2025-10-18T00:00", 3) == [
        "2025-10-18T23:00",
        "2025-10-25T23:00",
        "2025-11-02T00:00",
    ]
    many = list(islice(midnight.between(at("2025-10-24T00:00"), at("2030-01-01T00:00")), 400))
    assert len({it.run_date for it in many}) == 400
    assert all(a.scheduled_at < b.scheduled_at for a, b in pairwise(many))


# --------------------------------------------------------------------------- odd-zones


def test_fc_012_casablanca_goes_back_in_spring() -> None:
    """Only the order of instants decides: the first of two in February, the gap's end in April."""
    half_past_two = table("30 2 * * *", tz="Africa/Casablanca")
    assert between(half_past_two, "2025-02-21T12:00", "2025-02-25T00:00") == [
        "2025-02-22T01:30",
        "2025-02-23T01:30",
        "2025-02-24T02:30",
    ]
    assert between(half_past_two, "2025-04-04T12:00", "2025-04-08T00:00") == [
        "2025-04-05T02:30",
        "2025-04-06T02:00",
        "2025-04-07T01:30",
    ]


def test_fc_014_lord_howe_half_hour_shift() -> None:
    """A day of 24.5 or 23.5 hours: once in the overlap, at the gap's end in spring, and never called skipped."""
    assert upcoming(table("45 1 * * *", tz="Australia/Lord_Howe"), "2025-04-05T10:00", 2) == [
        "2025-04-05T14:45",
        "2025-04-06T15:15",
    ]
    quarter_past = table("15 2 * * *", tz="Australia/Lord_Howe")
    assert upcoming(quarter_past, "2025-10-04T10:00", 2) == ["2025-10-04T15:30", "2025-10-05T15:15"]
    half_past = table("30 2 * * *", tz="Australia/Lord_Howe")
    assert upcoming(half_past, "2025-10-04T10:00", 1) == ["2025-10-04T15:30"]
    assert upcoming(table("0 2 * * *", tz="Australia/Lord_Howe"), "2025-04-05T10:00", 1) == ["2025-04-05T15:30"]
    moved, real = quarter_past.next(at("2025-10-04T10:00")), half_past.next(at("2025-10-04T10:00"))
    assert moved is not None
    assert real is not None
    assert "does not exist" in quarter_past.rule_at(moved)
    assert half_past.rule_at(real) == ""


def test_fc_016_troll_two_hour_shift() -> None:
    """Two slots vanish at once and are one run at the gap's end; 24 hours after 23:00 is not the next 23:00."""
    slots = table("30 1,2 * * *", tz="Antarctica/Troll")
    assert between(slots, "2025-03-29T00:00", "2025-04-01T00:00") == [
        "2025-03-29T01:30",
        "2025-03-29T02:30",
        "2025-03-30T01:00",
        "2025-03-30T23:30",
        "2025-03-31T00:30",
        "2025-03-31T23:30",
    ]
    assert between(slots, "2025-10-25T12:00", "2025-10-28T00:00") == [
        "2025-10-25T23:30",
        "2025-10-26T00:30",
        "2025-10-27T01:30",
        "2025-10-27T02:30",
    ]
    assert between(table("0 23 * * *", tz="Antarctica/Troll"), "2025-10-24T00:00", "2025-10-28T00:00") == [
        "2025-10-24T21:00",
        "2025-10-25T21:00",
        "2025-10-26T23:00",
        "2025-10-27T23:00",
    ]


# --------------------------------------------------------------------------- tz-config-display


@pytest.mark.parametrize("host", ["UTC", "Europe/London", "Asia/Kathmandu", "Pacific/Apia"])
def test_fc_018_the_hosts_zone_plays_no_part(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six jobs in UTC on the night a London host changes, each once; the mirror fires at the first of two."""
    monkeypatch.setenv("TZ", host)
    process_time.tzset()
    try:
        crons = [f"{it} * * *" for it in ("59 0", "0 1", "1 1", "30 1", "59 1", "0 2")]
        found = [between(table(it), "2025-10-25T12:00", "2025-10-26T12:00") for it in crons]
        assert found == [[f"2025-10-26T{it}"] for it in ("00:59", "01:00", "01:01", "01:30", "01:59", "02:00")]
        mirror = table("30 1 * * *", tz="Europe/London")
        assert between(mirror, "2025-10-25T12:00", "2025-10-26T12:00") == ["2025-10-26T00:30"]
    finally:
        monkeypatch.undo()
        process_time.tzset()


def test_fc_020_one_source_of_zone_data_and_its_release_is_shown() -> None:
    """2026f has Vancouver at -07:00, 2025b at -08:00; whatever the host has installed is not looked at."""
    assert TZDATA_VERSION >= "2026f"
    found = upcoming(table("0 9 * * *", tz="America/Vancouver"), "2026-11-29T00:00", 1)
    assert found == ["2026-11-29T16:00"]


@pytest.mark.parametrize("name", ["Europe/Berln", "GMT+3", "", "Europe/Berlin ", "europe/berlin"])
def test_fc_020_an_unknown_zone_is_an_error_that_names_it(name: str) -> None:
    """Never UTC in silence."""
    with pytest.raises(UnknownZone) as caught:
        zone(name)
    assert repr(name) in str(caught.value)


def test_fc_020_old_style_names_mean_what_they_say() -> None:
    """Etc/GMT+3 is three hours behind; EST5EDT and CET are IANA keys."""
    assert upcoming(table("0 9 * * *", tz="Etc/GMT+3"), "2026-11-29T00:00", 1) == ["2026-11-29T12:00"]
    assert upcoming(table("0 9 * * *", tz="EST5EDT"), "2026-11-29T00:00", 1) == ["2026-11-29T14:00"]
    assert upcoming(table("0 9 * * *", tz="CET"), "2026-11-29T00:00", 1) == ["2026-11-29T08:00"]


# --------------------------------------------------------------------------- leap-year-boundary


def test_fc_022_the_turn_of_the_year_skips_none() -> None:
    """A year is never jumped over from December, and a Sunday on 1 January is a Sunday."""
    for since in ("2022-12-01T00:00", "2022-12-01T00:01"):
        assert upcoming(table("0 0 1 1 *"), since, 2) == ["2023-01-01T00:00", "2024-01-01T00:00"]
    assert upcoming(table("0 0 * * 0"), "2016-12-28T23:00", 1) == ["2017-01-01T00:00"]


# --------------------------------------------------------------------------- clock-step, suspend


def test_fc_024_ten_years_missed_are_counted_and_not_listed() -> None:
    """By arithmetic: 315,532,800 seconds and 5,258,880 minutes, the newest hundred at hand, in under a second."""
    start, end = at("2016-07-12T00:00"), at("2026-07-12T00:00")
    begin = process_time.process_time()
    seconds = table(EverySpec(every_s=1)).missed(start, end, 100)
    minutes = table("* * * * *").missed(start, end, 100)
    six_fields = table("* * * * * *").missed(start, end, 100)
    assert process_time.process_time() - begin < 1.0
    assert (seconds.count, minutes.count, six_fields.count) == (315_532_800, 5_258_880, 315_532_800)
    assert (len(seconds.newest), len(minutes.newest)) == (100, 100)
    assert seconds.last == minutes.last == seconds.newest[-1] == Firing(end, date(2026, 7, 12))
    assert seconds.newest[0].scheduled_at == end - timedelta(seconds=99)


def test_fc_024_the_year_2200_is_a_year() -> None:
    """Past 2038 and 2106, no exception and the right instants."""
    minutes = table("* * * * *", tz="Europe/Berlin")
    assert upcoming(minutes, "2200-01-01T00:00", 1) == ["2200-01-01T00:01"]
    assert minutes.missed(at("2026-07-12T00:00"), at("2200-01-01T00:00"), 1).count == 91_238_400


def test_fc_026_what_a_suspend_swallowed_is_known_per_job() -> None:
    """Eight hours: 480 minutes, 8 hours, one day's run, and live time goes on at the next minute."""
    since, until = at("2026-06-01T00:30:10"), at("2026-06-01T08:30:10")
    minutes, hours, days = (table(it) for it in ("* * * * *", "0 * * * *", "0 6 * * *"))
    assert minutes.missed(since, until, 1).count == 480
    assert upcoming(minutes, "2026-06-01T08:30:10", 1) == ["2026-06-01T08:31"]
    hourly = hours.missed(since, until, 3)
    assert (hourly.count, instants(hourly.newest)) == (8, ["2026-06-01T06:00", "2026-06-01T07:00", "2026-06-01T08:00"])
    assert instants(days.missed(since, until, 1000).newest) == ["2026-06-01T06:00"]


# --------------------------------------------------------------------------- catchup


def test_fc_028_a_short_stop_over_a_due_minute_loses_neither_job() -> None:
    """Both have missed 09:40 and nothing else, and go on from there."""
    tens, ones = table("*/10 * * * *"), table("* * * * *")
    since, until = at("2026-06-01T09:39:30"), at("2026-06-01T09:40:10")
    assert (
        instants(tens.missed(since, until, 9).newest)
        == instants(ones.missed(since, until, 9).newest)
        == ["2026-06-01T09:40"]
    )
    assert between(tens, "2026-06-01T09:40:10", "2026-06-01T09:50:30") == ["2026-06-01T09:50"]
    assert len(between(ones, "2026-06-01T09:40:10", "2026-06-01T09:50:30")) == 10


def test_fc_030_a_week_missed_is_seven_and_the_latest_is_one() -> None:
    """2 to 8 June; the next one is counted from now."""
    daily = table("0 6 * * *")
    missed = daily.missed(at("2026-06-01T12:00"), at("2026-06-08T09:00"), 1000)
    assert [it.run_date.day for it in missed.newest] == [2, 3, 4, 5, 6, 7, 8]
    assert missed.last == Firing(at("2026-06-08T06:00"), date(2026, 6, 8))
    assert upcoming(daily, "2026-06-08T09:00", 1) == ["2026-06-09T06:00"]


def test_fc_032_steps_keep_their_phase_and_jitter_spreads_a_storm() -> None:
    """After a restart at any second the steps are where they were; 200 jobs due together start at 200 instants."""
    every = EverySpec(every_s=10)
    for since in ("2026-06-01T10:07:00", "2026-06-01T10:07:03", "2026-06-01T10:07:09"):
        assert upcoming(table(every), since, 1) == ["2026-06-01T10:07:10"]
    spread = CronSpec(text="*/30 * * * *", jitter_s=600)
    jobs = [Job(name=f"job{n}", source=SourceRef("x", 1), schedules=(spread,)) for n in range(200)]
    firings = [Timetable.of(it, ALL_DAYS).next(at("2026-06-01T10:07")) for it in jobs]
    assert {it.scheduled_at for it in firings if it} == {at("2026-06-01T10:30")}
    assert len({it.jitter_s for it in firings if it}) == 200


# --------------------------------------------------------------------------- restart-duplicates


def test_fc_034_nothing_runs_before_its_first_slot() -> None:
    """At 07:59:41 eight o'clock is still to come; at 08:00:00.4 it is over, and only `missed` still knows it."""
    eight = table("0 8 * * *")
    assert upcoming(eight, "2026-06-01T07:59:41", 1) == ["2026-06-01T08:00"]
    just_after = at("2026-06-01T08:00") + timedelta(milliseconds=400)
    assert eight.next(just_after) == Firing(at("2026-06-02T08:00"), date(2026, 6, 2))
    assert eight.missed(just_after, at("2026-06-01T08:00:30"), 9).count == 0
    assert eight.missed(at("2026-06-01T07:59:59"), just_after, 9).count == 1


# --------------------------------------------------------------------------- dependencies, as far as dates go


def test_fc_074_an_upstream_without_a_slot_is_told_from_a_late_one() -> None:
    """Saturday is not among its days, Monday lies behind its end: known at once, without waiting."""
    upstream = table(CronSpec(text="0 1 * * 1-5", end=date(2025, 12, 31)))
    assert upstream.on(date(2026, 1, 3)) == ()
    assert upstream.skipped_by(date(2026, 1, 3)) is None
    assert upstream.on(date(2026, 1, 5)) == ()
    assert upstream.skipped_by(date(2026, 1, 5)) == "the schedule ended on 2025-12-31"
    assert instants(upstream.on(date(2025, 12, 31))) == ["2025-12-31T01:00"]
    assert upstream.next(at("2026-01-01T00:00")) is None


def test_fc_076_slots_are_matched_by_nominal_time() -> None:
    """24 hourly slots before 04:00; 28 and 29 days of February; 23 and 25 hours of Berlin's days."""
    hourly = table("0 * * * *")
    slots = between(hourly, "2025-06-02T03:59:59", "2025-06-03T03:59:59")
    assert (len(slots), slots[0], slots[-1]) == (24, "2025-06-02T04:00", "2025-06-03T03:00")
    daily = table("0 4 * * *")
    assert len([day for day in range(1, 29) if daily.on(date(2025, 2, day))]) == 28
    assert len([day for day in range(1, 30) if daily.on(date(2024, 2, day))]) == 29
    berlin = zone("Europe/Berlin")
    for local, count, first, last in (
        (date(2025, 3, 30), 23, "2025-03-29T23:00", "2025-03-30T21:00"),
        (date(2025, 10, 26), 25, "2025-10-25T22:00", "2025-10-26T22:00"),
    ):
        midnight = datetime.combine(local, time())
        begin = berlin.resolve(midnight).instant - timedelta(seconds=1)
        end = berlin.resolve(midnight + timedelta(days=1)).instant - timedelta(seconds=1)
        slots = instants(hourly.between(begin, end))
        assert (len(slots), slots[0], slots[-1]) == (count, first, last)


# --------------------------------------------------------------------------- reload-rename


def test_fc_080_a_rebuilt_timetable_keeps_phase_and_fires_once() -> None:
    """However often it is built anew between 00:06:55 and 00:07:05: E on the tens, F once at 00:07."""
    every, once = EverySpec(every_s=600), OnceSpec(at=datetime(2026, 6, 1, 0, 7))
    assert upcoming(table(every), "2026-05-31T23:59:59", 3) == [
        "2026-06-01T00:00",
        "2026-06-01T00:10",
        "2026-06-01T00:20",
    ]
    assert upcoming(table(every), "2026-06-01T00:09:30", 1) == ["2026-06-01T00:10"]
    fired, moment = [], at("2026-06-01T00:06:55")
    for _ in range(50):
        later = moment + timedelta(milliseconds=200)
        fired += instants(table(once).between(moment, later))
        moment = later
    assert fired == ["2026-06-01T00:07"]
    assert table(once).next(moment) is None


# --------------------------------------------------------------------------- business-calendar


UK = BusinessCalendar(
    "uk",
    holidays=frozenset(
        {
            date(2021, 12, 27),
            date(2021, 12, 28),
            date(2022, 1, 3),
            date(2022, 4, 15),
            date(2022, 4, 18),
            date(2022, 5, 2),
        }
    ),
    ends=date(2022, 12, 31),
)


def working_day(nth: int, since: str, count: int) -> list[str]:
    spec = BusinessDaySpec(nth=nth, times=(time(18),))
    found = table(spec, tz="Europe/London", calendar=UK).between(at(since), at("2030-01-01T00:00"))
    return [str(it.run_date) for it in islice(found, count)]


def test_fc_096_first_third_and_last_working_days() -> None:
    """Substitute days count as the holidays they are, also over the turn of the year."""
    last = working_day(-1, "2021-12-01T00:00", 6)
    assert [last[0], last[1], last[4], last[5]] == ["2021-12-31", "2022-01-31", "2022-04-29", "2022-05-31"]
    first = working_day(1, "2021-12-01T00:00", 6)
    assert [first[0], first[1], first[4], first[5]] == ["2021-12-01", "2022-01-04", "2022-04-01", "2022-05-03"]
    assert working_day(3, "2022-01-01T00:00", 1) == ["2022-01-06"]


def test_fc_096_instants_follow_the_zone() -> None:
    """18:00 in London is 18:00Z in winter and 17:00Z in summer."""
    evening = AtSpec(times=(time(18),))
    timetable = table(evening, tz="Europe/London", calendar=UK)
    assert instants(timetable.on(date(2022, 1, 4))) == ["2022-01-04T18:00"]
    assert instants(timetable.on(date(2022, 4, 29))) == ["2022-04-29T17:00"]
    assert timetable.on(date(2022, 4, 18)) == ()


def test_fc_096_rolling_forward_leads_to_the_next_working_day() -> None:
    """From 1 January to the 4th, from 25 December to the 29th (there is no rolling schedule form; dates roll)."""
    for nominal, rolled in ((date(2022, 1, 1), date(2022, 1, 4)), (date(2021, 12, 25), date(2021, 12, 29))):
        assert not UK.is_business_day(nominal)
        assert UK.next(nominal) == rolled


def test_fc_096_a_calendar_says_when_it_ends() -> None:
    """The warning ahead of time is config's; what it needs to know is here."""
    assert UK.ends == date(2022, 12, 31)
