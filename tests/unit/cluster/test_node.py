"""What a node does not begin, what it keeps apart, and what it does not die of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyscheduler.cluster.grants import Grants
from pyscheduler.cluster.node import Node
from pyscheduler.cluster.orders import run_of
from pyscheduler.engine.clock import FakeClock
from pyscheduler.engine.ports import LaunchSpec
from pyscheduler.errors import StoreError, StoreUnavailable
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Attempt, Run, Trigger
from pyscheduler.store.claims import Applied, Beat, Claim, Held, Owned, Proof, ProofKind, Report, Start, Timing
from pyscheduler.testing import FakeLauncher

NOON = datetime(2026, 10, 19, 12, tzinfo=UTC)
CLAIM = Claim(
    run_id="load.2026-10-19.1",
    token=3,
    job="load",
    run_date=date(2026, 10, 19),
    scheduled_at=NOON,
    trigger=Trigger.MANUAL,
    attempt=0,
    config_version=1,
    claimed_at=NOON,
)


class Store:
    """Gives one claim, and remembers what became of it. `during` is called while it is being given."""

    timing, me = Timing(), SimpleNamespace(inc_id="i", capacity=4)

    def __init__(self, during: Callable[[], None]) -> None:
        self.during, self.handed_back, self.asked = during, list[Held](), 0

    def claim(self, _room: int) -> list[Claim]:
        self.asked += 1
        self.during()
        return [CLAIM]

    def hand_back(self, claims: Iterable[Held]) -> None:
        self.handed_back += claims

    def start(self, starts: Iterable[Start]) -> set[str]:
        raise AssertionError(f"started {list(starts)}")


class Recipes:
    async def order(self, *_given: object) -> tuple[Any, None]:
        return SimpleNamespace(attempt=None), None


async def test_who_rests_claims_nothing_and_hands_back_what_it_was_claiming() -> None:
    """From the signal on nothing is started, though the process lives on for a while."""
    node: Node
    store = Store(lambda: node.rest())
    clock = FakeClock(NOON)
    node = Node(cast("Any", store), FakeLauncher(clock), clock, cast("Any", Recipes()), boot_id="b")
    node.heart = cast("Any", SimpleNamespace(trusted=True, alive=lambda: None))
    running = asyncio.ensure_future(node.run())
    while not (store.handed_back or running.done()):
        await asyncio.sleep(0)
    assert store.handed_back == [Held(CLAIM.run_id, CLAIM.token)]
    assert await node._claim_and_start() is False
    assert store.asked == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


# --------------------------------------------------------------------------- one run, several grants


class Handle:
    """An attempt that runs until it is told to end."""

    pid, remark = 7, ""

    def __init__(self) -> None:
        self.ended: asyncio.Future[AttemptResult] = asyncio.get_running_loop().create_future()
        self.asked = list[str]()

    async def wait(self) -> AttemptResult:
        return await self.ended

    def terminate(self, by: str, reason: str = "") -> None:
        self.asked.append(by)


class Launcher:
    """Starts attempts, and keeps their handles in the order of their starts."""

    def __init__(self) -> None:
        self.handles = list[Handle]()

    async def launch(self, _spec: LaunchSpec) -> Handle:
        self.handles.append(Handle())
        return self.handles[-1]

    async def discard(self, _refs: object) -> None:
        """Nothing lies anywhere."""


class Shared:
    """A store: it gives what lies in `offered`, and says what is in `owned` of what is ours."""

    timing, me = Timing(), SimpleNamespace(inc_id="i", capacity=4, tags=(), state_dir="/nowhere")

    def __init__(self) -> None:
        self.offered, self.handed_back = list[Claim](), list[Held]()
        self.owned_now, self.refused = list[Owned](), set[int]()
        self.adopting: Callable[[], bool] = lambda: True

    def claim(self, _room: int, **_of: object) -> list[Claim]:
        given, self.offered = self.offered, []
        return given

    def start(self, starts: Iterable[Start]) -> set[str]:
        return {start.run_id for start in starts}

    def hand_back(self, claims: Iterable[Held], **_how: object) -> None:
        self.handed_back += claims

    def owned(self) -> list[Owned]:
        return self.owned_now

    def outcomes(self, reports: Sequence[Report]) -> dict[tuple[str, int], Applied]:
        answer = {True: Applied.SUPERSEDED, False: Applied.YES}
        return {(one.run_id, one.token): answer[one.token in self.refused] for one in reports}

    def adopt(self, *_given: object) -> bool:
        return self.adopting()


class Rendered:
    """Renders every order, or fails as `fault` says."""

    fault: Exception | None = None

    async def order(self, run: Run, key: str, now: datetime) -> tuple[Any, None]:
        if self.fault is not None:
            raise self.fault
        paths: dict[str, Any] = {name: Path("/nowhere") for name in ("stdout_path", "stderr_path", "status_path")}
        spec = LaunchSpec(run_id=run.run_id, attempt=1, key=key, argv=("true",), env={}, **paths)
        attempt = Attempt(run_id=run.run_id, attempt=1, key=key, started_at=now)
        return SimpleNamespace(attempt=attempt, spec=spec, error=None), None

    def job(self, _version: int, _name: str) -> None:
        return None


def a_node(store: Shared, launcher: Launcher, recipes: Rendered | None = None) -> Node:
    clock = FakeClock(NOON)
    given = cast("Any", recipes or Rendered())
    node = Node(cast("Any", store), cast("Any", launcher), clock, given, boot_id="b")
    node.heart = cast("Any", SimpleNamespace(trusted=True, alive=lambda: None, beats=1, lapsed=False))
    return node


async def until(found: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not found():
            await asyncio.sleep(0.001)


async def started(node: Node, store: Shared, launcher: Launcher, claim: Claim) -> Handle:
    """Return the attempt that runs under a claim."""
    count = len(launcher.handles)
    store.offered = [claim]
    assert await node._claim_and_start()
    await until(lambda: len(launcher.handles) > count and not node._launching)
    return launcher.handles[-1]


async def test_a_run_that_was_taken_and_is_claimed_again_is_not_mixed_up_with_itself() -> None:
    """Its first attempt is ended, and that end takes nothing from the second: a kill still finds it."""
    store, launcher = Shared(), Launcher()
    node = a_node(store, launcher)
    first = await started(node, store, launcher, CLAIM)
    store.refused = {CLAIM.token}
    second = await started(node, store, launcher, replace(CLAIM, token=CLAIM.token + 2))
    assert (first.asked, second.asked) == (["lease"], [])
    first.ended.set_result(AttemptResult(signal=15, stopped_by="lease"))
    await until(lambda: len(node._tasks) == 1)
    assert node.running == 1
    node._hear(Beat(cancel_requested=frozenset({CLAIM.run_id})))
    assert second.asked == ["kill"]
    second.ended.set_result(AttemptResult(exit_code=0))
    await until(lambda: not node._tasks)
    assert node.running == 0


async def test_an_end_that_is_being_told_is_not_taken_for_a_loss(caplog: pytest.LogCaptureFixture) -> None:
    """The store has it before we have heard so: nothing was taken from us, and nothing is left to end."""
    store, launcher = Shared(), Launcher()
    node = a_node(store, launcher)
    handle = await started(node, store, launcher, CLAIM)
    told, answer = asyncio.Event(), asyncio.Event()

    async def tell(reports: Sequence[Report]) -> dict[tuple[str, int], Applied]:
        told.set()
        await answer.wait()
        return store.outcomes(reports)

    node._outbox._tell = tell
    handle.ended.set_result(AttemptResult(exit_code=0))
    await told.wait()
    await node._reconcile()
    assert handle.asked == []
    assert "was taken from this node" not in caplog.text
    answer.set()
    await until(lambda: not node.running)


# --------------------------------------------------------------------------- an adoption in doubt

DEAD = Proof(inc_id="dead", kind=ProofKind.DEAD, by="i")
FOUND = Owned(
    run_id=CLAIM.run_id,
    token=CLAIM.token,
    inc_id="dead",
    started=True,
    cancel_requested=False,
    job="load",
    attempt=1,
    config_version=1,
    started_at=NOON,
)


def lost_answer() -> bool:
    error = StoreUnavailable("the connection was lost at COMMIT")
    error.outcome_unknown = True
    raise error


async def test_an_adoption_whose_answer_was_lost_is_minded_all_the_same() -> None:
    """Nobody else would: its run would run for ever."""
    store, launcher, handle = Shared(), Launcher(), Handle()
    node = a_node(store, launcher)
    store.adopting = lost_answer
    run, attempt = run_of(CLAIM, NOON), Attempt(run_id=CLAIM.run_id, attempt=1, key="k", started_at=NOON)
    with pytest.raises(StoreError):
        await node.adopt(run, FOUND, attempt, cast("Any", handle), DEAD)
    await node._reconcile()
    assert node.running == 0
    store.owned_now = [FOUND]
    await node._reconcile()
    await node._reconcile()
    assert node.running == 1
    handle.ended.set_result(AttemptResult(exit_code=0))
    await until(lambda: not node._tasks)
    assert node.running == 0


async def test_so_it_is_where_work_adopts() -> None:
    """`tick` and `work` keep their grants elsewhere, by the same rule."""
    store, handle, minded = Shared(), Handle(), list[str]()
    grants = Grants(cast("Any", store), cast("Any", SimpleNamespace(trusted=True)), lambda: 0.0)
    store.adopting = lost_answer
    with pytest.raises(StoreError):
        await grants.adopt(FOUND, cast("Any", handle), DEAD, lambda: minded.append(FOUND.run_id))
    assert grants.doubt
    store.owned_now = [FOUND]
    await grants.reconcile()
    await grants.reconcile()
    assert minded == [FOUND.run_id]
    assert cast("Any", grants.going[FOUND.run_id].handle) is handle


async def test_grants_of_one_run_are_kept_apart() -> None:
    """The end of one that was taken is not the end of the next."""
    store, handle = Shared(), Handle()
    grants = Grants(cast("Any", store), cast("Any", SimpleNamespace(trusted=True)), lambda: 0.0)
    attempt = Attempt(run_id=CLAIM.run_id, attempt=1, key="k", started_at=NOON)
    assert await grants.start(CLAIM, attempt)
    first = grants.of(CLAIM.run_id, CLAIM.token)
    first.hold(cast("Any", handle))
    assert await grants.start(replace(CLAIM, token=CLAIM.token + 2), attempt)
    assert handle.asked == ["lease"]
    grants.over(CLAIM.run_id, grants.of(CLAIM.run_id, CLAIM.token))
    grants.over(CLAIM.run_id, first)
    assert grants.going[CLAIM.run_id].token == CLAIM.token + 2


# --------------------------------------------------------------------------- what a node does not die of


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), RuntimeError("a bug")], ids=str)
async def test_a_node_that_cannot_prepare_a_run_goes_on(fault: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """Who lives and claims nothing any more would not be missed by anybody."""
    store, launcher, recipes = Shared(), Launcher(), Rendered()
    node = a_node(store, launcher, recipes)
    recipes.fault, store.offered = fault, [CLAIM]
    running = asyncio.ensure_future(node.run())
    await until(lambda: not store.offered and "given back" in caplog.text)
    if isinstance(fault, OSError):
        await until(lambda: store.handed_back == [Held(CLAIM.run_id, CLAIM.token)])
    recipes.fault, store.offered = None, [replace(CLAIM, token=CLAIM.token + 2)]
    await until(lambda: launcher.handles)
    running.cancel()
    await asyncio.gather(running, *(task for task in node._tasks if task.cancel()), return_exceptions=True)
