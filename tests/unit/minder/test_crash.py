"""Crash points: named in one place, without effect unless a test arms them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyscheduler import engine, minder
from pyscheduler.minder import crash

SOURCES = [*Path(minder.__file__).parent.glob("*.py"), *Path(engine.__file__).parent.rglob("*.py")]


def test_every_point_is_passed_somewhere_and_every_passed_point_is_named() -> None:
    """The list is the code's: a test that kills at each point kills everywhere."""
    passed = {name for path in SOURCES for name in re.findall(r'crash\.point\("([a-z.]+)"\)', path.read_text())}
    assert passed == set(crash.POINTS)


def test_points_are_armed_by_name_and_count() -> None:
    """`point` alone means the first passing."""
    assert crash._armed("") == {}
    assert crash._armed("claim.locked") == {"claim.locked": 1}
    assert crash._armed("claim.locked:3,job.ended") == {"claim.locked": 3, "job.ended": 1}


def test_a_misspelt_point_is_refused() -> None:
    """A test that arms nothing would prove nothing."""
    with pytest.raises(ValueError, match="is no crash point"):
        crash._armed("claim.looked")


def test_without_arms_nothing_happens() -> None:
    """The whole cost is one `if`."""
    assert not crash.ARMED
    crash.point("claim.locked")
