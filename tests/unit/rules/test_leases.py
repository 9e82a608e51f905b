"""Which times hold together, how long a lease is believed in, when another's may be taken for over."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal

import pytest

from pyscheduler.model.job import OnUncertain
from pyscheduler.model.lease import Seen, Timing
from pyscheduler.rules.leases import LONGEST_S, Observer, Trust, seconds, timing, window_of


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (5, 5.0),
        (0.2, 0.2),
        (timedelta(minutes=1), 60.0),
        ("1h30m", 5400.0),
        ("45s", 45.0),
        ("0.2", 0.2),
        (" 0.2s ", 0.2),
        (LONGEST_S, LONGEST_S),
    ],
)
def test_a_length_of_time_has_four_forms(length: object, expected: float) -> None:
    """A whole number, a broken one, a timedelta, a text."""
    assert seconds(length, "The lease") == expected


@pytest.mark.parametrize(
    "length",
    [
        0, -5, 0.0, -0.1, -0.0, math.nan, math.inf, -math.inf, timedelta(0), timedelta(seconds=-5), "0", "0s", "-5",
        "nan", "inf", "-inf", -(10**400),
    ],
)  # fmt: skip
def test_what_is_not_greater_than_zero_is_refused_in_every_form(length: object) -> None:
    """claims.md B2: the one form that nobody validated was the one that robbed a live claim."""
    with pytest.raises(ValueError, match=r"^The reclaim window must be greater than zero\.$"):
        seconds(length, "The reclaim window")


@pytest.mark.parametrize("length", [True, False, None, "soon", "", [], b"5", Decimal(5), object()])
def test_what_is_no_length_of_time_is_refused(length: object) -> None:
    """A truth value is a number in Python, and no length of time."""
    with pytest.raises(ValueError, match="must be a"):
        seconds(length, "The lease")


@pytest.mark.parametrize("length", [LONGEST_S + 1, timedelta(days=40_000), "99999d", 1e300, 10**400])
def test_more_than_ten_years_is_a_slip_of_the_pen(length: object) -> None:
    """Every duration is bounded."""
    with pytest.raises(ValueError, match="ten years at most"):
        seconds(length, "The lease")


def test_the_defaults_are_the_documents() -> None:
    """claims.md C3."""
    assert timing() == Timing()


def test_the_short_times_of_the_fault_tests_hold_together() -> None:
    """claims.md C14, and there is nothing shorter than them."""
    short = timing(
        heartbeat=0.2, lease=2, kill_grace=0.3, margin=1.4, observe=0.6, authority_lease=1, wedge=5, reclaim_after=2,
        sweep="0.2",
    )  # fmt: skip
    assert (short.heartbeat_timeout_s, short.authority_heartbeat_s, short.authority_margin_s) == (0.2, 0.2, 0.2)
    assert short.authority_observe_s == pytest.approx(0.6)


def test_times_that_nobody_gave_follow_those_given() -> None:
    """A slower heartbeat needs a longer look; a faster one a shorter sweep."""
    assert timing(heartbeat=10).observe_s == 30.0
    assert timing(heartbeat=2).sweep_s == 2.0
    assert timing(heartbeat=2).heartbeat_timeout_s == 2.0


@pytest.mark.parametrize("name", sorted(field.removesuffix("_s") for field in Timing.__dataclass_fields__))
@pytest.mark.parametrize("length", [0, -1, math.nan, math.inf, True, "0"])
def test_every_time_is_greater_than_zero(name: str, length: object) -> None:
    """There is no parameter through which a zero comes in."""
    with pytest.raises(ValueError, match="must be"):
        timing(**{name: length})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"heartbeat": 0.1}, "between 0.2 s and 60 s"),
        ({"heartbeat": 61, "lease": 600}, "between 0.2 s and 60 s"),
        ({"lease": 24}, "three heartbeats"),
        ({"kill_grace": 9}, "a fiftieth of the lease more than the kill grace"),
        ({"lease": 1000}, "a fiftieth of the lease more than the kill grace"),
        ({"observe": 14}, "two heartbeats and the heartbeat's time-out"),
        ({"sweep": 6}, "sweep must not be longer"),
        ({"authority_lease": 2, "authority_heartbeat": 1}, "authority's lease without its margin"),
        ({"authority_observe": 8}, "authority's observation time"),
        ({"wedge": 1}, "wedge"),
        ({"patience": 1}, "no time called patience"),
    ],
)
def test_times_that_do_not_hold_together_are_refused(given: dict[str, object], sentence: str) -> None:
    """Each relation of claims.md C3 by itself."""
    with pytest.raises(ValueError, match=sentence):
        timing(**given)


def test_trust_counts_from_before_the_heartbeat_was_sent() -> None:
    """A slow answer shortens it, never the reverse."""
    trust = Trust(45, 10)
    assert not trust.holds(0)
    trust.renewed(100)
    assert trust.holds(134.9)
    assert not trust.holds(135)


def test_trust_never_becomes_shorter_by_an_older_answer() -> None:
    """Two answers may come in the other order."""
    trust = Trust(45, 10)
    trust.renewed(100)
    trust.renewed(90)
    assert trust.until == 135


def test_trust_ends_with_the_lease() -> None:
    """Whoever is fenced may do nothing at once."""
    trust = Trust(45, 10)
    trust.renewed(100)
    trust.ended()
    assert not trust.holds(100)


def test_a_row_that_stands_still_long_enough_was_seen() -> None:
    """From the first answer to the last question: neither way is counted."""
    observer = Observer(15)
    observer.saw("x", 7, 100.0, 101.0)
    assert observer.stood_still("x") is None
    observer.saw("x", 7, 115.9, 117.0)
    assert observer.stood_still("x") is None
    observer.saw("x", 7, 116.0, 118.0)
    assert observer.stood_still("x") == Seen("x", 7)


def test_time_in_which_nobody_looked_counts_for_little() -> None:
    """claims.md B23: an answer that waited through an outage did not fail, and the owner could not renew meanwhile."""
    observer = Observer(15, blink_s=5)
    observer.saw("x", 7, 100.0)
    observer.saw("x", 7, 105.0, 145.0)  # the answer took forty seconds
    observer.saw("x", 7, 146.0)
    assert observer.stood_still("x") is None
    observer.saw("x", 7, 150.9)
    assert observer.stood_still("x") is None
    observer.saw("x", 7, 151.0)
    assert observer.stood_still("x") == Seen("x", 7)


def test_thirds_make_a_whole() -> None:
    """What decimals are off by does not ask for one more look."""
    observer = Observer(0.6, blink_s=0.6 / 3)
    for moment in (1.0, 2.0, 3.0, 4.0):
        assert observer.stood_still("x") is None
        observer.saw("x", 7, moment)
    assert observer.stood_still("x") == Seen("x", 7)


def test_a_row_that_moves_is_watched_anew() -> None:
    """One heartbeat, and everything seen before is worth nothing."""
    observer = Observer(15)
    observer.saw("x", 7, 100)
    observer.saw("x", 8, 120)
    observer.saw("x", 8, 134.9)
    assert observer.stood_still("x") is None
    observer.saw("x", 8, 135)
    assert observer.stood_still("x") == Seen("x", 8)


def test_a_new_epoch_is_another_row() -> None:
    """The authority's counter begins at zero again with each epoch."""
    observer = Observer(9)
    observer.saw("authority", 0, 100, epoch=1)
    observer.saw("authority", 0, 110, epoch=2)
    assert observer.stood_still("authority") is None
    observer.saw("authority", 0, 119, epoch=2)
    assert observer.stood_still("authority") == Seen("authority", 0, 2)


