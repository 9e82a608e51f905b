from __future__ import annotations

from datetime import date, timedelta

from pyscheduler.model.ids import make_run_id, parse_run_id
from pyscheduler.rules.numbering import FEW, GIVEN, KEY, MOST, STEP, Given, Numbering
from tests.builders import DAY, NOON

AFTER = Numbering.after_restore(47, NOON, DAY)


def test_what_is_kept_is_read_back() -> None:
    """By the next engine on the store."""
    assert Numbering.remembered({KEY: AFTER.to_text()}) == AFTER
    assert Numbering.remembered({}) is None


def test_dates_up_to_a_week_ahead_have_the_floor() -> None:
    """Any date in the past, today, and the week to come."""
    assert AFTER.floor_of(date(2020, 1, 1)) == AFTER.floor_of(DAY + timedelta(days=7)) == 4_700_000
    assert AFTER.floor_of(DAY + timedelta(days=8)) == 0


def test_a_later_start_takes_other_numbers() -> None:
    """The same backup may be put back twice; and no number grows too long for a run id."""
    assert Numbering.after_restore(48, NOON, DAY).above >= AFTER.above + STEP
    last = Numbering.after_restore(10**9, NOON, DAY).above + STEP - 1
    assert last // STEP == MOST
    assert parse_run_id(make_run_id("load", DAY, last)).seq == last


def test_older_runs_write_to_files_of_another_name() -> None:
    """An attempt of that number may have written there before the restore."""
    assert AFTER.log_name("load.1.out", NOON - timedelta(seconds=1)) == "load.1.out.after-restore-47"
    assert AFTER.log_name("load.1.out", NOON) == "load.1.out"


def test_numbers_of_pruned_runs_are_not_given_again() -> None:
    """Of earlier dates; what is remembered never shrinks, and is read back by the next engine."""
    given = Given().with_pruned(DAY, ["load.2020-01-01.7", "load.2020-01-02.3"])
    assert (given.floor_of(DAY - timedelta(days=1)), given.floor_of(DAY)) == (7, 0)
    assert given.with_pruned(DAY - timedelta(days=9), ["x.2020-01-01.1"]) == given
    assert Given.remembered({GIVEN: given.to_text()}) == given
    assert Given.remembered({}).floor_of(date(2020, 1, 1)) == 0


def test_many_pruned_numbers_are_not_counted_through() -> None:
    """A book counts through a date's numbers below STEP, so a high floor is above it."""
    assert Given().with_pruned(DAY, [f"load.2020-01-01.{FEW + 1}"]).above == STEP
    assert Given().with_pruned(DAY, [f"load.2020-01-01.{3 * STEP + 1}"]).above == 4 * STEP
