"""What the room asks of its process."""

from __future__ import annotations

from datetime import date

import pytest

from pyscheduler.config.process import today_utc


def test_today_is_that_of_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyscheduler.config.process.time.gmtime", lambda: (2028, 2, 29, 0, 0, 0, 0, 60, 0))
    assert today_utc() == date(2028, 2, 29)
