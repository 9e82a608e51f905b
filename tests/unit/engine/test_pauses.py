"""Pauses outlive restarts and nest."""

from __future__ import annotations

from datetime import timedelta

from pyscheduler.engine.pauses import EVERYTHING, Pause, Pauses
from tests.builders import NOON

LATER = NOON + timedelta(hours=1)


def test_a_job_is_covered_by_its_own_pause_first() -> None:
    """The answer to "who paused it" is the nearest one."""
    pauses = Pauses()
    assert pauses.covers("load") is None
    pauses.add(EVERYTHING, Pause("ann", NOON))
    pauses.add("load", Pause("bob", LATER, "disk"))
    assert pauses.covers("load") == Pause("bob", LATER, "disk")
    assert pauses.covers("other") == Pause("ann", NOON)


def test_what_everything_kept_from_a_paused_job_passes_on_to_its_own_pause() -> None:
    """No dropped firing goes untold because two pauses overlapped."""
    pauses = Pauses()
    pauses.add(EVERYTHING, Pause("ann", NOON))
    pauses.add("load", Pause("bob", LATER))
    assert pauses.end(EVERYTHING) == Pause("ann", NOON)
    assert pauses.get("load") == Pause("bob", NOON)
    assert pauses.covers("other") is None


def test_the_store_keeps_them() -> None:
    """Text and back, reasons and all; an empty store has none."""
    pauses = Pauses({"load": Pause("bob", NOON, 'naïve "quote"')})
    assert Pauses.from_text(pauses.to_text()).items() == pauses.items()
    assert Pauses.from_text(None).items() == []
