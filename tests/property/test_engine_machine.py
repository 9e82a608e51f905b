"""The whole engine under random events: the real core and store, a fake clock, fake attempts, crashes at any step.

What must hold, whatever happens in whatever order: nothing is launched or ordered to end before the store had it (P1);
one run for each due instant, one start for each attempt, one live attempt a run (P2); everything shown is still there
after a crash (P3); slots and pools are never exceeded by a start; every open run can be explained (P7).

No draw depends on what the engine did: a thread's timing must not change what Hypothesis draws next.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from pyscheduler.engine.explain import explain
from pyscheduler.engine.ports import LaunchSpec
from pyscheduler.errors import ActionError
from pyscheduler.model.batch import Batch
from pyscheduler.model.run import FINAL_STATES, Run, RunState
from pyscheduler.store import Store
from pyscheduler.testing import FakeLauncher, FakeResult
from tests.night import Night

T = TypeVar("T")

JOBS = """
pools: {db: 2, net: 3}
jobs:
  tick: {command: x, schedule: "*/7 * * * *", pools: {net: 1}}
  load: {command: x, schedule: "*/20 * * * *", overlap: skip, pools: {db: 1}, retries: {count: 2, delay: 3m}}
  wide: {command: x, schedule: "5 * * * *", pools: {db: 2, net: 1}, overlap: allow, timeout: 9m}
  every: {command: x, schedule: "*/15 * * * *", catch_up: all, overlap: queue}
  report: {command: x, depends_on: [load, {job: wide, on: done}]}
  clean: {command: x, depends_on: [{job: load, on: failure}]}
  mail: {command: x, depends_on: [report, {job: clean, on: done}], max_wait: 2h}
  chain:
    command: x
    schedule: "30 0 * * *"
    depends_on: [{job: chain, run_date: -1}, {job: load, run_date: -1, on: done}]
  hand: {command: x, schedule: manual, criticality: high}
"""
CHANGED = JOBS.replace("max_wait: 2h", "max_wait: 3h").replace("db: 2, net: 3}", "db: 3, net: 2}", 1)
WITHOUT = "\n".join(line for line in JOBS.splitlines() if not line.strip().startswith(("clean:", "mail:", "hand:")))
CONFIGS = [JOBS, CHANGED, WITHOUT]
NAMES = ["tick", "load", "wide", "every", "report", "clean", "mail", "chain", "hand"]

OUTCOMES = st.builds(
    FakeResult,
    duration=st.sampled_from([timedelta(seconds=5), timedelta(minutes=4), timedelta(minutes=30)]),
    exit_code=st.sampled_from([0, 0, 1]),
    start_error=st.sampled_from([None, None, None, "no such file"]),
    ignores_term=st.booleans(),
)
ACTIONS = [
    "hold",
    "release",
    "force_start",
    "skip",
    "cancel",
    "mark_success",
    "mark_failed",
    "rerun",
    "downstream",
]


class Witness:
    """What the disk has, seen from the door: the store's batches as they are committed."""

    def __init__(self) -> None:
        self.running: set[tuple[str, int]] = set()
        self.killed: set[tuple[str, int]] = set()
        self.states: dict[str, RunState] = {}

    def committed(self, batch: Batch) -> None:
        for run in batch.runs:
            self.states[run.run_id] = run.state
        for attempt in batch.attempts:
            self.running.add((attempt.run_id, attempt.attempt))
            if attempt.kill_by is not None:
                self.killed.add((attempt.run_id, attempt.attempt))
        for run_id in batch.deleted_runs:
            self.states.pop(run_id, None)


class CheckedLauncher(FakeLauncher):
    """A launcher that asks the witness before it does anything."""

    def __init__(self, night: Night, witness: Witness) -> None:
        super().__init__(night.clock)
        self.night, self.witness = night, witness
        self.keys: Counter[str] = Counter()

    async def launch(self, spec: LaunchSpec) -> Any:
        assert (spec.run_id, spec.attempt) in self.witness.running, f"P1: {spec.run_id} started before it was on disk"
        assert self.witness.states[spec.run_id] is RunState.RUNNING
        self.keys[spec.key] += 1
        assert self.keys[spec.key] == 1, f"P2: attempt {spec.attempt} of {spec.run_id} was started twice"
        assert spec.run_id not in self.running, f"P2: {spec.run_id} has two live attempts"
        handle = await super().launch(spec)
        terminate = handle.terminate

        def checked(by: str, reason: str = "") -> None:
            if by == "kill":
                assert (spec.run_id, spec.attempt) in self.witness.killed, f"P1: {spec.run_id} killed unrecorded"
            terminate(by, reason)

        handle.terminate = checked  # type: ignore[method-assign]
        return handle


