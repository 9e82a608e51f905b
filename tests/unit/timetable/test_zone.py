from __future__ import annotations

import pickle
import zoneinfo
from datetime import UTC, date, datetime, timedelta, tzinfo

import pytest

from pyscheduler.errors import NaiveTime
from pyscheduler.timetable import TZDATA_VERSION, UnknownZone, zone
from pyscheduler.timetable.moments import DAY_S, LAST_SECOND, second_of, wall_of
from pyscheduler.timetable.zone import Resolved, Stretch, Zone
from tests.unit.timetable.support import at


def wall(text: str) -> int:
    return wall_of(datetime.fromisoformat(text))


def test_the_zone_data_is_the_packages_and_says_its_release() -> None:
    """Hosts with other zone data fire at the same instants, and people can see by which release (FC-020)."""
    assert zoneinfo.TZPATH == ()
    assert TZDATA_VERSION.startswith("20")


def test_a_zone_is_one_object_and_survives_pickling() -> None:
    """Shared by all jobs, and sent between processes by name."""
    assert zone("Europe/Berlin") is zone("Europe/Berlin")
    assert pickle.loads(pickle.dumps(zone("Europe/Berlin"))) is zone("Europe/Berlin")
    assert repr(zone("Europe/Berlin")) == "zone('Europe/Berlin')"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Europe/Berln", ("Europe/Berlin",)),
        ("europe/berlin", ("Europe/Berlin",)),
        ("GMT+3", ()),
        ("", ()),
        ("../../etc/passwd", ()),
        ("/etc/localtime", ()),
        ("Europe", ()),
    ],
)
def test_an_unknown_name_is_an_error_with_a_hint_and_never_utc(name: str, near: tuple[str, ...]) -> None:
    """What looks like UTC must have been meant as UTC; paths lead nowhere."""
    with pytest.raises(UnknownZone) as caught:
        zone(name)
    assert set(near) <= set(caught.value.near)


def test_the_wall_shows_local_time_and_date() -> None:
    """Doors in and out: naive local times, local dates."""
    berlin = zone("Europe/Berlin")
    assert berlin.local(at("2027-05-20T22:30")) == datetime(2027, 5, 21, 0, 30)
    assert berlin.today(at("2027-05-20T22:30")) == date(2027, 5, 21)
    with pytest.raises(NaiveTime):
        berlin.local(datetime(2027, 5, 20))


@pytest.mark.parametrize(
    ("name", "local", "instant", "rule"),
    [
        ("Europe/Berlin", "2027-05-20T09:00", "2027-05-20T07:00", ""),
        ("Europe/Berlin", "2027-03-28T01:59:59", "2027-03-28T00:59:59", ""),
        ("Europe/Berlin", "2027-03-28T02:00", "2027-03-28T01:00", "gap"),
        ("Europe/Berlin", "2027-03-28T02:59:59", "2027-03-28T01:00", "gap"),
        ("Europe/Berlin", "2027-03-28T03:00", "2027-03-28T01:00", ""),
        ("Europe/Berlin", "2026-10-25T01:59:59", "2026-10-24T23:59:59", ""),
        ("Europe/Berlin", "2026-10-25T02:00", "2026-10-25T00:00", "fold"),
        ("Europe/Berlin", "2026-10-25T02:59:59", "2026-10-25T00:59:59", "fold"),
        ("Europe/Berlin", "2026-10-25T03:00", "2026-10-25T02:00", ""),
        ("Australia/Lord_Howe", "2025-04-06T01:45", "2025-04-05T14:45", "fold"),
        ("Australia/Lord_Howe", "2025-10-05T02:15", "2025-10-04T15:30", "gap"),
        ("Africa/Casablanca", "2025-02-23T02:30", "2025-02-23T01:30", "fold"),
        ("Antarctica/Troll", "2025-03-30T01:30", "2025-03-30T01:00", "gap"),
        ("Pacific/Apia", "2011-12-30T12:00", "2011-12-30T10:00", "gap"),
        ("Pacific/Apia", "2011-12-31T00:00", "2011-12-30T10:00", ""),
        ("America/St_Johns", "2006-10-29T00:00:30", "2006-10-29T02:30:30", "fold"),
        ("America/St_Johns", "2006-10-28T23:30", "2006-10-29T02:00", "fold"),
    ],
)
def test_a_local_time_resolves_to_one_instant(name: str, local: str, instant: str, rule: str) -> None:
    """A gap moves a time to its end, a fold takes the first; the edges belong to ordinary time (spec 2.4)."""
    assert zone(name).resolve(datetime.fromisoformat(local)) == Resolved(at(instant), rule)


