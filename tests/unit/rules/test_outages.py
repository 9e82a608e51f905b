"""The same failure every minute is told once, a new one at once, and its end once. FC-094."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from pyscheduler.model.alert import Alert, AlertKind
from pyscheduler.rules import outages
from pyscheduler.rules.outages import Outage, after_alert, after_success, signature_of
from tests.builders import NOON

DAY_S = 86400.0


def failure(minute: int, reason: str = "exit 1", kind: AlertKind = AlertKind.FAILED) -> Alert:
    at = NOON + timedelta(minutes=minute)
    return Alert(
        alert_id=f"a{minute}", kind=kind, criticality="low", raised_at=at, message="", detail={"reason": reason}
    )


def at(minute: int) -> datetime:
    return NOON + timedelta(minutes=minute)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("timeout connecting to 10.0.0.7:5432 (pid 4711)", "timeout connecting to 10.0.0.7:5433 (pid 9)", True),
        ("exit 1", "exit 2", False),
        ("retry 1/3 after exit 7", "retry 2/3 after exit 7", True),
        ("retry 1/3 after exit 7", "retry 1/3 after exit 8", False),
        ("signal 9", "signal 15", False),
        ("start error: no such file", "start error: no space left", False),
    ],
)
def test_numbers_make_no_new_failure_but_exit_codes_and_signals_do(one: str, other: str, same: bool) -> None:
    assert (signature_of(failure(0, one)) == signature_of(failure(1, other))) is same


def test_the_kind_is_a_part_of_the_signature() -> None:
    assert signature_of(failure(0)) != signature_of(failure(0, kind=AlertKind.LOST))


def test_the_first_is_told_and_its_like_held_back_until_the_time_is_over() -> None:
    outage, told = Outage(), []
    for minute in range(0, 3 * 24 * 60, 10):
        outage, tell = after_alert(outage, failure(minute), DAY_S)
        told += [minute] if tell else []
    assert told == [0, 1440, 2880]
    assert (outage.since, outage.failures) == (NOON, 432)


def test_a_new_signature_is_told_at_once() -> None:
    outage, _ = after_alert(Outage(), failure(0), DAY_S)
    outage, tell = after_alert(outage, failure(1, "exit 2"), DAY_S)
    assert tell
    outage, tell = after_alert(outage, failure(2), DAY_S)
    assert not tell
    assert outage.held_back == 1


def test_without_repeat_after_each_is_told_and_each_trouble_has_its_end() -> None:
    outage: Outage | None = Outage()
    for minute in range(0, 40, 4):
        outage, tell = after_alert(outage or Outage(), failure(minute), None)
        assert tell
        outage, tell = after_alert(outage, failure(minute + 1), None)
        assert tell
        outage, tell = after_success(outage, at(minute + 2), None)
        assert tell
        assert outage is None


def test_flapping_is_bounded_and_its_last_word_is_true() -> None:
    """Success and failure in turn for a day: a handful of messages, then a recovery once it is one."""
    outage, _ = after_alert(Outage(), failure(0), DAY_S)
    told = 0
    for minute in range(1, 1400, 2):
        left, tell = after_success(outage, at(minute), DAY_S)
        outage, told = left or Outage(), told + tell
        outage, tell = after_alert(outage, failure(minute + 1), DAY_S)
        told += tell
    assert told == 2, "one recovery that was none, and the relapse"
    recoveries = []
    for minute in range(1402, 1440):
        left, tell = after_success(outage, at(minute), DAY_S)
        outage = left or Outage()
        recoveries += [minute] if tell else []
    assert recoveries == [1403], "the second success in a row"


def test_a_relapse_after_a_told_recovery_is_always_told() -> None:
    """Whoever was told that it is over hears when it is not, however often."""
    outage: Outage | None = Outage()
    needed = []
    minute = 0
    for _ in range(5):
        outage, tell = after_alert(outage or Outage(), failure(minute), DAY_S)
        assert tell
        successes, tell = 0, False
        while not tell:
            assert outage is not None
            minute, successes = minute + 1, successes + 1
            outage, tell = after_success(outage, at(minute), DAY_S)
        needed.append(successes)
        minute += 1
    assert needed == [1, 2, 4, 8, 16]


def test_kinds_that_are_no_failure_begin_no_trouble() -> None:
    outage, tell = after_alert(Outage(), failure(0, kind=AlertKind.TOO_LONG), DAY_S)
    assert (tell, outage.since) == (True, None)
    assert after_success(outage, at(1), DAY_S)[1] is False


def test_what_was_told_is_forgotten_when_its_time_is_over() -> None:
    outage, _ = after_alert(Outage(), failure(0), 60.0)
    left, tell = after_success(outage, at(2), 60.0)
    assert (left, tell) == (None, True)


def test_signatures_are_bounded() -> None:
    outage = Outage()
    for minute in range(100):
        outage, _ = after_alert(outage, failure(minute, f"exit {minute}"), DAY_S)
    assert len(outage.told) == outages.MOST_SIGNATURES
    assert "failed exit 99" in outage.told


def test_an_outage_is_kept_as_text() -> None:
    outage, _ = after_alert(Outage(), failure(0), DAY_S)
    assert Outage.from_text(outage.to_text()) == outage
    assert Outage.from_text(Outage().to_text()) == Outage()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"since": 1, "told": {}}', "null"])
def test_a_text_that_is_none_is_no_outage(text: str) -> None:
    assert Outage.from_text(text) == Outage()
