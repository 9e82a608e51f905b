"""An engine whose attempts are run by nodes: it offers, it sees, it never writes what a node owns. DESIGN 6."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from pyscheduler.engine.offers import show_news
from pyscheduler.engine.ports import Seen, Watcher
from pyscheduler.engine.rehearsal import gather
from pyscheduler.errors import Conflict
from pyscheduler.model.batch import Batch
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Attempt, Run, RunState
from pyscheduler.testing import FakeLauncher
from tests.night import Night

JOBS = """
jobs:
  load:
    command: "true"
    schedule: manual
    retries: {count: 1, delay: 1m}
  after:
    command: "true"
    depends_on: [load]
"""


class Nodes(FakeLauncher):
    """All nodes of a cluster in one object: a test says what they do, and the engine sees it."""

    claimed: set[str]
    written: list[Seen]
    watcher: Watcher | None = None
    hints = 0

    def bind(self, watcher: Watcher | None) -> None:
        self.watcher = watcher

    def hint(self) -> None:
        self.hints += 1

    async def take_back(self, run_ids: Collection[str] | None) -> set[str]:
        return set(run_ids or ()) - self.claimed

    async def look(self) -> None:
        if self.watcher is not None:
            self.watcher(self.written)

    def tell(self, run: Run, number: int, result: AttemptResult | None = None) -> None:
        """Let the engine see the start of an attempt, or its end."""
        self.write(run, number, result)
        assert self.watcher is not None
        self.watcher(self.written)

    def write(self, run: Run, number: int, result: AttemptResult | None = None) -> None:
        """Write a start or an end down, which the engine has not looked at yet."""
        attempt = Attempt(run_id=run.run_id, attempt=number, key="k" * 8, started_at=run.updated_at, config_version=1)
        if result is not None:
            attempt = replace(attempt, ended_at=run.updated_at)
        self.written = [Seen(run.run_id, attempt, result)]


class Shared(Night):
    """A night whose attempts are run by nodes."""

    nodes: Nodes

    def share(self) -> Shared:
        self.launcher = self.nodes = Nodes(self.clock)
        self.nodes.claimed, self.nodes.written = set(), []
        self.engine.store.close()
        self.engine = self._new_engine()
        return self

    async def offered(self) -> Run:
        run = await self.engine.trigger("load", actor="ann")
        await self.engine.settle()
        found = self.engine.book.published(run.run_id)
        assert found is not None
        return found

    def now(self, run: Run) -> Run:
        found = self.engine.book.published(run.run_id)
        assert found is not None
        return found

    async def sees(self, run: Run, number: int, result: AttemptResult | None = None) -> Run:
        self.nodes.tell(run, number, result)
        await self.engine.settle()
        return self.now(run)


@pytest.fixture
async def night(tmp_path: Path) -> AsyncIterator[Shared]:
    shared = Shared(tmp_path, JOBS, at="2027-05-20T09:00Z").share()
    async with shared:
        yield shared


async def test_a_granted_run_is_offered_and_stays_queued(night: Shared) -> None:
    """Its slot is taken and nothing is started: whoever claims it starts it."""
    run = await night.offered()
    assert (run.state, run.offered_at is not None, run.attempt) == (RunState.QUEUED, True, 0)
    assert night.engine.admission.running == 1
    assert night.nodes.hints >= 1
    stored = night.engine.store.get_run(run.run_id)
    assert stored is not None
    assert stored.offered_at == run.offered_at


async def test_a_start_that_is_seen_is_shown_and_never_written(night: Shared) -> None:
    """The row belongs to the node by then: the book follows it, the store is left alone."""
    run = await night.offered()
    shown = await night.sees(run, 1)
    assert (shown.state, shown.attempt, shown.offered_at) == (RunState.RUNNING, 1, None)
    stored = night.engine.store.get_run(run.run_id)
    assert stored is not None
    assert stored.state is RunState.QUEUED  # what a node writes there, this fake did not


async def test_an_end_is_decided_by_the_engine(night: Shared) -> None:
    """Success lets the dependants go, failure waits for its retry: the rules are those of one host."""
    run = await night.offered()
    await night.sees(run, 1)
    failed = await night.sees(run, 1, AttemptResult(exit_code=1))
    assert failed.state is RunState.RETRY_WAIT
    await night.clock.advance(timedelta(minutes=2))
    await night.engine.settle()
    again = night.now(run)
    assert (again.state, again.offered_at is not None) == (RunState.QUEUED, True)
    ended = await night.sees(run, 2, AttemptResult(exit_code=0))
    assert ended.state is RunState.SUCCEEDED
    after = night.engine.book.latest_for("after", run.run_date)
    assert after is not None
    assert after.offered_at is not None


async def test_old_news_changes_nothing(night: Shared) -> None:
    """What is seen twice, or of an attempt before, was decided already."""
    run = await night.offered()
    await night.sees(run, 1)
    await night.sees(run, 1, AttemptResult(exit_code=1))
    before = night.now(run)
    assert await night.sees(run, 1, AttemptResult(exit_code=0)) == before
    assert await night.sees(run, 1) == before


async def test_an_offered_run_is_taken_back_before_a_hand_decides_about_it(night: Shared) -> None:
    """Nobody can claim what is cancelled; its slot is free again."""
    run = await night.offered()
    after = await night.engine.cancel(run.run_id, actor="ann")
    assert (after.state, after.offered_at) == (RunState.CANCELLED, None)
    assert night.engine.admission.running == 0


async def test_a_claimed_run_is_not_decided_about(night: Shared) -> None:
    """Its node is starting it: the answer is to ask again, and to kill it once it runs."""
    run = await night.offered()
    night.nodes.claimed.add(run.run_id)
    with pytest.raises(Conflict, match="started by a node"):
        await night.engine.hold(run.run_id, actor="ann")
    assert night.now(run).state is RunState.QUEUED


async def test_a_kill_is_a_wish_that_its_owner_reads(night: Shared) -> None:
    """Nothing of the row is written; what the node then tells ends as killed by whoever asked."""
    run = await night.offered()
    await night.sees(run, 1)
    batches: list[Batch] = []
    apply = night.engine.store.apply

    def noted(batch: Batch) -> None:
        batches.append(batch)
        apply(batch)

    night.engine.store.apply = noted  # type: ignore[method-assign]
    await night.engine.kill(run.run_id, actor="ann")
    assert [(kill.run_id, kill.attempt, kill.by) for batch in batches for kill in batch.kills] == [
        (run.run_id, 1, "ann")
    ]
    assert not any(each.run_id == run.run_id for batch in batches for each in batch.runs)
    night.engine.store.apply = apply  # type: ignore[method-assign]
    latest = night.engine.desk.latest_attempt(run.run_id)
    assert latest is not None
    assert latest.kill_by == "ann"


async def test_a_kill_that_crosses_the_end_counts(night: Shared) -> None:
    """The attempt had failed already, and the engine had not heard of it: who was told `killed` sees no other try."""
    run = await night.offered()
    await night.sees(run, 1)
    night.nodes.write(run, 1, AttemptResult(exit_code=1))
    await night.engine.kill(run.run_id, actor="ann")
    ended = await night.sees(run, 1, AttemptResult(exit_code=1))
    assert (ended.state, ended.reason) == (RunState.FAILED, "killed by ann")


async def test_a_hand_knows_of_a_start_that_was_just_written(night: Shared) -> None:
    """A page read from the store says running before the next look: what it offers is done, not refused."""
    run = await night.offered()
    night.nodes.write(run, 1)
    stage = await gather(night.engine, [(run.job, run.run_date)])
    assert [each.state for each in stage.runs if each.run_id == run.run_id] == [RunState.RUNNING]
    await night.engine.settle()
    assert night.now(run).state is RunState.RUNNING


async def test_why_knows_of_a_start_that_is_not_shown_yet(night: Shared) -> None:
    """Whether it was just written, or was seen a moment ago and is still on its way."""
    for number, is_seen in ((1, False), (2, True)):
        run = await night.offered()
        (night.nodes.tell if is_seen else night.nodes.write)(run, 1)
        await show_news(night.engine, run.job)
        shown = night.now(run)
        assert (shown.seq, shown.state) == (number, RunState.RUNNING)
        await night.sees(run, 1, AttemptResult(exit_code=0))


async def test_a_kill_reaches_a_start_that_was_just_written(night: Shared) -> None:
    """It is the wish that its owner reads, as if the engine had heard of the start before."""
    run = await night.offered()
    night.nodes.write(run, 1)
    killed = await night.engine.kill(run.run_id, actor="ann")
    assert (killed.state, killed.attempt) == (RunState.RUNNING, 1)
    latest = night.engine.desk.latest_attempt(run.run_id)
    assert latest is not None
    assert latest.kill_by == "ann"


async def test_a_refusal_names_the_state_that_was_just_written(night: Shared) -> None:
    """Not that of the last look."""
    run = await night.offered()
    night.nodes.write(run, 1)
    with pytest.raises(Conflict, match="is running, so hold does not apply"):
        await night.engine.hold(run.run_id, actor="ann")


async def test_a_pause_takes_back_what_nobody_has_claimed(night: Shared) -> None:
    """Paused means that nothing starts; what a node has claimed already goes on."""
    run = await night.offered()
    await night.engine.pause(actor="ann")
    await night.engine.settle()
    assert night.now(run).offered_at is None
    await night.engine.resume(actor="ann")
    await asyncio.sleep(0)
    await night.engine.settle()
    assert night.now(run).offered_at is not None


async def test_a_pause_lets_nothing_more_be_offered_while_it_takes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slot that becomes free before the store has answered starts nothing of what is paused."""
    jobs = JOBS.replace("schedule: manual", "schedule: manual\n    overlap: allow")
    shared = Shared(tmp_path, jobs, at="2027-05-20T09:00Z", settings={"max_running": 1}).share()
    async with shared:
        first = await shared.offered()
        await shared.sees(first, 1)
        second = await shared.engine.trigger("load", run_date=date(2027, 5, 19), actor="ann")
        assert shared.now(second).offered_at is None
        take_back = shared.nodes.take_back

        async def meanwhile(run_ids: Collection[str] | None) -> set[str]:
            await shared.sees(first, 1, AttemptResult(exit_code=0))
            return await take_back(run_ids)

        monkeypatch.setattr(shared.nodes, "take_back", meanwhile)
        await shared.engine.pause(actor="ann")
        assert shared.now(first).state is RunState.SUCCEEDED
        assert (shared.now(second).state, shared.now(second).offered_at) == (RunState.QUEUED, None)


async def test_an_offer_is_on_disk_before_it_is_taken_back(night: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was decided in this very turn and lies on the tray is no exception."""
    monkeypatch.setattr(night.engine, "grant", lambda: None)
    run = await night.engine.trigger("load", actor="ann")
    night.engine.desk.offer(1)
    take_back, seen = night.nodes.take_back, []

    async def looks(run_ids: Collection[str] | None) -> set[str]:
        stored = night.engine.store.get_run(run.run_id)
        seen.append(stored is not None and stored.offered_at is not None)
        return await take_back(run_ids)

    monkeypatch.setattr(night.nodes, "take_back", looks)
    held = await night.engine.hold(run.run_id, actor="ann")
    assert (held.state, seen) == (RunState.HELD, [True])
