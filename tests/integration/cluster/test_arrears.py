"""What a host owes that was fenced and comes back: each end is told once, nothing of it goes on. claims.md C9, S8."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.cluster import arrears
from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.launcher import status_path
from pyscheduler.engine.prune import runs_in
from pyscheduler.model.lease import Proof, ProofKind
from pyscheduler.store.claims import Claim
from tests.contract.claims_kit import PLACES, Meeting, a_meeting, offered, start_of
from tests.yard import Yard, alive, minders, until


@pytest.fixture(params=PLACES)
def meeting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Meeting]:
    with a_meeting(request, tmp_path, request.param) as found:
        yield found


def spec_of(yard: Yard, claim: Claim, script: str) -> Any:
    key = secrets.token_hex(8)
    return yard.spec(
        script, key=key, run_id=claim.run_id, status_path=status_path(yard.status, claim.run_id, claim.attempt + 1, key)
    )


async def test_ends_are_told_and_what_still_runs_is_ended(tmp_path: Path, meeting: Meeting) -> None:
    """One has ended well meanwhile, one still runs; both were revoked, and both ends are kept as superseded."""
    offered(meeting, 2)
    one, other = meeting.join("a"), meeting.join("b")
    claims = one.claim(2)
    async with minders(tmp_path / "home") as (launcher, yard):
        specs = [spec_of(yard, claim, script) for claim, script in zip(claims, ("exit 0", "sleep 600"), strict=True)]
        one.start(
            [
                start_of(claim, key=spec.key, status_path=str(spec.status_path))
                for claim, spec in zip(claims, specs, strict=True)
            ]
        )
        done, running = [await launcher.launch(spec) for spec in specs]
        await done.wait()
        pid = running.pid
        assert pid is not None
        assert len(other.fence("a", Proof(inc_id="a", kind=ProofKind.HAND, by="ada"), "by hand").running) == 2
        before = [meeting.state(claim.run_id) for claim in claims]
        back, clock = meeting.join("a2"), SystemClock()
        assert await arrears.pay(back, launcher, clock, tmp_path / "elsewhere", runs_in(yard.status)) == 0
        assert await arrears.pay(back, launcher, clock, yard.status, runs_in(yard.status)) == 2
        assert await arrears.pay(back, launcher, clock, yard.status, runs_in(yard.status)) == 0
        await until(lambda: not alive(pid), "its minder has ended")
    assert meeting.lines().count("superseded") == 2
    details = " ".join(row["detail"] for row in meeting.run("SELECT detail FROM events WHERE action = 'superseded'"))
    assert '"outcome":"succeeded"' in details
    assert [meeting.state(claim.run_id) for claim in claims] == before, "a late end moves nothing"