def test_a_store_that_failed_once_makes_all_that_was_seen_worth_nothing() -> None:
    """claims.md B23: after an outage the first one back does not revoke everybody."""
    observer = Observer(15)
    observer.saw("x", 7, 100)
    observer.saw("x", 7, 120)
    observer.failed()
    assert observer.stood_still("x") is None
    observer.saw("x", 7, 121)
    assert observer.stood_still("x") is None


def test_time_alone_is_no_sight() -> None:
    """A row that was looked at once was not watched, however long ago that was."""
    observer = Observer(15)
    observer.saw("x", 7, 100)
    observer.saw("y", 1, 1000)
    assert observer.stood_still("x") is None


def test_who_is_gone_is_forgotten() -> None:
    """An observer does not grow for ever."""
    observer = Observer(1)
    for name in "xy":
        observer.saw(name, 1, 1)
        observer.saw(name, 1, 3)
    observer.keep(frozenset("y"))
    assert observer.stood_still("x") is None
    assert observer.stood_still("y") is not None


def test_a_runs_window_is_its_jobs_own_or_what_ending_it_takes() -> None:
    """What the job says wins; `stop` needs no longer than lease and kill_grace; else the scheduler's counts (0)."""
    times = timing(lease=60, kill_grace=4)
    assert window_of(None, OnUncertain.CONTINUE, times) == 0
    assert window_of(None, OnUncertain.STOP, times) == 64
    assert window_of(5.0, OnUncertain.CONTINUE, times) == window_of(5.0, OnUncertain.STOP, times) == 5
