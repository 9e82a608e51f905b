"""What a loading yields."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime

import pytest

from pyscheduler.timetable.calendars import ALL_DAYS
from tests.unit.config.conftest import Load

TEXT = """
    calendars: {bank: {holidays: [2027-05-17]}}
    jobs:
      a: {command: 'x ${S}', schedule: '15 3 * * *', calendar: bank, timezone: Europe/Berlin}
      b: {command: x, depends_on: [a, {job: a, run_date: -1}]}
      c: {command: x, depends_on: [b, a]}
      d: {command: x, schedule: '@reboot'}
"""
ENV = {"S": "s3cret-value"}


def test_a_job_is_answered_by_name_or_by_itself(load: Load) -> None:
    config = load(TEXT, env=ENV)
    calendar = config.calendar_for("a")
    assert calendar is config.calendar_for(config.jobs["c"])
    assert calendar == config.calendar("bank")
    assert not calendar.is_business_day(date(2027, 5, 17))
    assert config.calendar_for("d") is ALL_DAYS


def test_a_timetable_is_made_once(load: Load) -> None:
    config = load(TEXT, env=ENV)
    timetable = config.timetable("a")
    assert config.timetable("a") is timetable
    firing = timetable.next(datetime(2027, 5, 15, tzinfo=UTC))
    assert firing is not None
    assert firing.scheduled_at == datetime(2027, 5, 18, 1, 15, tzinfo=UTC), "Monday is a holiday"


def test_a_boot_fires_when_it_is_known(load: Load) -> None:
    config = load(TEXT, env=ENV)
    booted = datetime(2027, 5, 4, 5, 6, tzinfo=UTC)
    assert config.timetable("d").next(datetime(2027, 5, 4, tzinfo=UTC)) is None
    firing = config.timetable("d", booted_at=booted).next(datetime(2027, 5, 4, tzinfo=UTC))
    assert firing is not None
    assert firing.scheduled_at == booted


def test_dependents_are_known_both_ways_and_named_once(load: Load) -> None:
    config = load(TEXT, env=ENV)
    assert config.dependents("a") == ("b", "c")
    assert config.dependents("b") == ("c",)
    assert config.dependents("c") == config.dependents("nobody") == ()


@pytest.mark.parametrize("question", ["jobs", "calendar"])
def test_what_does_not_exist_is_a_key_error(load: Load, question: str) -> None:
    config = load(TEXT, env=ENV)
    with pytest.raises(KeyError):
        config.timetable("nope") if question == "jobs" else config.calendar("nope")


def test_no_value_of_the_environment_is_in_a_repr_or_a_pickle(load: Load) -> None:
    config = load(TEXT, env=ENV)
    config.timetable("a")
    frozen = pickle.dumps(config)
    assert b"s3cret" not in frozen
    assert "s3cret" not in repr(config)
    again = pickle.loads(frozen)
    assert again == config
    assert again.jobs == config.jobs
    assert (again.variables, again.withheld) == ({}, {"S"})
    assert again.with_environment(ENV).variables == ENV
    with pytest.raises(KeyError, match="S"):
        again.with_environment({})


def test_equality_is_that_of_path_and_digest(load: Load) -> None:
    first, second = load(TEXT, env=ENV), load(TEXT, env={"S": "another"})
    assert first == second
    assert hash(first) == hash(second)
    assert first != load(TEXT + "# more\n", env=ENV)
    assert first != "first"


def test_a_repr_says_what_a_person_needs(load: Load) -> None:
    config = load(TEXT, env=ENV)
    assert repr(config) == f"Config({str(config.path)!r}, 4 jobs, digest {config.digest[:12]})"
