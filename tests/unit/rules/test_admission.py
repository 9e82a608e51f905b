"""The line and the slots, jobs.md 5.2, 5.3 and DESIGN 8 row 6."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from pyscheduler.model.job import Criticality, Job
from pyscheduler.model.run import Run, RunState
from pyscheduler.rules.admission import Admission, ReadyQueue
from tests.builders import NOON, a_job, a_run

MINUTE = timedelta(minutes=1)


def queued(job: str, seq: int = 1, at: datetime = NOON, **fields: Any) -> Run:
    """Return a queued run."""
    return a_run(job, seq=seq, state=RunState.QUEUED, queued_at=at, **fields)


class Line:
    """A line with its jobs, so that a test reads as a story."""

    def __init__(self, max_running: int = 10, patience_s: float = 600, **pools: int) -> None:
        self.admission = Admission(max_running, pools)
        self.queue = ReadyQueue()
        self.patience_s = patience_s

    def push(self, run: Run, job: Job) -> None:
        self.queue.push(run, job)

    def take(self, now: datetime = NOON, at_most: int = 16) -> list[str]:
        return self.queue.take_startable(self.admission, now, self.patience_s, at_most)


def test_the_order_is_force_criticality_instant_number() -> None:
    """Who is first when there is room for all, one after another."""
    line = Line(max_running=1)
    line.push(queued("a", seq=11), a_job("a"))
    line.push(queued("a", seq=9), a_job("a"))
    line.push(queued("b", scheduled_at=NOON - MINUTE), a_job("b"))
    line.push(queued("c"), a_job("c", criticality=Criticality.CRITICAL))
    line.push(queued("d", forced=True), a_job("d", criticality=Criticality.LOW))
    order = []
    while taken := line.take():
        order += taken
        line.admission.release(taken[0])
    assert [run_id.replace(".2027-05-20.", "") for run_id in order] == ["d1", "c1", "b1", "a9", "a11"]
    assert len(line.queue) == 0


def test_the_cap_and_the_turn_bound_the_starts() -> None:
    """Never more than max_running, never more than asked for in one turn."""
    line = Line(max_running=20)
    for seq in range(1, 31):
        line.push(queued("a", seq=seq), a_job("a"))
    assert len(line.take(at_most=16)) == 16
    assert len(line.take(at_most=16)) == 4
    assert line.take() == []
    assert line.admission.running == 20


def test_a_run_that_does_not_fit_is_passed_over() -> None:
    """A full pool holds back only those who need it."""
    line = Line(db=1)
    line.push(queued("a"), a_job("a", pools={"db": 1}))
    line.push(queued("b"), a_job("b", pools={"db": 1}))
    line.push(queued("c", scheduled_at=NOON + MINUTE), a_job("c"))
    assert line.take() == ["a.2027-05-20.1", "c.2027-05-20.1"]
    assert line.admission.holders_of("db") == ["a.2027-05-20.1"]
    assert line.admission.free("db") == 0


def test_a_pool_that_is_not_configured_never_fits() -> None:
    """A pool that a reload took away starts nothing."""
    line = Line()
    line.push(queued("a"), a_job("a", pools={"gone": 1}))
    assert line.take() == []


def test_a_wide_request_is_not_starved_for_ever() -> None:
    """Passed over for longer than the patience it reserves what it needs: freed slots gather for it."""
    line = Line(db=4, patience_s=600)
    line.admission.acquire("small.2027-05-20.1", (("db", 2),))
    line.push(queued("wide", at=NOON), a_job("wide", pools={"db": 4}))
    line.push(queued("small", seq=2, scheduled_at=NOON + MINUTE, at=NOON + MINUTE), a_job("small", pools={"db": 2}))
    assert line.take(NOON + 5 * MINUTE) == ["small.2027-05-20.2"]
    line.admission.release("small.2027-05-20.2")
    line.push(queued("small", seq=3, scheduled_at=NOON + MINUTE), a_job("small", pools={"db": 2}))
    line.push(queued("other", scheduled_at=NOON + MINUTE), a_job("other"))
    assert line.take(NOON + 11 * MINUTE) == ["other.2027-05-20.1"]
    line.admission.release("small.2027-05-20.1")
    assert line.take(NOON + 11 * MINUTE)[0] == "wide.2027-05-20.1"


def test_adoption_may_exceed_the_limits_and_then_nothing_starts() -> None:
    """What runs is never stopped by a lower limit; nothing starts until use is below it."""
    line = Line(max_running=2, db=1)
    for n in (1, 2, 3):
        line.admission.adopt(f"a.2027-05-20.{n}", (("db", 1),))
    assert (line.admission.running, line.admission.free("db")) == (3, -2)
    line.push(queued("b"), a_job("b"))
    assert line.take() == []
    line.admission.set_limits(4, {"db": 1})
    assert line.take() == ["b.2027-05-20.1"]


def test_a_run_is_in_line_once_and_can_leave_it() -> None:
    """A new place replaces the old one; leaving twice is harmless."""
    line = Line()
    line.push(queued("a"), a_job("a"))
    line.push(queued("b"), a_job("b"))
    line.push(queued("b", forced=True), a_job("b", pools={"db": 1}))
    line.queue.remove("a.2027-05-20.1")
    line.queue.remove("a.2027-05-20.1")
    assert list(line.queue) == ["b.2027-05-20.1"]
    assert line.take() == []
    line.push(queued("b"), a_job("b"))
    assert line.take() == ["b.2027-05-20.1"]


def test_giving_back_twice_gives_back_once() -> None:
    """Slots are held by run id, so nothing is counted twice."""
    admission = Admission(3, {"db": 2})
    admission.acquire("a.2027-05-20.1", (("db", 2),))
    admission.acquire("a.2027-05-20.1", (("db", 1),))
    assert (admission.running, admission.free("db")) == (1, 1)
    admission.release("a.2027-05-20.1")
    admission.release("a.2027-05-20.1")
    assert (admission.running, admission.free("db")) == (0, 2)
