"""How values are said: nothing hidden, nothing that turns a line around, times always with their offset."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from pyscheduler.model.run import Outcome, RunState
from pyscheduler.web import words
from pyscheduler.web.words import LOOKS, OUTCOMES, Times

TIMES = Times(ZoneInfo("Europe/Berlin"), date(2027, 5, 20))


def test_every_state_has_its_own_shape_and_word() -> None:
    """Colour is only a third cue: who cannot see it still tells all eleven apart."""
    assert set(LOOKS) == set(RunState)
    assert len({look.mark for look in LOOKS.values()}) == len(LOOKS)
    assert len({look.word for look in LOOKS.values()}) == len(LOOKS)


def test_every_outcome_has_a_word() -> None:
    """No attempt ends in a way that a page cannot say."""
    assert set(OUTCOMES) == set(Outcome)
    assert len({look.word for look in OUTCOMES.values()}) == len(OUTCOMES)


def test_a_duration_that_is_not_known_is_empty() -> None:
    """A cell says nothing rather than something wrong."""
    assert words.duration(None) == ""
    assert words.duration(185) == "3m05s"


@pytest.mark.parametrize(
    ("count", "text"), [(None, ""), (0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (1 << 30, "1.0 GiB")]
)
def test_a_size_is_in_powers_of_1024(count: int | None, text: str) -> None:
    assert words.size(count) == text


def test_a_time_carries_its_offset_and_the_date_where_it_is_another() -> None:
    """On its own day the clock is enough; elsewhere the date stands in front."""
    at = datetime(2027, 5, 20, 1, 5, 12, tzinfo=UTC)
    assert (TIMES.clock(at), TIMES.offset(at), TIMES.full(at)) == ("03:05:12", "+02", "2027-05-20 03:05:12+02:00")
    assert TIMES.seen_from(date(2027, 5, 19)).clock(at) == "05-20 03:05:12"
    assert TIMES.seen_from(date(2026, 5, 19)).clock(at) == "2027-05-20 03:05:12"


def test_the_two_passes_of_a_doubled_hour_are_told_apart() -> None:
    """When clocks go back the offset is all that tells 02:30 from 02:30."""
    first, second = (datetime(2027, 10, 31, hour, 30, tzinfo=UTC) for hour in (0, 1))
    assert TIMES.clock(first) == TIMES.clock(second)
    assert (TIMES.offset(first), TIMES.offset(second)) == ("+02", "+01")


def test_half_hours_keep_their_minutes() -> None:
    assert Times(ZoneInfo("Asia/Kolkata"), date(2027, 5, 20)).offset(datetime(2027, 5, 20, tzinfo=UTC)) == "+05:30"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("plain", "plain"), ("日本 🐙", "日本 🐙"), ("a\x1b[31mb", r"a\x1b[31mb"), ("a\u202eb", r"a\u202eb"),
        ("a\udcffb", r"a\udcffb"), ("two\nlines", "two\nlines"), ("\U000e0001", r"\U000e0001"),
    ],
)  # fmt: skip
def test_nothing_is_hidden_in_what_people_typed(typed: str, shown: str) -> None:
    """FC-068, FC-048: control characters, overrides and stray surrogates are shown as what they are."""
    assert words.plain(typed) == shown
    words.plain(typed).encode()


def test_a_state_is_not_said_twice() -> None:
    assert words.reason_beside("blocked", "blocked: a (2027-05-20) failed") == "a (2027-05-20) failed"
    assert words.reason_beside("failed", "exit 3") == "exit 3"


@pytest.mark.parametrize(
    ("words_", "said"),
    [("it waits for a", "It waits for a."), ("job-1 is held", "job-1 is held."), ("", ""), ("why now?", "Why now?")],
)
def test_an_answer_is_a_sentence(words_: str, said: str) -> None:
    """A capital and a full stop, and no letter of a job's name is changed."""
    assert words.sentence(words_) == said
