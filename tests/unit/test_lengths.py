"""Lengths of time are short, and the same in tables and on pages."""

from __future__ import annotations

import pytest

from pyscheduler.lengths import length


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.0004, "<0.1s"),
        (-0.01, "-<0.1s"),
        (0.4, "0.4s"),
        (9.94, "9.9s"),
        (9.96, "10s"),
        (12, "12s"),
        (59.4, "59s"),
        (59.6, "1m00s"),
        (185, "3m05s"),
        (3599.7, "1h00m"),
        (3720, "1h02m"),
        (86400 * 2 + 3 * 3600, "2d03h"),
        (-5, "-5s"),
    ],
)
def test_a_length_has_two_units_at_most(seconds: float, text: str) -> None:
    """Spec: jobs.md 14.1: `0.4s`, `12s`, `3m05s`, `1h02m`."""
    assert length(seconds) == text
