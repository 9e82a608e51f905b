"""Five incarnations at once on one server, doing everything there is in any order: nobody waits in a circle (C5).

The contract tests say what two do to each other; here it is the order of locks that is tried, over every pair of steps.
No store error is expected at all, and at the end the rows are held to C11.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from pyscheduler.errors import AuthorityLost
from pyscheduler.model.lease import Proof, ProofKind
from pyscheduler.model.run import Outcome, RunState
from pyscheduler.store.claims import Claim, Claims, Report, Watermark
from tests.contract.claims_kit import NOON, Meeting, a_meeting, held, occurrence, start_of

STEPS = 120
CROWD = 5


@pytest.fixture
def meeting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Meeting]:
    with a_meeting(request, tmp_path, "postgres") as found:
        yield found


class Busy:
    """One process after another, each doing whatever its dice say."""

    def __init__(self, meeting: Meeting, names: Iterator[int], everybody: list[str], seed: int) -> None:
        self._meeting, self._names, self._everybody = meeting, names, everybody
        self._dice = random.Random(seed)
        self.executed: Counter[tuple[str, int]] = Counter()
        self._begin()

    def _begin(self) -> None:
        self.claims: Claims = self._meeting.join(f"i{next(self._names)}")
        self._everybody.append(self.claims.me.inc_id)
        self.claimed: dict[str, Claim] = {}
        self.running: list[Claim] = []
        self.epoch: int | None = None

    def live(self) -> None:
        deeds: tuple[Callable[[], object], ...] = (
            self.claim, self.claim, self.start, self.start, self.tell, self.tell, self.hand_back, self.fence,
            self.lead, self.make, self.make, self.cancel, self.hand_out, self.admit, self.beat,
        )  # fmt: skip
        for _ in range(STEPS):
            try:
                self._dice.choice(deeds)()
            except AuthorityLost:
                self.epoch = None

    def claim(self) -> None:
        self.claimed |= {claim.run_id: claim for claim in self.claims.claim(self._dice.randint(1, 6))}

    def start(self) -> None:
        mine, self.claimed = self.claimed, {}
        for run_id in self.claims.start([start_of(claim) for claim in mine.values()]):
            self.executed[run_id, mine[run_id].token] += 1
            self.running.append(mine[run_id])

    def tell(self) -> None:
        ended, self.running = self.running[:4], self.running[4:]
        to = self._dice.choice([RunState.FAILED, RunState.RETRY_WAIT, RunState.CANCELLED])
        self.claims.outcomes([Report(run_id=c.run_id, token=c.token, outcome=Outcome.FAILED, to=to) for c in ended])

    def hand_back(self) -> None:
        given, self.claimed = self.claimed, {}
        self.claims.hand_back([held(claim) for claim in given.values()])

    def fence(self) -> None:
        other = self._dice.choice(self._everybody)
        if self._dice.random() < 0.2:
            self.claims.fence(other, Proof(inc_id=other, kind=ProofKind.HAND, by="ada"), "by hand")

    def hand_out(self) -> None:
        other = self._dice.choice(self._everybody)
        self.claims.hand_out_unstarted(other, Proof(inc_id=other, kind=ProofKind.DEAD))

    def lead(self) -> None:
        self.epoch = self.claims.take_authority() or self.epoch

    def make(self) -> None:
        if self.epoch is None:
            return
        job = self._dice.choice(["one", "two"])
        was = self.claims.marks([job]).stored.get(job)
        first = round(((was or NOON) - NOON).total_seconds() / 60) + 1
        due = [occurrence(first + number, job) for number in range(8)]
        self.claims.materialise(self.epoch, due, [Watermark(job, was, NOON + timedelta(minutes=first + 7))])
        if self._dice.random() < 0.3:
            self.claims.resign(self.epoch)
            self.epoch = None

    def admit(self) -> None:
        if self.epoch is not None:
            self.claims.admit(self.epoch)

    def cancel(self) -> None:
        known = [*self.claimed, *(claim.run_id for claim in self.running)]
        if known:
            self.claims.cancel(self._dice.choice(known))

    def beat(self) -> None:
        if self.claims.heartbeat() is None:
            self.claims.outcomes(
                [
                    Report(run_id=c.run_id, token=c.token, outcome=Outcome.KILLED, to=RunState.FAILED)
                    for c in self.running
                ]
            )
            self._begin()


def test_a_crowd_neither_waits_in_a_circle_nor_breaks_a_promise(meeting: Meeting) -> None:
    """Seeded dice, real connections: no error, no deadlock, I2 to I7 and I10 at the end."""
    names, everybody = itertools.count(), list[str]()
    crowd = [Busy(meeting, names, everybody, seed) for seed in range(CROWD)]
    with ThreadPoolExecutor(CROWD) as pool:
        for done in [pool.submit(one.live) for one in crowd]:
            done.result()
    executed = sum((one.executed for one in crowd), Counter[tuple[str, int]]())
    assert len(executed) > 5
    assert set(executed.values()) == {1}, "I7"
    assert crowd[0].claims.strays() == [], "I4"
    assert meeting.run("SELECT 1 FROM runs GROUP BY job, scheduled_at HAVING count(*) > 1") == [], "I1"
    assert meeting.run("SELECT 1 FROM attempts GROUP BY run_id, token HAVING count(*) > 1") == [], "I5"
    late = """SELECT 1 FROM attempts a WHERE reported_at IS NOT NULL AND (revoked_at IS NOT NULL) <> EXISTS (
        SELECT 1 FROM events e WHERE e.run_id = a.run_id AND action = 'superseded'
        AND (detail::jsonb ->> 'token')::bigint = a.token)"""
    assert meeting.run(late) == [], "I10"
    words = {row["action"] for row in meeting.run("SELECT DISTINCT action FROM events")}
    assert words & {"lost_claimed", "lost_running", "start_refused", "superseded"}, "the dice did bite"
