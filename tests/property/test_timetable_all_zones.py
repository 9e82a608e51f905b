"""Every clock change of every IANA zone from 2000 to 2037, judged by the independent model. Minutes long.

Around each change several expressions are asked for three days: fixed times inside what is missing or doubled and at
its edges, wildcards, and steps. Zones with the same rules under several names are taken once.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from zoneinfo import ZoneInfo, available_timezones

import pytest

from pyscheduler.model.job import CronSpec, ScheduleSpec
from pyscheduler.timetable import compile_schedule
from tests.property.timetable_model import (
    Expression,
    Field,
    Tick,
    changes,
    expected,
    expected_steps,
    steps_of,
    ticks,
    utc,
)

FIRST, LAST = utc("2000-01-01"), utc("2038-01-01")
MINUTE = timedelta(minutes=1)
PARTS = 16

ANY = Field("*", frozenset(range(60)))


def number(*values: int) -> Field:
    return Field(",".join(map(str, sorted(set(values)))), frozenset(values))


def fixed(hours: Field, minutes: Field) -> Expression:
    return Expression(None, minutes, hours, ANY, ANY, ANY)


@lru_cache(maxsize=1)
def distinct_zones() -> tuple[str, ...]:
    """One name for each set of rules."""
    found: dict[bytes, str] = {}
    for name in sorted(available_timezones()):
        rules = files("tzdata.zoneinfo").joinpath(*name.split("/")).read_bytes()
        found.setdefault(sha256(rules).digest(), name)
    return tuple(found.values())


def questions(change: datetime, zone: ZoneInfo) -> Iterator[Expression]:
    """What to ask about one change: times before, in, at the end of and behind the gap or fold."""
    shift = change.astimezone(zone).utcoffset() - (change - MINUTE).astimezone(zone).utcoffset()  # type: ignore[operator]
    new = change.astimezone(zone).replace(tzinfo=None)
    old = new - shift
    first, last = min(old, new), max(old, new)
    middle = first + (last - first) / 2
    yield fixed(number(middle.hour), number(middle.minute))
    yield fixed(number(first.hour, middle.hour, last.hour), number(0, 15, 30, first.minute, last.minute))
    yield fixed(number(last.hour), number(last.minute))
    yield fixed(number((first - MINUTE).hour), number((first - MINUTE).minute))
    yield fixed(number(0), number(0))
    yield fixed(Field("*", frozenset(range(24))), number(middle.minute, 0))
    yield fixed(number(first.hour, last.hour), Field("*/20", frozenset({0, 20, 40})))
    yield fixed(Field("*/2", frozenset(range(0, 24, 2))), number(30))


def asked(spec: ScheduleSpec, zone: str, since: datetime, until: datetime) -> list[tuple[datetime, object]]:
    return [(it.scheduled_at, it.run_date) for it in compile_schedule(spec, zone).between(since, until)]


def check_change(name: str, change: datetime) -> None:
    zone = ZoneInfo(name)
    since, until = change - timedelta(hours=26), change + timedelta(hours=26)
    going_by: list[Tick] = list(ticks(zone, since - timedelta(hours=26), until, MINUTE))
    for expression in questions(change, zone):
        model = expected(expression, "lone", going_by, since)
        assert asked(CronSpec(text=expression.text), name, since, until) == model, (name, change, expression.text)


def check_steps(name: str, change: datetime) -> None:
    zone = ZoneInfo(name)
    since, until = change - timedelta(hours=26), change + timedelta(hours=26)
    step = MINUTE if change.minute % 5 else 5 * MINUTE
    going_by = list(ticks(zone, since - timedelta(days=2), until + timedelta(days=2), step))
    for opens, closes in ((0, None), (22 * 60, 6 * 60), (60, 240)):
        model = [it for it in expected_steps(opens, closes, 1200, going_by, since) if it[0] <= until]
        assert asked(steps_of(1200, opens, closes), name, since, until) == model, (name, change, opens)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_clock_change_of_every_zone_agrees_with_the_model(part: int) -> None:
    """No zone, however odd, has a change at which a job is lost, doubled or moved against the rule."""
    checked = 0
    for name in distinct_zones()[part::PARTS]:
        for change in changes(ZoneInfo(name), FIRST, LAST):
            check_change(name, change)
            check_steps(name, change)
            checked += 1
    assert checked > 100


def test_a_few_changes_of_many_zones_agree_with_the_model() -> None:
    """The sample of the above for every day: one change each of some thirty zones, another year for each."""
    for number_of, name in enumerate(distinct_zones()[::12]):
        begin = FIRST + timedelta(days=365 * (number_of % 37))
        for change in changes(ZoneInfo(name), begin, begin + timedelta(days=700))[:1]:
            check_change(name, change)
            check_steps(name, change)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_zone_data_has_no_two_changes_within_three_days() -> None:
    """What zone.py's search by days rests on: looked at every six hours since 1970."""
    for name in distinct_zones():
        zone = ZoneInfo(name)
        at, before = utc("1970-01-01"), utc("1900-01-01")
        for change in changes(zone, at, LAST):
            assert change - before > timedelta(days=3), (name, change)
            before = change
