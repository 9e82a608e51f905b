"""The seed's second question: how old is that process, in the words of `ps`."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pyscheduler.engine.minding.seed import _etime


@pytest.mark.parametrize(
    ("text", "age"),
    [
        ("00:05", timedelta(seconds=5)),
        ("59:59", timedelta(minutes=59, seconds=59)),
        ("01:00:00", timedelta(hours=1)),
        ("2-03:04:05", timedelta(days=2, hours=3, minutes=4, seconds=5)),
        ("400-00:00:00", timedelta(days=400)),
    ],
)
def test_an_elapsed_time_is_read_in_every_form(text: str, age: timedelta) -> None:
    """`[[dd-]hh:]mm:ss`, without any time zone in it."""
    assert _etime(text) == age
