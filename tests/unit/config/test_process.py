"""What the room asks of its process."""

from __future__ import annotations

import gc
from datetime import date

import pytest

from pyscheduler.config.process import collector_at_rest, today_utc


def test_today_is_that_of_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyscheduler.config.process.time.gmtime", lambda: (2028, 2, 29, 0, 0, 0, 0, 60, 0))
    assert today_utc() == date(2028, 2, 29)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_rests_and_is_left_as_it_was(enabled: bool) -> None:
    """Also where the work in between fails."""
    if not enabled:
        gc.disable()
    try:
        with collector_at_rest():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
        with pytest.raises(ZeroDivisionError), collector_at_rest():
            _ = 1 / 0
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
