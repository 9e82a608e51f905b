"""The `schedule:` key. Spec: jobs.md 2, 2.2; DESIGN 8 row 14."""

from __future__ import annotations

from datetime import date, datetime, time

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
from tests.unit.config.conftest import Build, Load

CALENDAR = "calendars: {bank: {}}\n"


def job(schedule: str) -> str:
    return f"{CALENDAR}jobs:\n  j: {{command: x, calendar: bank, schedule: {schedule}}}\n"


@pytest.mark.parametrize(
    ("schedule", "spec"),
    [
        ("'0 6 * * mon-fri'", CronSpec(text="0 6 * * mon-fri")),
        ("'30 0 6 * * *'", CronSpec(text="30 0 6 * * *")),
        ("'@daily'", CronSpec(text="@daily")),
        ("'@every 10m'", EverySpec(every_s=600)),
        ("'@reboot'", RebootSpec()),
        ("{cron: '0 6 * * *', jitter: 5m}", CronSpec(text="0 6 * * *", jitter_s=300)),
        ("{cron: '@reboot', jitter: 0}", RebootSpec()),
        ("{every: 20m}", EverySpec(every_s=1200)),
        ("{every: 20m, between: '07:00-19:00'}", EverySpec(every_s=1200, opens=time(7), closes=time(19))),
        ("{at: '07:15'}", AtSpec(times=(time(7, 15),))),
        ("{at: 07:15}", AtSpec(times=(time(7, 15),))),
        ("{at: ['07:15', '08:00', '07:15']}", AtSpec(times=(time(7, 15), time(8)))),
        ("{business_day: -1, at: '18:00'}", BusinessDaySpec(nth=-1, times=(time(18),))),
        ("{once: '2027-06-04 06:00'}", OnceSpec(at=datetime(2027, 6, 4, 6))),
        (
            "{at: '07:15', days: [fri, mon, mon], months: 3, start: 2027-01-01, end: 2027-12-31}",
            AtSpec(times=(time(7, 15),), days=(0, 4), months=(3,), start=date(2027, 1, 1), end=date(2027, 12, 31)),
        ),
        (
            "{at: '23:15', exclude: '22:00-23:00'}",
            AtSpec(times=(time(23, 15),), exclude=(Window(start_time=time(22), end_time=time(23)),)),
        ),
    ],
)
def test_every_form_becomes_its_specification(load: Load, schedule: str, spec: ScheduleSpec) -> None:
    assert load(job(schedule)).jobs["j"].schedules == (spec,)


def test_a_list_is_the_union_in_the_order_written(load: Load) -> None:
    config = load(job("['0 6 * * *', {at: '07:15'}]"))
    assert config.jobs["j"].schedules == (CronSpec(text="0 6 * * *"), AtSpec(times=(time(7, 15),)))
    assert not config.jobs["j"].manual


def test_manual_is_no_schedule(load: Load) -> None:
    config = load(job("manual"))
    assert (config.jobs["j"].schedules, config.jobs["j"].manual) == ((), True)


@pytest.mark.parametrize(
    ("schedule", "complaint"),
    [
        ("'0 24 * * *'", 'schedule: "0 24 * * *" is no schedule: the hour field is 24, and hours run from 0 to 23'),
        ("'0 6 * *'", 'schedule: "0 6 * *" is no schedule: '),
        ("'@dayly'", 'schedule: "@dayly" is no schedule: '),
        ("'@every 10s'", 'schedule: "@every 10s" is less than 1m, the least step'),
        ("{cron: '0 24 * * *'}", 'schedule.cron: "0 24 * * *" is no schedule: the hour field is 24'),
        ("{every: 59s}", "schedule.every: every is less than 1m, the least step"),
        ("{every: 0s}", 'schedule.every: "0s" is no time at all'),
        (
            "{between: '07:00-19:00', at: '08:00'}",
            "schedule.between: between belongs to every; add every, or remove it",
        ),
        ("{every: 5m, at: '08:00'}", "schedule.at: every and at stand in one schedule; make a list of two schedules"),
        (
            "{every: 5m, business_day: 1, at: '08:00'}",
            "schedule.business_day: every and business_day stand in one schedule",
        ),
        ("{cron: '0 6 * * *', once: '2027-06-04 06:00'}", "schedule.once: cron and once stand in one schedule"),
        ("{business_day: 1}", 'schedule.business_day: business_day needs at; add at: "18:00"'),
        ("{business_day: 0, at: '08:00'}", "schedule.business_day: business_day 0 is no day"),
        ("{business_day: 32, at: '08:00'}", 'schedule.business_day: "32" is more than 31'),
        ("{days: [mon]}", "schedule: a schedule needs cron, every, at, business_day with at, or once"),
        ("{}", "schedule: a schedule needs cron, every, at, business_day with at, or once"),
        ("{at: []}", "schedule.at: is an empty list; name at least one"),
        ("{at: '08:00', days: []}", "schedule.days: is an empty list; name at least one"),
        ("{at: '08:00', months: []}", "schedule.months: is an empty list; name at least one"),
        ("{at: '08:00', days: [Mon]}", 'schedule.days: "Mon" is none of mon, tue'),
        ("{at: '08:00', months: [13]}", 'schedule.months: "13" is more than 12'),
        (
            "{at: '08:00', start: 2027-12-31, end: 2027-01-01}",
            "schedule.end: end 2027-01-01 lies before start 2027-12-31",
        ),
        ("{at: '08:00', exclude: christmas}", 'schedule.exclude: "christmas" is no window'),
        ("{at: '08:00', nth: 3}", 'schedule: unknown key "nth"'),
        ("[]", "schedule: is an empty list; name at least one"),
        ("[['0 6 * * *']]", "schedule: must be text or a mapping"),
        ("{once: 2027-06-04}", 'schedule.once: "2027-06-04" is no date with a clock time'),
        ("''", 'schedule: "" is no schedule: '),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused_at_its_key(problems: Build, schedule: str, complaint: str) -> None:
    (found,) = problems(job(schedule))
    assert found.split("job j: ")[1].startswith(complaint)


def test_one_of_several_schedules_is_pointed_to(problems: Build) -> None:
    (found,) = problems("jobs:\n  j:\n    command: x\n    schedule:\n      - '0 6 * * *'\n      - {every: 5s}\n")
    assert found.startswith("error c.yaml:6:10: job j: schedule.every")
