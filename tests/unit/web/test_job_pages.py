"""Keys of a definition as a person would write them down."""

from __future__ import annotations

import pytest

from pyscheduler.web.job_pages import said


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        (True, "yes"),
        (7200.0, "7200"),
        (0.5, "0.5"),
        ([], "none"),
        (["a", 75], "a, 75"),
        ({"count": 3, "on": ["failed"]}, "count: 3, on: failed"),
        ("echo ${HOME}", "echo ${HOME}"),
    ],
)
def test_a_value_is_said_plainly(value: object, text: str) -> None:
    """No brackets, no quotes, nothing invented."""
    assert said(value) == text
