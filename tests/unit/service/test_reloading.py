"""Which changed settings a running service does not take over."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.config import Config
from pyscheduler.model.job import Settings
from pyscheduler.model.problem import Severity
from pyscheduler.service.reloading import restart_warnings

SETTINGS = Settings(state_dir=Path("/s"), log_dir=Path("/l"))


def warned(**changed: Any) -> list[str]:
    config = Config(
        path=Path("/pysched.yaml"),
        settings=replace(SETTINGS, **changed),
        jobs={},
        calendars={},
        pools={},
        sources=(),
        digest="",
        loaded_on=date(2027, 5, 20),
    )
    found = restart_warnings(SETTINGS, config)
    assert all(each.severity is Severity.WARNING for each in found)
    return [each.message for each in found]


@pytest.mark.parametrize(
    "changed",
    [
        {"state_dir": Path("/t")},
        {"store": "postgresql://x"},
        {"listen": "127.0.0.1:1"},
        {"users_file": Path("/u")},
        {"api_tokens_file": Path("/t")},
        {"secure_cookies": True},
    ],
)
def test_what_is_read_at_start_only_is_named(changed: dict[str, Any]) -> None:
    """Spec 11.2: it needs a restart, and says so."""
    (name,) = changed
    assert warned(**changed) == [f"scheduler.{name} has changed and needs a restart"]


def test_all_other_settings_are_taken_over_at_once() -> None:
    """Limits, retention and folders of logs change with the reload."""
    assert warned(max_running=1, retention_s=5.0, log_dir=Path("/m"), timezone="Europe/Berlin", kill_grace_s=1.0) == []
