"""The conductor: an event comes in, the desk decides, the store remembers, the book shows, and only then it is done.

One asyncio task set in one process. The engine itself holds no rule: it ties the desk (decisions), the trips (to the
store and back), the firing task, the attempts and the timers together, and fails stop when the store cannot remember
or a decision proves impossible: nothing more is created or started, unsaved changes are rolled back to their
published copies, minders are left alone, `error` says why and `wait_failed` returns. The next engine on the same
store carries on from what is on disk. Spec: jobs.md 10.1, seed 004, DESIGN 3.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from datetime import date, datetime
from typing import Final, TypeVar

from pyscheduler import collector
from pyscheduler.config import Config
from pyscheduler.engine.attempts import Attempts
from pyscheduler.engine.book import Day, RunBook
from pyscheduler.engine.controls import Controls
from pyscheduler.engine.deadlines import Deadlines
from pyscheduler.engine.desk import Desk
from pyscheduler.engine.firings import Firings
from pyscheduler.engine.listeners import Listeners
from pyscheduler.engine.machine import boot_id
from pyscheduler.engine.offers import Offers
from pyscheduler.engine.orders import Orders
from pyscheduler.engine.perform import Performer
from pyscheduler.engine.ports import AttemptHandle, Clock, Launcher, Offering
from pyscheduler.engine.prune import Pruner
from pyscheduler.engine.recall import Recall
from pyscheduler.engine.reopen import reopen, work_off
from pyscheduler.engine.silence import Silence
from pyscheduler.engine.tray import Load
from pyscheduler.engine.trips import Trips
from pyscheduler.errors import EngineFailedError, StoreError, Unavailable
from pyscheduler.model.alert import Raised
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Attempt, Run, RunState
from pyscheduler.rules.admission import Admission, ReadyQueue
from pyscheduler.store import Store, StoreWriter

log = logging.getLogger(__name__)

STARTS_A_TURN: Final = 16
OFFERS_A_TURN: Final = 64
TICK_S: Final = 60.0
PID_DELAY_S: Final = 0.25
"""How long a minder's pid may wait for another trip to travel with."""
LAUNCH_PATIENCE_S: Final = 5.0
KILL_PATIENCE_S: Final = 15.0
SETTLE_TURNS: Final = 10_000
QUIET_TURNS: Final = 3

T = TypeVar("T")


