"""What an operator reads about the guards of attempts on this machine."""

from __future__ import annotations

from pyscheduler.engine.minding.locktest import GuardReport


def test_nothing_is_said_where_nothing_is_left_to_chance() -> None:
    """Locks and pidfds work: no line."""
    assert GuardReport(locks=True, fault="", pidfd=True, ps=False).lines == ()


def test_every_weakness_has_its_line() -> None:
    """No locks, no ps, no pidfd: each says what it leaves to chance."""
    lines = GuardReport(locks=False, fault="[Errno 37] No locks available", pidfd=False, ps=False).lines
    assert len(lines) == 3
    assert "No locks available" in lines[0]
    (line,) = GuardReport(locks=False, fault="x", pidfd=True, ps=True).lines
    assert line == "locks do not work here (x): a reused pid may be taken for a minder"
