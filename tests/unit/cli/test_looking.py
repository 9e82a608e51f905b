"""Those who look ask twice where an answer broke off, and never do anything twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyscheduler.cli.faults import Unreachable
from pyscheduler.cli.patient import REPEATS
from tests.unit.cli.prompt import Prompt, a_scheduler

BROKE_OFF = Unreachable("the scheduler broke off in the middle of its answer", broke_off=True)


def first_breaks_off(answer: Any) -> Callable[[Any], Any]:
    left = [BROKE_OFF]

    def reply(_query: Any) -> Any:
        if left:
            raise left.pop()
        return answer

    return reply


def test_a_look_that_broke_off_is_taken_again(pysched: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler that was killed in the middle of an answer is one that restarts, for whoever follows a log."""
    monkeypatch.setattr("pyscheduler.cli.looking.time.sleep", lambda _seconds: None)
    pysched.scheduler.replies = {
        "GET /api/scheduler": first_breaks_off(a_scheduler()),
        "GET /api/runs": {"runs": [], "next_cursor": None},
    }
    assert pysched("status").code == 0
    pysched.scheduler.replies["GET /api/scheduler"] = BROKE_OFF
    said = pysched("status")
    assert (said.code, said.out) == (1, "")
    assert "broke off" in said.err


def test_a_deed_is_asked_for_again_under_one_key(pysched: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have been done, and by the key the scheduler knows: never is it done twice."""
    monkeypatch.setattr("pyscheduler.cli.patient.GRACE_S", 0.0)
    pysched.scheduler.replies = {"POST /api/jobs/load/trigger": BROKE_OFF}
    assert pysched("trigger", "load").code == 1
    assert len(pysched.scheduler.keys) == 1 + REPEATS
    assert len(set(pysched.scheduler.keys)) == 1
    assert pysched.scheduler.keys[0] is not None
