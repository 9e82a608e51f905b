"""One rule for every form in which a length of time is given (claims.md B2)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pyscheduler.cluster.durations import seconds_of
from pyscheduler.errors import BadSchedule


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (5, 5.0),
        (0.5, 0.5),
        (timedelta(minutes=1, microseconds=1), 60.000001),
        ("1h30m", 5400.0),
        ("90", 90.0),
        ("0.5", 0.5),
    ],
)
def test_every_form_means_seconds(given: object, seconds: float) -> None:
    """Numbers, timedeltas, texts."""
    assert seconds_of(given, "The window") == seconds


@pytest.mark.parametrize(
    "given",
    [
        0,
        -5,
        0.0,
        -0.1,
        float("nan"),
        float("inf"),
        10**400,
        timedelta(0),
        timedelta(seconds=-5),
        "0",
        "-5",
        "nan",
        "inf",
        "0s",
    ],
)
def test_what_is_not_greater_than_zero_is_refused(given: object) -> None:
    """In the same words, whatever the form."""
    with pytest.raises(BadSchedule) as refused:
        seconds_of(given, "The window")
    assert str(refused.value).startswith("The window must be ")


@pytest.mark.parametrize("given", [True, False, None, "soon", "1 h", [], "P1D"])
def test_what_is_no_length_of_time_is_refused(given: object) -> None:
    """A truth value is no number of seconds."""
    with pytest.raises(BadSchedule):
        seconds_of(given, "The window")
