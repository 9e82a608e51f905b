"""Whose kill an attempt carries: for its owner to obey, and where it crosses the end, for who decides. DESIGN 6."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyscheduler.model.batch import Batch, Kill
from pyscheduler.store.sharing import Sharing
from tests.contract.claims_kit import PLACES, Meeting, a_meeting, engines, report, started


@pytest.fixture(params=PLACES)
def meeting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Meeting]:
    with a_meeting(request, tmp_path, request.param) as found:
        yield found


def kill(meeting: Meeting, run_id: str, attempt: int = 1, by: str = "ann") -> tuple[int, str | None]:
    """Let somebody want an attempt to end; returns whether its owner is asked, and who the attempt says it was."""
    batch = Batch(kills=(Kill(run_id, attempt, by),))
    meeting.door().write(lambda on: Sharing(lambda _on: None).after(on, batch))
    return meeting.row(run_id)["cancel_requested"], meeting.attempts(run_id)[0]["kill_by"]


def test_an_owner_is_asked_in_somebodys_name(meeting: Meeting) -> None:
    """The wish and the name are written together."""
    (run_id,) = engines(meeting)
    started(meeting.join("a"))
    assert kill(meeting, run_id) == (1, "ann")


def test_a_kill_that_crosses_the_end_is_kept_for_who_decides(meeting: Meeting) -> None:
    """Nobody is left to be asked; but the engine that reads the end, this one or the next, reads of the kill too."""
    (run_id,) = engines(meeting)
    a = meeting.join("a")
    (claim,) = started(a)
    a.outcome(report(claim, None))
    assert meeting.state(run_id)[::2] == ("running", None)
    assert kill(meeting, run_id) == (0, "ann")


def test_a_kill_of_another_attempt_is_nobodys(meeting: Meeting) -> None:
    """An attempt that was never made, and one whose run has been decided about."""
    (run_id,) = engines(meeting)
    a = meeting.join("a")
    (claim,) = started(a)
    assert kill(meeting, run_id, attempt=2) == (0, None)
    a.outcome(report(claim))
    assert kill(meeting, run_id) == (0, None)
