"""Telling streams that their caller is gone."""

from __future__ import annotations

from pyscheduler.api.callers import Caller
from pyscheduler.api.revocations import IsGone, Revocations


def test_whoever_subscribed_is_told_until_they_leave() -> None:
    """With a question that they ask about their own caller; leaving twice is harmless."""
    revocations, told = Revocations(), list[bool]()

    def on_gone(is_gone: IsGone) -> None:
        told.append(is_gone(Caller("ann")))

    leave = revocations.subscribe(on_gone)
    revocations.subscribe(lambda _: leave())
    revocations.tell(lambda caller: caller.name == "ann")
    revocations.tell(lambda caller: True)
    leave()
    assert told == [True]