def test_a_stretch_knows_what_the_wall_did_before_it() -> None:
    """`opens` is where the wall stood before the change, `begins` where it stands after."""
    spring = zone("Europe/Berlin").stretch_at(second_of(at("2027-03-28T01:00")))
    assert (spring.opens, spring.begins) == (wall("2027-03-28T02:00"), wall("2027-03-28T03:00"))
    autumn = zone("Europe/Berlin").stretch_at(second_of(at("2026-10-25T01:00")))
    assert (autumn.opens, autumn.begins) == (wall("2026-10-25T03:00"), wall("2026-10-25T02:00"))
    assert Stretch(10, 20, 5, 15).closes == 25


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("2026-10-25T00:30", "2026-10-25T02:30"),
        ("2026-10-25T01:00", "2026-10-25T03:00"),
        ("2026-10-25T01:30", "2026-10-25T03:00"),
        ("2026-10-25T02:30", "2026-10-25T03:30"),
        ("2027-03-28T00:59:59", "2027-03-28T01:59:59"),
        ("2027-03-28T01:00", "2027-03-28T02:00"),
        ("2027-03-28T01:00:01", "2027-03-28T03:00:01"),
    ],
)
def test_from_an_instant_on_the_wall_times_still_to_come_are_known(second: str, expected: str) -> None:
    """In the second pass nothing is to come before its end; at a gap's end all that it swallowed is."""
    assert zone("Europe/Berlin").wall_from(second_of(at(second))) == wall(expected)


@pytest.mark.parametrize(
    "name", ["Africa/Casablanca", "Europe/Berlin", "America/Sao_Paulo", "Asia/Gaza", "Africa/Cairo"]
)
def test_stretches_cover_all_time_with_the_zones_own_offsets(name: str) -> None:
    """No change is missed or misplaced by a second, whatever hour it comes at, in any of sixty years."""
    ours, theirs = zone(name), zoneinfo.ZoneInfo(name)
    second = second_of(at("1985-01-01T00:00"))
    while second < second_of(at("2045-01-01T00:00")):
        stretch = ours.stretch_at(second)
        for inside in (stretch.start, stretch.end - 1):
            moment = datetime.fromtimestamp(inside, UTC).astimezone(theirs)
            assert moment.utcoffset() == timedelta(seconds=stretch.offset), moment
        after = ours.stretch_at(stretch.end)
        assert (after.start, after.opens) == (stretch.end, stretch.closes)
        second = stretch.end


def test_a_change_at_midnight_utc_is_found_to_the_second() -> None:
    """Casablanca, 1 June 2008: the change falls on the very instant between two looks."""
    assert zone("Africa/Casablanca").stretch_at(second_of(at("2008-06-01T00:00"))).start == second_of(
        at("2008-06-01T00:00")
    )


class Jump(tzinfo):
    """A zone that goes from UTC to one hour ahead at one instant."""

    def __init__(self, change: int) -> None:
        self.change = datetime.fromtimestamp(change, UTC).replace(tzinfo=None)

    def fromutc(self, moment: datetime) -> datetime:
        ahead = moment.replace(tzinfo=None) >= self.change
        return (moment + timedelta(hours=ahead)).replace(fold=int(ahead))

    def utcoffset(self, moment: datetime | None) -> timedelta:
        return timedelta(hours=0 if moment is None else moment.fold)

    def dst(self, moment: datetime | None) -> None:
        """Nobody may ask."""
        raise AssertionError("summer time is no question here")

    def tzname(self, moment: datetime | None) -> str:
        return "Nowhere/Jump"


EDGES = (-86401, -86400, -86399, -1, 0, 1, 43200, 86399, 86400, 86401)


@pytest.mark.parametrize("change", [day * DAY_S + near for day in (2, 399, 400, 401, 800) for near in EDGES])
def test_a_change_anywhere_is_found_to_the_second(change: int) -> None:
    """Also at the edges of what is worked out at a time: 400 days, looked at day by day."""
    jumping = Zone("Nowhere/Jump", Jump(change))  # type: ignore[arg-type]
    before, after = jumping.stretch_at(change - 1), jumping.stretch_at(change)
    assert (before.end, before.offset, after.start, after.offset, after.opens) == (change, 0, change, 3600, change)
    assert jumping.wall_from(change) == change
    assert jumping.first_pass(change + 1800) == change


def test_the_ends_of_time_raise_nothing() -> None:
    """Before 1970 the first stretch is taken, behind 9999 the last moment."""
    apia = zone("Pacific/Apia")
    assert apia.stretch_at(-5 * DAY_S).start == 0
    assert apia.first_pass(-5 * DAY_S) == 0
    assert zone("America/New_York").first_pass(0) == 5 * 3600
    assert apia.today(datetime.max.replace(tzinfo=UTC)) == date.max
    assert zone("America/New_York").resolve(datetime.max).instant.year == 9999
    assert zone("Pacific/Kiritimati").stretch_at(LAST_SECOND).end > LAST_SECOND
    assert zone("America/New_York").local(datetime.min.replace(tzinfo=UTC) + timedelta(days=2)).year == 1
