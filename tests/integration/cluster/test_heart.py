"""The heartbeat: what does not silence it."""

from __future__ import annotations

import threading
import time

import pytest

from pyscheduler.cluster.heart import Heart
from pyscheduler.errors import StoreError
from pyscheduler.store.claims import Beat, Timing


class Pulse:
    """Fails in the ways that it is given, and then beats."""

    timing = Timing(heartbeat_s=0.02)

    def __init__(self, *faults: Exception) -> None:
        self.faults = list(faults)

    def heartbeat(self) -> Beat:
        if self.faults:
            raise self.faults.pop(0)
        return Beat()


def test_a_bug_does_not_silence_it(caplog: pytest.LogCaptureFixture) -> None:
    """Who says nothing any more is taken for dead, and his runs with him; what failed is told and tried again."""
    beaten, failed = threading.Event(), list[StoreError]()
    heart = Heart(
        Pulse(StoreError("away"), RuntimeError("a bug")), time.monotonic, lambda _: beaten.set(), failed.append
    )
    heart.begin(time.monotonic())
    assert beaten.wait(30)
    heart.end()
    assert [str(error) for error in failed] == ["away", "a heartbeat has failed (RuntimeError('a bug'))"]
    assert "a heartbeat has failed; the next one follows" in caplog.text
