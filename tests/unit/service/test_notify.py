"""Whether a service manager watches this process, as its environment says."""

from __future__ import annotations

import os

import pytest

from pyscheduler.service.notify import Notifier, watchdog_of


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_for_this_process_or_not_at_all(environ: dict[str, str], seconds: float | None) -> None:
    """sd_watchdog_enabled(3): WATCHDOG_PID, where it is set, must be ours."""
    assert watchdog_of(environ) == seconds


def test_without_a_manager_every_word_is_to_nobody() -> None:
    """Nothing is sent, nothing fails, nothing watches."""
    notifier = Notifier({"WATCHDOG_USEC": "1000"})
    notifier.ready("x")
    notifier.alive()
    notifier.close()
    assert notifier.watchdog_s is None
