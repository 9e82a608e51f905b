"""The living day is written around the present, and goes the same way for everybody."""

from __future__ import annotations

import socket
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import yaml

from pyscheduler.cli.living import _goes, write_config
from pyscheduler.cli.serve_demo import hold_port

TEXT = 'a: "@-90@ * * *"\nb: "@-600@ * * *"\nzone: @TIMEZONE@\nlisten: @LISTEN@\ntoday: "@TODAY@"\n'


def written(tmp_path: Path, now: datetime) -> dict[str, str]:
    target = tmp_path / "pysched.yaml"
    write_config(TEXT, target, now, "Europe/Berlin", "127.0.0.1:8470")
    found: dict[str, str] = yaml.safe_load(target.read_text())
    return found


def test_times_lie_before_now_and_within_the_day(tmp_path: Path) -> None:
    """An hour and a half before is an hour and a half before; nothing is put into yesterday."""
    found = written(tmp_path, datetime(2027, 5, 20, 6, 5, tzinfo=UTC))
    assert found["a"] == "35 6 * * *"
    assert found["b"] == "0 0 * * *"
    assert (found["zone"], found["listen"], found["today"]) == ("Europe/Berlin", "127.0.0.1:8470", "2027-05-20")


def test_midnight_is_a_day_too(tmp_path: Path) -> None:
    """Just after it everything is due at its first minute."""
    assert written(tmp_path, datetime(2027, 5, 19, 22, 1, tzinfo=UTC))["a"] == "0 0 * * *"


def test_today_the_same_two_fail() -> None:
    """What the demo tells of is there on every day."""
    day = date(2027, 5, 20)
    assert _goes("extract-rates", day, 1, day).exit_code in (1, 75)
    assert _goes("ledger-export", day, 1, day).exit_code != 0
    assert _goes("clean-orders", day, 1, day) == _goes("clean-orders", day, 1, day)


def test_two_demos_at_once_have_a_port_each() -> None:
    """Each lives through its days first and listens then: what it has chosen is nobody else's meanwhile."""
    with closing(hold_port(0)) as first:
        chosen = first.getsockname()
        with closing(hold_port(chosen[1])) as second:
            assert second.getsockname() != chosen
        with closing(socket.socket()) as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError, match="in use"):
                other.bind(chosen)
    with closing(hold_port(chosen[1])) as again:
        assert again.getsockname() == chosen
