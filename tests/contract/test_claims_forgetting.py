"""Removing runs that are long over, on every database: who goes, who stays, and what is remembered of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from pyscheduler.cluster import pruning
from pyscheduler.cluster.pruning import EVERY, prune_if_due
from pyscheduler.errors import AuthorityLost
from pyscheduler.model.run import RunState
from pyscheduler.rules.numbering import GIVEN
from pyscheduler.store.claims import Claims
from tests.contract.claims_kit import DAY, NOON, PLACES, Meeting, a_meeting, engines, offered, report, started

DAY_S = 86_400.0


@pytest.fixture(params=PLACES)
def meeting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Meeting]:
    with a_meeting(request, tmp_path, request.param) as found:
        yield found


def ended(meeting: Meeting, claims: Claims, count: int, job: str = "nightly") -> list[str]:
    """Make runs that have ended."""
    ids = offered(meeting, count, job=job)
    for claim in started(claims, count):
        claims.outcome(report(claim, RunState.SUCCEEDED))
    return ids


def run_ids(meeting: Meeting) -> list[str]:
    return [row["run_id"] for row in meeting.run("SELECT run_id FROM runs ORDER BY run_id")]


def prune(meeting: Meeting, retention_s: float = 30 * DAY_S) -> int:
    """Remove what is older, as a pass of this instant does it, which is an incarnation of its own."""
    claims = meeting.join(uuid4().hex)
    epoch = claims.take_authority()
    assert epoch is not None
    last = claims.marks(["nightly"]).pruned
    count = prune_if_due(claims, epoch, retention_s, meeting.now, last)
    claims.resign(epoch)
    return count


def test_ended_runs_go_with_everything_that_names_them(meeting: Meeting) -> None:
    """Once they are older than the retention, by their date and by their last change; the watermark stays."""
    claims = meeting.join("a")
    ids = ended(meeting, claims, 3)
    claims.call_off(offered(meeting, 1, job="other")[0], "ann")
    meeting.advance(30 * DAY_S)
    assert prune(meeting) == 0  # the date is not over in every zone yet
    meeting.advance(2 * DAY_S)
    assert prune(meeting) == 4
    assert run_ids(meeting) == []
    assert meeting.run("SELECT * FROM attempts") == []
    assert meeting.run("SELECT * FROM events WHERE run_id IS NOT NULL") == []
    assert claims.marks(["nightly"]).until("nightly") == NOON + timedelta(days=1)
    (given,) = meeting.run(f"SELECT value FROM engine WHERE key = '{GIVEN}'")
    assert json.loads(given["value"]) == {"before": (DAY + timedelta(days=1)).isoformat(), "above": 3}
    assert ids == [f"nightly.{DAY}.{number}" for number in (1, 2, 3)]


def test_what_is_open_or_young_or_the_engines_stays(meeting: Meeting) -> None:
    """However old its date is."""
    claims = meeting.join("a")
    gone = ended(meeting, claims, 1, "gone")
    engines(meeting, 1, job="serves")
    (of_serve,) = started(claims)
    claims.outcome(report(of_serve, RunState.SUCCEEDED))
    waiting = offered(meeting, 1, job="waiting")
    meeting.run(f"UPDATE runs SET state = 'succeeded' WHERE run_id = '{of_serve.run_id}'")
    meeting.advance(40 * DAY_S)
    claims = meeting.join("b")
    offered(meeting, 1, job="late")
    late = next(claim for claim in claims.claim(9) if claim.job == "late")
    claims.call_off(late.run_id, "ann")
    assert prune(meeting) == 1
    assert gone[0] not in run_ids(meeting)
    assert set(run_ids(meeting)) == {of_serve.run_id, waiting[0], late.run_id}


def test_a_pass_an_hour_does_it_and_only_under_the_authority(meeting: Meeting, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces; a pass that has not got them all leaves the rest to the next one."""
    monkeypatch.setattr(pruning, "AT_ONCE", 2)
    monkeypatch.setattr(pruning, "MOST", 4)
    ended(meeting, meeting.join("a"), 5)
    meeting.advance(40 * DAY_S)
    assert [prune(meeting) for _ in range(3)] == [4, 1, 0]
    ended(meeting, meeting.join("b"), 1, "other")
    meeting.advance(EVERY.total_seconds() - 1)
    claims = meeting.join("c")
    assert prune(meeting, retention_s=-40 * DAY_S) == 0
    meeting.advance(1)
    with pytest.raises(AuthorityLost):
        claims.prune(99, meeting.now.date(), meeting.now, 9, pass_at=meeting.now, remember=lambda _, __: ("k", "v"))
    assert prune(meeting, retention_s=-40 * DAY_S) == 1