class EngineMachine(RuleBasedStateMachine):
    """Random operators, random time, random deaths."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp(prefix="machine"))
        self.witness = Witness()
        self.shown: dict[str, Run] = {}
        self.config = 0

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    @initialize(seed=st.integers(0, 3))
    def begin(self, seed: int) -> None:
        night = self.night = Night(
            self.folder, JOBS, at="2026-10-18T23:50Z", settings={"max_running": 4, "pool_patience": "20m"}
        )
        night.launcher = CheckedLauncher(night, self.witness)
        for n, name in enumerate(NAMES):
            night.plan(name, FakeResult(timedelta(minutes=1 + (n * seed) % 7), exit_code=int((n + seed) % 4 == 0)))
        self.do(night.engine.stop())
        self.do(self._open())

    async def _open(self) -> None:
        night = self.night
        night.engine = night._new_engine()
        self._watch(night.engine.store)
        night.engine.subscribe(self._see)
        await night.engine.start()
        await night.engine.settle()
        self._nothing_shown_was_lost()

    def _watch(self, store: Store) -> None:
        apply = store.apply

        def watched(batch: Batch) -> None:
            apply(batch)
            self.witness.committed(batch)

        store.apply = watched  # type: ignore[method-assign]

    def _see(self, run: Run) -> None:
        self.shown[run.run_id] = run

    def _nothing_shown_was_lost(self) -> None:
        for run_id, shown in self.shown.items():
            stored = self.night.engine.store.get_run(run_id)
            assert stored is not None, f"P3: {run_id} was shown and is gone"
            assert stored.attempt >= shown.attempt, f"P3: {run_id} forgot an attempt"

    # ------------------------------------------------------------- what happens

    @rule(seconds=st.sampled_from([1, 30, 60, 300, 1800, 7200]))
    def time_passes(self, seconds: int) -> None:
        self.do(self.night.go(timedelta(seconds=seconds)))

    @rule(job=st.sampled_from(NAMES), result=OUTCOMES)
    def attempts_will_go(self, job: str, result: FakeResult) -> None:
        self.night.plan(job, result)

    @rule(job=st.sampled_from(NAMES), back=st.integers(0, 2))
    def trigger(self, job: str, back: int) -> None:
        day = (self.night.clock.now() - timedelta(days=back)).date()
        self._act(self.night.engine.trigger(job, run_date=day, actor="ann"))

    @rule(job=st.sampled_from(NAMES), back=st.integers(0, 2))
    def backfill(self, job: str, back: int) -> None:
        today = self.night.clock.now().date()
        self._act(self.night.engine.backfill(job, start=today - timedelta(days=back), end=today, actor="ann"))

    @rule(pick=st.integers(0, 999), action=st.sampled_from(ACTIONS), of=st.sampled_from(["running", "open", "any"]))
    def act_on_a_run(self, pick: int, action: str, of: str) -> None:
        open_ids = {run.run_id for run in self.night.engine.book.open_runs()}
        groups = {"running": sorted(self.night.launcher.running), "open": sorted(open_ids), "any": sorted(self.shown)}
        if not groups[of]:
            return
        run_id = groups[of][pick % len(groups[of])]
        engine = self.night.engine
        if action == "downstream":
            self._act(engine.rerun(run_id, actor="ann", downstream=True))
        else:
            self._act(getattr(engine, action)(run_id, actor="ann"))

    @rule(pick=st.integers(0, 9))
    def kill_what_runs(self, pick: int) -> None:
        running = sorted(self.night.launcher.running)
        if running:
            self._act(self.night.engine.kill(running[pick % len(running)], actor="ann"))

    @rule(job=st.sampled_from([None, "load", "tick"]), catch_up=st.booleans())
    def pause_or_resume(self, job: str | None, catch_up: bool) -> None:
        engine = self.night.engine
        if engine.desk.pauses.get(job or "*") is None:
            self._act(engine.pause(job, actor="ann"))
        else:
            self._act(engine.resume(job, actor="ann", catch_up=catch_up))

    @rule(which=st.integers(0, 2))
    def reload(self, which: int) -> None:
        self.config = which
        self._act(self.night.reload(CONFIGS[which]))

    @rule(pick=st.integers(0, 9))
    def an_attempt_is_lost(self, pick: int) -> None:
        running = sorted(self.night.launcher.running)
        if running:
            self.night.launcher.lose(running[pick % len(running)])
        self.do(self.night.engine.settle())

    @rule(minutes=st.sampled_from([0, 1, 45, 200]), which=st.integers(0, 2))
    def crash_and_come_back(self, minutes: int, which: int) -> None:
        """Nothing is said, nothing is saved; the minders live on; the configuration may be another."""
        self.do(self.night.crash())
        self.do(self.night.clock.advance(timedelta(minutes=minutes)))
        self.night.write(CONFIGS[which])
        self.do(self._open())

    @rule(job=st.sampled_from(NAMES), action=st.sampled_from(["trigger", "reload", "fire"]), turns=st.integers(0, 12))
    def crash_in_the_middle(self, job: str, action: str, turns: int) -> None:
        """The engine dies some turns of the loop into whatever it was doing."""
        self.do(self._interrupted(job, action, turns))
        self.do(self._open())

    async def _interrupted(self, job: str, action: str, turns: int) -> None:
        engine = self.night.engine
        work: asyncio.Task[Any]
        if action == "trigger":
            work = asyncio.ensure_future(engine.trigger(job, actor="ann"))
        elif action == "reload":
            self.night.write(CONFIGS[1])
            work = asyncio.ensure_future(engine.reload(self.night.config(), actor="ann"))
        else:
            work = asyncio.ensure_future(self.night.clock.advance(timedelta(minutes=15)))
        for _ in range(turns):
            await asyncio.sleep(0)
        await self.night.crash()
        await asyncio.gather(work, return_exceptions=True)

    @rule(hours=st.sampled_from([-3, -1, 2, 30]))
    def the_wall_clock_is_stepped(self, hours: int) -> None:
        self.do(self.night.clock.step(timedelta(hours=hours)))
        self.do(self.night.engine.settle())

    @rule(hours=st.sampled_from([1, 10]))
    def the_machine_sleeps(self, hours: int) -> None:
        self.do(self.night.clock.suspend(timedelta(hours=hours)))
        self.do(self.night.engine.settle())

    def _act(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            self.do(work)
        except ActionError:
            pass  # refused, and that is an answer
        self.do(self.night.engine.settle())

    # ------------------------------------------------------------- what must hold

    @invariant()
    def the_engine_stands(self) -> None:
        if hasattr(self, "night"):
            assert self.night.engine.error is None

    @invariant()
    def one_run_for_each_due_instant(self) -> None:
        if not hasattr(self, "night"):
            return
        slots = Counter(
            (run.job, run.scheduled_at)
            for run in self.shown.values()
            if run.trigger.value in ("schedule", "catch_up", "backfill")
        )
        assert not [slot for slot, count in slots.items() if count > 1], "P2: two runs for one due instant"

    @invariant()
    def slots_and_pools_are_kept(self) -> None:
        if not hasattr(self, "night"):
            return
        engine = self.night.engine
        running = {run.run_id for run in engine.book.open_runs() if run.state is RunState.RUNNING}
        assert set(engine.admission.holders) == running
        for pool, used in engine.admission.in_use.items():
            assert used == sum(n for needs in engine.admission.holders.values() for name, n in needs if name == pool)
        assert running == set(self.night.launcher.running), "a run is running exactly while its attempt lives"

    @invariant()
    def the_book_shows_what_the_disk_has(self) -> None:
        if not hasattr(self, "night"):
            return
        for run in self.night.engine.book.open_runs():
            assert self.night.engine.book.published(run.run_id) == run
            assert self.witness.states[run.run_id] is run.state

    @rule()
    def every_open_run_has_an_answer(self) -> None:
        """P7: whatever stands open can say why, and what would release it."""
        for run in self.night.engine.book.open_runs():
            answer = self.do(explain(self.night.engine, run.job, run_id=run.run_id))
            assert answer.text
            assert answer.release
            assert answer.run is not None
            assert answer.run.state not in FINAL_STATES

    def teardown(self) -> None:
        if hasattr(self, "night"):
            self.every_open_run_has_an_answer()
            self.do(self.night.engine.stop())
        self.loop.close()
        shutil.rmtree(self.folder)


def test_the_engine_keeps_its_promises_under_random_events() -> None:
    """Thirty random nights of forty events; `HYPOTHESIS_PROFILE=wild` runs 400."""
    wild = settings.get_profile("wild") is settings.default
    run_state_machine_as_test(
        EngineMachine, settings=settings(max_examples=400 if wild else 30, stateful_step_count=40, deadline=None)
    )
