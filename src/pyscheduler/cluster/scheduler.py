"""`Scheduler`: a schedule on a store, in Python. DESIGN 6, "In Python too"; claims.md A3 to A5.

```python
schedule = Schedule(Task("report", "0 6 * * *", "./report.sh"))
scheduler = Scheduler(schedule, "state")            # a folder with a SQLite store, or a postgresql+psycopg:// address
scheduler.tick()                                    # one pass: what is due is claimed, run and recorded
scheduler.work()                                    # the same for ever, until stop()
```

What must always hold: all that matters is in the store, so any number of schedulers may have the same schedule, and one
that was stopped goes on as a fresh one would; each `tick` and each stretch of `work` is an incarnation of its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Final, TypeVar

from pyscheduler.cluster.agenda import Agenda
from pyscheduler.cluster.durations import seconds_of
from pyscheduler.cluster.ear import Ear
from pyscheduler.cluster.entering import Entrance, entrance
from pyscheduler.cluster.journal import Journal
from pyscheduler.cluster.leftovers import sweep
from pyscheduler.cluster.making import ASK_S, PATIENCE_S, Maker
from pyscheduler.cluster.orders import Work, works_of_tasks
from pyscheduler.cluster.performing import Hooks, Performer
from pyscheduler.cluster.reporting import BOUND_S, Reporter
from pyscheduler.cluster.schedule import Schedule
from pyscheduler.cluster.shift import MOST_CLAIMED, Shift, Wishes
from pyscheduler.cluster.status import TaskStatus, status_of
from pyscheduler.cluster.succession import Successor
from pyscheduler.cluster.tally import Tally, TaskFailed, Ticked
from pyscheduler.engine import machine
from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.ports import Clock
from pyscheduler.errors import BadSchedule, Conflict, NotFound, StoreError
from pyscheduler.model.run import RunState
from pyscheduler.store.claims import Cancelled, Claim, Timing, standing
from pyscheduler.store.hints import Hint

log = logging.getLogger(__name__)
T = TypeVar("T")

NAP_S: Final = 1.0
SHORTEST_S: Final = 0.01
SETBACK_S: Final = 0.1
"""The first pause after a question that the store has refused; each further one is twice as long, up to a nap."""
TIDY_S: Final = 3600.0
HINTED_S: Final = 1.0
"""How seldom the store is asked, at most, where hints are heard."""


class Scheduler:
    """One process's part in a schedule. `tick`, `work` and `stop` may be called from any thread, the first two in turn.

    `store` is the folder of a SQLite store, which is made, or the address of a PostgreSQL one; then `state_dir` names
    the folder for what this host needs besides (notes of attempts, journal, logs). `now` stands in for the database's
    clock when it is asked what is due; leases always go by the database's. `timing` is claims.md C3, checked. `node`
    is the name that lists show, `tags` what this host has that jobs ask for. Raises BadSchedule, StoreError.
    """

    def __init__(
        self,
        schedule: Schedule,
        store: str | os.PathLike[str],
        *,
        state_dir: str | os.PathLike[str] | None = None,
        now: Callable[[], datetime] | None = None,
        timing: Mapping[str, object] | None = None,
        node: str = "",
        tags: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
        works: Mapping[str, Work] | None = None,
        clock: Clock | None = None,
        outcome_bound_s: float = BOUND_S,
    ) -> None:
        self._schedule = schedule
        self._now = now
        self._environ = dict(os.environ if environ is None else environ)
        self._works = works
        self._clock = clock or SystemClock()
        self._entrance: Entrance = entrance(
            store, state_dir, schedule.reclaim_after_s, timing or {}, (node, *tags), self._clock
        )
        self._bound_s = outcome_bound_s
        self._boot_id = machine.boot_id()
        self._busy = threading.Lock()
        self._wish = threading.RLock()  # a signal may come while it is held
        self._stops = 0
        self._wishes: Wishes | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    # ----------------------------------------------------------------------- at work

    def tick(self, concurrent: bool = True, max_processes: int | None = None) -> Ticked:
        """Make one pass: claim every run that is due, run them all, record what became of each; returns the numbers.

        At most `max_processes` run at once (None: no bound); not `concurrent` means one after the other. The first
        look at a task only notes the time. When the pass is over, raises TaskFailed where a run failed (`.ticked` has
        the numbers), else StoreError where the store could not be reached.
        """
        slots = _slots(max_processes) if concurrent else 1
        ticked = self._run(lambda: self._tick(slots))
        if ticked.failures:
            failure = ticked.failures[0]
            failure.ticked = ticked
            raise failure
        return ticked

    def work(self, sleep: float = NAP_S, max_processes: int | None = None) -> Ticked:
        """Make passes until `stop()`; returns the numbers of all. A failed run is logged and ends nothing.

        `sleep` is the longest wait between two looks for something due, in seconds. A store out of reach is waited for.
        """
        seconds_of(sleep, "The sleep")
        slots = _slots(max_processes)
        return self._run(lambda: self._work(slots, sleep))

    def stop(self) -> None:
        """Stop the pass or the loop: what is claimed and not started is given back, what runs is waited for.

        Called a second time: what runs is left to its minders, and its end is recorded by the next scheduler of this
        host. Before a `tick` or `work` has begun it stops the next one at once.
        """
        with self._wish:
            self._stops += 1
            if self._loop is not None:
                with suppress(RuntimeError):  # its loop is closed: it was just over
                    self._loop.call_soon_threadsafe(self._pass_on)

    def _pass_on(self) -> None:
        if self._wishes is not None:
            if self._stops:
                self._wishes.stop.set()
            if self._stops > 1:
                self._wishes.leave.set()

    # ----------------------------------------------------------------------- looking

    @property
    def next_run(self) -> datetime | None:
        """When the next run is due: one that waits to be claimed, or the next date of a task. Raises StoreError."""
        with self._entrance.looking() as claims:
            marks = claims.marks(self.works)
            found = standing.standings(claims.door, self.works)
            now = self._now() if self._now is not None else claims.now()
        waiting = [run.scheduled_at for each in found.values() for run in each.open if run.owner is None]
        coming = [work.trigger.next(marks.until(name) or now) for name, work in self.works.items()]
        return min([*waiting, *(firing.scheduled_at for firing in coming if firing is not None)], default=None)

    def cancel(self, run_id: str, *, by: str, reason: str = "") -> bool:
        """Call a run off, whoever has it (S15): one that waits is over at once, one that runs is stopped by its owner.

        True where that is decided now, False where the run had ended before. A run whose owner dies first stays called
        off. The logbook says who it was (`by`). Raises NotFound, StoreError, and Conflict where the run was made by
        `pysched serve`.
        """
        with self._entrance.looking() as claims:
            answer = claims.call_off(run_id, by, reason)
        if answer is Cancelled.UNKNOWN:
            raise NotFound(f"there is no run {run_id}", mend="`standing` tells of the open runs of a task")
        if answer is Cancelled.ENGINE:
            raise Conflict(
                f"{run_id} was made by `pysched serve`", mend="ask that one: `pysched cancel`, `pysched kill`"
            )
        return answer is not Cancelled.FINAL

    def status(self, task: str) -> TaskStatus | None:
        """Return what became of the newest run of a task, None where none was handed out. Raises StoreError."""
        found = self.standing(task)
        owned = [run for run in found.open if run.owner is not None]
        if owned:
            return status_of(owned[-1].state, is_owned=True)
        return None if found.last is None else status_of(found.last.state, is_owned=False)

    def standing(self, task: str) -> standing.Standing:
        """Return the last outcome, the last success, and who has what is open of a task. Raises StoreError."""
        with self._entrance.looking() as claims:
            return standing.standings(claims.door, (task,))[task]

    @property
    def works(self) -> Mapping[str, Work]:
        """The tasks as they are run."""
        if self._works is not None:
            return self._works
        return works_of_tasks(
            tuple(self._schedule),
            state_dir=self._entrance.state_dir,
            environ=self._environ,
            boot_id=self._boot_id,
            latest_only=self._schedule.latest_only,
        )

    # ----------------------------------------------------------------------- one pass

    async def _tick(self, slots: int | None) -> Ticked:
        async with self._shift(slots, adopts=False) as (shift, performer, successor):
            await successor.look()
            await sweep(shift, performer.launcher, self._entrance.state_dir)
            now = self._now() if self._now is not None else await shift.call(shift.claims.now)
            maker = self._maker(shift, PATIENCE_S, watches=False)
            while not shift.is_over and shift.tally.trouble is None:
                made = await shift.call(lambda: maker.make(now))
                for _ in range(made.skipped):
                    shift.tally.end(TaskStatus.SKIPPED)
                shift.tally.held_off = made.held_off
                if made.held_off:
                    log.warning("%s: what is due is left to the next pass", made.held_off)
                due = await self._claim_all(shift)
                if not due:
                    break
                await shift.run(due, performer.perform)
            return self._settled(shift.tally)

    def _settled(self, tally: Tally) -> Ticked:
        """Return the numbers of a pass that is over. Raises StoreError where something could not be begun."""
        if tally.trouble is not None and not tally.failures:
            raise tally.trouble
        return tally.ticked()

    async def _claim_all(self, shift: Shift) -> list[Claim]:
        """Claim everything that is due before any of it starts; at one instant in the order of declaration."""
        due: list[Claim] = []
        await shift.vouched_for()
        while (found := await shift.claim(MOST_CLAIMED)) or not (due or shift.heart.trusted or shift.is_over):
            due += found
            if not found:
                await shift.vouched_for()
        return sorted(due, key=shift.turn_of)

    # ----------------------------------------------------------------------- the loop

    async def _work(self, slots: int | None, sleep_s: float) -> Ticked:
        tally = Tally()
        assert self._wishes is not None
        while not self._wishes.stop.is_set():
            try:
                async with self._shift(slots, adopts=True, tally=tally) as (shift, performer, successor):
                    await self._loop_of(shift, performer, successor, sleep_s)
            except StoreError as error:
                log.warning("the store cannot be used: %s; it is tried again", error)
                await _either(self._wishes.stop, NAP_S)
        return tally.ticked()

    async def _loop_of(self, shift: Shift, performer: Performer, successor: Successor, sleep_s: float) -> None:
        agenda = Agenda(shift, self._maker(shift, ASK_S, watches=True), self._now, sleep_s)
        ear = Ear(self._entrance.hints(), lambda hints: _hear(shift, agenda, hints))
        look_at, tidy_at, sweep_s, floor_s = 0.0, 0.0, shift.claims.timing.sweep_s, SHORTEST_S
        try:
            while not shift.is_over:
                shift.changed.clear()
                boot = self._clock.boottime()
                if shift.has_ended:
                    shift.has_ended = False
                    agenda.ended()
                try:
                    if boot >= look_at:
                        await successor.look()
                        look_at = boot + sweep_s
                    if boot >= tidy_at:
                        await sweep(shift, performer.launcher, self._entrance.state_dir)
                        tidy_at = boot + TIDY_S
                    await agenda.look()
                    for claim in await shift.claim(shift.free):
                        shift.begin(claim, performer.perform)
                except StoreError as error:
                    log.warning("the store cannot be reached: %s", error)
                    successor.forget()
                    floor_s = min(NAP_S, max(SETBACK_S, 2 * floor_s))
                else:
                    floor_s = SHORTEST_S
                longest_s = max(sleep_s, HINTED_S) if ear.listening else sleep_s
                await _either(shift.changed, max(floor_s, min(longest_s, agenda.left_s)))
        finally:
            await shift.call(ear.close)
        await shift.give_back(list(shift.grants.claimed.values()), await self._still_offered(shift))
        await shift.settle()

    async def _still_offered(self, shift: Shift) -> int:
        """Return how many due runs of ours nobody has claimed."""
        try:
            found = await shift.call(lambda: standing.standings(shift.claims.door, shift.works))
        except StoreError:
            return 0
        return sum(run.owner is None and run.state is RunState.QUEUED for each in found.values() for run in each.open)

    # ----------------------------------------------------------------------- around both

    def _run(self, work: Callable[[], Coroutine[object, object, Ticked]]) -> Ticked:
        if not self._busy.acquire(blocking=False):
            raise Conflict("this scheduler is at work already", mend="make another one on the same store")
        try:
            return asyncio.run(self._with_wishes(work))
        finally:
            with self._wish:
                self._stops, self._loop, self._wishes = 0, None, None
            self._busy.release()

    async def _with_wishes(self, work: Callable[[], Coroutine[object, object, Ticked]]) -> Ticked:
        with self._wish:
            self._wishes, self._loop = Wishes(), asyncio.get_running_loop()
            self._pass_on()
        return await work()

    @asynccontextmanager
    async def _shift(
        self, slots: int | None, *, adopts: bool, tally: Tally | None = None
    ) -> AsyncIterator[tuple[Shift, Performer, Successor]]:
        assert self._wishes is not None
        launcher = MinderLauncher()
        claims = await asyncio.to_thread(self._entrance.enter)
        journal = None
        try:
            journal = Journal.begin(self._entrance.state_dir, claims.me.inc_id, self._boot_id)
            reporter = Reporter(claims, journal, self._clock.boottime, bound_s=self._bound_s)
            shift = Shift(self.works, claims, self._clock, self._wishes, slots=slots)
            if tally is not None:
                shift.tally = tally
            performer = Performer(shift, launcher, reporter, Hooks(self._schedule.before, self._schedule.after))
            place = self._entrance.state_dir
            successor = Successor(shift, performer, self._entrance.evidence, place, self._boot_id, adopts=adopts)
            await shift.open()
            try:
                yield shift, performer, successor
            finally:
                is_told = not reporter.behind
                await reporter.close()
                await shift.close(is_told=is_told)
        finally:
            if journal is not None:
                journal.close()
            await launcher.close()
            await asyncio.to_thread(claims.close)

    def _maker(self, shift: Shift, patience_s: float, *, watches: bool) -> Maker:
        evidence, boot = self._entrance.evidence, self._clock.boottime
        kept_s = self._schedule.retention_s
        return Maker(
            shift.claims, shift.works, evidence, boot, patience_s=patience_s, watches=watches, retention_s=kept_s
        )


def _slots(given: object) -> int | None:
    """Return how many may run at once. Raises BadSchedule."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise BadSchedule("The number of processes must be a whole number of 1 or more.")
    return given


def _hear(shift: Shift, agenda: Agenda, hints: frozenset[Hint]) -> None:
    """Look at once at what a hint tells of."""
    if Hint.ASKED in hints:
        shift.heart.hurry()
    if Hint.NEWS in hints:
        agenda.ended()
    if Hint.FREE in hints:
        agenda.freed()
    if Hint.OFFERED in hints or not agenda.left_s:
        shift.changed.set()


async def _either(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, so many seconds at most."""
    waiting = asyncio.ensure_future(event.wait())
    await asyncio.wait((waiting,), timeout=seconds)
    waiting.cancel()


__all__ = ["Scheduler", "TaskFailed", "Ticked", "Timing"]