class Engine(Controls):
    """The scheduler's engine on one store. Bound to the loop it is started on; started and stopped once."""

    def __init__(
        self,
        config: Config,
        store: Store,
        *,
        clock: Clock,
        launcher: Launcher,
        environ: Mapping[str, str] | None = None,
        tick_s: float = TICK_S,
    ) -> None:
        self.store, self.clock, self.launcher = store, clock, launcher
        self.writer = StoreWriter(store)
        self.desk = Desk(config, 1, clock.now, self.fail_stop)
        self.error: BaseException | None = None
        self.closing = False
        self.being_pruned: set[str] = set()
        self.catch_up_held: tuple[datetime, datetime] | None = None
        self.listeners = Listeners()
        self.environ = dict(os.environ if environ is None else environ)
        self.boot_id = boot_id()
        self.orders = Orders(config, 1, self.environ, self.boot_id)
        self.offers = Offers(self, launcher) if isinstance(launcher, Offering) else None
        """Set where attempts are run by the nodes of a cluster."""
        self.attempts = Attempts(launcher, clock, self._attempt_ended, self._attempt_changed, self.fail_stop)
        self.performer = Performer(self.desk, clock, launcher, self.attempts, spawn=self._task, on_wake=self._rung)
        self.deadlines = Deadlines(self.desk, clock, lambda run_id: self._alarm(lambda: self.deadlines.ring(run_id)))
        self.silence = Silence(self.desk, clock, lambda job: self._alarm(lambda: self.silence.ring(job)))
        self.recall = Recall(self.desk, store)
        self.trips = Trips(self.writer, self._arrived, self.fail_stop)
        self.firings = Firings(
            self.desk,
            clock,
            load_days=self.recall.load_days,
            instants_with_runs=self.recall.instants_with_runs,
            proceed=self.proceed,
            tick_s=tick_s,
        )
        self.pruner = Pruner(self)
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy = 0
        self._failed = asyncio.Event()
        self._opened = asyncio.Event()
        self._granting = self._given_up = False
        self._pid_trip: asyncio.TimerHandle | None = None

    # ----------------------------------------------------------------- what others see

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self.desk.config

    @property
    def config_version(self) -> int:
        """The version of the configuration in force."""
        return self.desk.version

    @property
    def book(self) -> RunBook:
        """The runs in memory."""
        return self.desk.book

    @property
    def admission(self) -> Admission:
        """The slots and pools in use."""
        return self.desk.admission

    @property
    def ready(self) -> ReadyQueue:
        """The runs that start as soon as there is room."""
        return self.desk.ready

    @property
    def rows_are_owned(self) -> bool:
        """Whether the row of a running run belongs to the node that runs it."""
        return self.offers is not None

    def subscribe(self, listener: Callable[[Run], None]) -> Callable[[], None]:
        """Hear of every run whose change is on disk; returns how to stop. A listener that raises is logged."""
        return self.listeners.runs.add(listener)

    def watch_attempts(self, listener: Callable[[Attempt], None]) -> Callable[[], None]:
        """Hear of every attempt's start and end row once it is on disk."""
        return self.listeners.attempts.add(listener)

    def watch_alerts(self, listener: Callable[[tuple[Raised, ...]], None]) -> Callable[[], None]:
        """Hear of alerts once they are on disk, with those who are to tell of them; returns how to stop."""
        return self.listeners.alerts.add(listener)

    def watch_reloads(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Hear of every reload that changed something."""
        return self.listeners.reloads.add(lambda _version: listener())

    def before_close(self, hook: Callable[[], Awaitable[None]]) -> Callable[[], None]:
        """Be awaited in `stop` before the writer closes."""
        return self.listeners.closes.add(hook)

    # ----------------------------------------------------------------- life

    async def start(self) -> None:
        """Recover, catch up, commit all of it in one flush, and only then launch and ring.

        Raises EngineFailedError when the store failed on the way, StoreError when it could not be read.
        """
        self.writer.start()
        try:
            with collector.at_rest():
                await reopen(self)
        except BaseException as error:
            self.fail_stop(error)
            raise
        if self.error is not None:
            raise EngineFailedError("the engine failed while starting", mend="see the cause") from self.error
        self._opened.set()
        if self.offers is not None:
            self.offers.open()
        self._task(self.firings.run, "firings")
        self._task(self.pruner.run, "pruner")

    def give_up(self) -> bool:
        """Grant nothing from here on, though the start still goes on; what has it cancelled loses nothing.

        False where its first changes are on their way to the disk: then its end is better waited for.
        """
        self._given_up = True
        return not self._busy

    async def stop(self, *, kill_running: bool = False) -> None:
        """Stop creating and starting, let launches under way finish, close the store. Running attempts go on.

        With `kill_running` they are ended at once and their ends are written down. Idempotent.
        """
        if self.closing:
            return
        self.closing = True
        if self.offers is not None:
            self.offers.close()
        await self._cancel_tasks()
        self._stop_timers()
        await self.attempts.settle_launches(LAUNCH_PATIENCE_S)
        if kill_running:
            await self.attempts.kill_all(KILL_PATIENCE_S)
        await self.attempts.let_go()
        await self._last_trip()
        for hook in self.listeners.closes:
            await hook()
        await self.writer.close()
        await asyncio.to_thread(self.store.close)

    def _stop_timers(self) -> None:
        for timers in (self.performer, self.deadlines, self.silence):
            timers.stop()

    async def _cancel_tasks(self) -> None:
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _last_trip(self) -> None:
        if self._pid_trip is not None:
            self._pid_trip.cancel()
        if not self._opened.is_set():
            self.desk.tray.take()  # half a recovery is none: the next start does it whole
        if self.error is None:
            self.desk.write_pids()
            try:
                await asyncio.shield(self.trips.carry(self.desk.tray))
            except Exception as error:  # noqa: BLE001 - fail_stop has it; a stop still has to close everything
                log.warning("the last changes could not be saved: %s", error)

    def fail_stop(self, error: BaseException) -> None:
        """Stop deciding and starting for good, because of `error`. What runs goes on under its minders."""
        if self.error is not None or isinstance(error, asyncio.CancelledError):
            return
        self.error = error
        traceback = None if isinstance(error, StoreError) else error  # a full disk is no bug: one line says it all
        log.critical("the engine has failed stop: %s", error, exc_info=traceback)
        self._stop_timers()
        if self.offers is not None:
            self.offers.close()
        self.trips.fail(error)
        self.desk.tray.take()
        self.desk.book.restore()
        for task in self._tasks:
            task.cancel()
        self._failed.set()

    async def wait_failed(self) -> BaseException:
        """Return the cause once the engine has failed stop."""
        await self._failed.wait()
        assert self.error is not None
        return self.error

    def check_usable(self) -> None:
        """Raise Unavailable where the engine takes no action (any more)."""
        if self.error is not None:
            raise Unavailable("scheduler failed; see the scheduler log", mend="it opens its store again by itself")
        if self.closing or not self._opened.is_set():
            word = "stopping" if self.closing else "starting"
            raise Unavailable(f"scheduler is {word}", mend="ask again in a moment")

    def _task(self, work: Callable[[], Awaitable[None]], name: str) -> asyncio.Task[None]:
        """Start a task whose failure stops the engine."""

        async def guarded() -> None:
            try:
                await work()
            except Exception as error:  # noqa: BLE001 - every failure of the engine's own work is fail-stop
                self.fail_stop(error)

        task = asyncio.get_running_loop().create_task(guarded(), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # ----------------------------------------------------------------- decide, remember, show, do

    async def proceed(self) -> None:
        """Work off what the latest decisions lead to, and return when all of it is on disk, shown and begun."""
        self._busy += 1
        try:
            await work_off(self.desk)
            self.grant()
            await asyncio.shield(self.trips.carry(self.desk.tray))
        finally:
            self._busy -= 1

    def grant(self) -> None:
        """Let queued runs start, at most 16 a turn of the loop; the rest follow in the next turns."""
        if self.closing or self._given_up or self.error is not None:
            return
        if self.offers is not None:
            granted = self.desk.offer(OFFERS_A_TURN)
        else:
            orders = self.desk.grant(self.orders, new_key, random.random, STARTS_A_TURN)
            for order in orders:
                if order.spec is not None:
                    self.performer.keep(order.spec)
            granted = len(orders)
        if granted and not self._granting:
            self._granting = True
            asyncio.get_running_loop().call_soon(self._grant_more)

    def _grant_more(self) -> None:
        self._granting = False
        if self.error is None and not self.closing:
            try:
                self.grant()
            except Exception as error:  # noqa: BLE001 - half a grant: slots are taken for runs that stand in no line
                self.fail_stop(error)
                return
            if not self.desk.tray.is_empty:
                self._task(self.proceed, "proceed")

    def carry(self) -> None:
        """Bring what was decided to the disk, and what follows, beside the loop's present turn."""
        self._task(self.proceed, "proceed")

    def _arrived(self, load: Load) -> None:
        """Show what is on disk now, tell of it, and do what it asks for."""
        for run in load.runs:
            self.desk.book.publish(run)
        for attempt in load.attempts:
            self.listeners.attempts.tell(attempt)
        for run in load.runs:
            self.listeners.runs.tell(run)
            self.deadlines.follow(run)
            self.silence.follow(run)
        if load.alerts:
            self.listeners.alerts.tell(load.alerts)
        for effect in load.effects:
            self.performer.perform(effect)
        if self.offers is not None and any(run.offered_at is not None for run in load.runs):
            self.offers.hint()

    async def look_at_offered(self) -> None:
        """Take over what nodes have made of the runs that are offered, before anything is said or done about them."""
        if self.offers is not None:
            await self.offers.look()

    async def take_back(self, run_ids: Collection[str] | None = None) -> set[str]:
        """End what is offered and not claimed, None for all of it; returns the runs that stand in line again."""
        return set() if self.offers is None else await self.offers.take_back(run_ids)

    def _alarm(self, ring: Callable[[], None]) -> None:
        """Raise what a deadline that has passed asks for."""

        async def work() -> None:
            await self._opened.wait()
            ring()
            await self.proceed()

        self._task(work, "alarm")

    def _rung(self, run_id: str) -> None:
        self._task(lambda: self._wake(run_id), f"wake {run_id}")

    async def _wake(self, run_id: str) -> None:
        await self._opened.wait()
        self.desk.wake(run_id)
        await self.proceed()

    # ----------------------------------------------------------------- attempts

    async def _attempt_ended(self, run_id: str, number: int, result: AttemptResult) -> None:
        await self._opened.wait()
        if self.error is not None:
            return
        try:
            self.desk.end_attempt(run_id, number, result, random.random())
            await self.proceed()
        except Exception as error:  # noqa: BLE001 - a lost ending would be a run that never ends
            self.fail_stop(error)

    def _attempt_changed(self, run_id: str, number: int, handle: AttemptHandle) -> None:
        """Write the minder's pid down: with a remark on the next trip, alone a little later."""
        attempt = self.desk.latest_attempt(run_id)
        if self.error is not None or attempt is None or attempt.attempt != number:
            return
        run = self.desk.book.get(run_id)
        if run is not None and run.state is RunState.RUNNING:
            self.desk.note_handle(run, attempt, handle.pid, handle.remark)
            if self._pid_trip is None:
                self._pid_trip = asyncio.get_running_loop().call_later(PID_DELAY_S, self._carry_pids)

    def _carry_pids(self) -> None:
        self._pid_trip = None
        if self.error is None and not self.closing:
            self.desk.write_pids()
            self.trips.carry(self.desk.tray)

    # ----------------------------------------------------------------- memory

    async def load_days(self, days: Iterable[Day]) -> None:
        """Bring the runs of these days, and of all days they are decided by or decide, into memory."""
        await self.recall.load_days(days)

    async def load_exactly(self, days: Iterable[Day]) -> None:
        """Bring the runs of just these days into memory."""
        await self.recall.load_exactly(days)

    async def shown(self, run: Run) -> Run:
        """Return a run that was saved, as it is now; one of an old day may be out of memory. Raises StoreError."""
        return self.book.published(run.run_id) or await asyncio.to_thread(self.store.get_run, run.run_id) or run

    def memory_start(self) -> date:
        """Return the oldest run date that is fully in memory."""
        return self.book.memory_start

    async def prune(self, now: datetime) -> int:
        """Delete what is older than the retention; returns how many runs went."""
        return await self.pruner.prune(now)

    # ----------------------------------------------------------------- for tests

    async def settle(self) -> None:
        """Return once nothing is left to do without time passing or a process ending.

        RuntimeError after 10,000 turns of the loop; waiting for the disk does not count as a turn.
        """
        quiet = 0
        for _ in range(SETTLE_TURNS):
            if not self.trips.idle:
                await asyncio.wait([self.trips.last()])
            quiet = 0 if self._is_busy() else quiet + 1
            if quiet > QUIET_TURNS:
                return
            await asyncio.sleep(0 if quiet else 0.0002)
        raise RuntimeError("the engine does not come to rest")

    def _is_busy(self) -> bool:
        """Whether something will still be decided, saved or begun without time passing."""
        if self.error is not None:
            return False
        ringing = self.firings.ringing or self.firings.stirred
        return not self.trips.idle or bool(self._busy or self._granting or self.attempts.launching or ringing)


def new_key() -> str:
    """Return a fresh attempt key: 16 hex digits, random."""
    return secrets.token_hex(8)
