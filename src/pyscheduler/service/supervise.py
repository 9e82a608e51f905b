"""Keeping an engine on the store: the engine fails stop, the service stays. DESIGN 3, "Fail-stop".

One engine after the other is opened on the same store, until the service stops. When one fails, or cannot be opened,
it is closed whole (its launches have returned or are called off, its writer's thread has ended, its store is closed)
before the next is tried: after 1 s, doubling to 30 s, or to 5 s where the store is out of reach or out of room, for
as long as that lasts. The launcher belongs to the service and outlives them all, so the next engine adopts what runs.

Only what no waiting can mend ends the service: a damaged store or a foreign one, at any time; one that another
process holds when we begin; any failure with `exit_on_failure`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from pyscheduler import collector
from pyscheduler.api.host import Phase, Standing
from pyscheduler.config import Config
from pyscheduler.engine.core import Engine
from pyscheduler.engine.ports import Clock
from pyscheduler.errors import (
    AuthorityLost,
    EngineFailedError,
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreLocked,
    StoreUnavailable,
    Unavailable,
)
from pyscheduler.service.relay import NOBODY_LEADS, SOON, STANDS_BY
from pyscheduler.service.ways import Way, Ways

log = logging.getLogger(__name__)

FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 30.0
LONGEST_OUT_OF_REACH_S: Final = 5.0
STEADY_S: Final = 60.0
"""After running this long an engine's failure is a new trouble: the next wait is the first one again."""


class Patience:
    """How long to wait before the next try."""

    def __init__(self) -> None:
        self._next_s = FIRST_WAIT_S

    def after(self, error: BaseException, ran_s: float) -> float:
        """Return the seconds to wait after a failure of an engine that had run for `ran_s`."""
        if ran_s >= STEADY_S:
            self._next_s = FIRST_WAIT_S
        longest = LONGEST_OUT_OF_REACH_S if isinstance(root_of(error), StoreUnavailable) else LONGEST_WAIT_S
        wait_s = min(self._next_s, longest)
        self._next_s = min(self._next_s * 2, LONGEST_WAIT_S)
        return wait_s


class Supervisor:
    """Keeps an engine on one store. `on_open` is called with each that has started, before it is shown.

    `leaving` says that our end was asked for: no store is opened any more, and no engine. One that runs goes on until
    `stop`, for requests under way.
    """

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock,
        ways: Ways,
        environ: Mapping[str, str],
        leaving: asyncio.Event,
        stop: asyncio.Event,
        hurry: asyncio.Event,
        exit_on_failure: bool,
        on_open: Callable[[Engine], None],
        on_change: Callable[[Standing], None],
    ) -> None:
        self._config, self._state_dir = config, config.settings.state_dir
        self._clock, self._ways, self._environ = clock, ways, environ
        self._leaving, self._stop, self._hurry = leaving, stop, hurry
        self._exit_on_failure = exit_on_failure
        self._on_open, self._on_change = on_open, on_change
        self._engine: Engine | None = None
        self._way: Way | None = None
        self._handing_over = asyncio.Event()
        self._held_store = False
        self._cut_off: StoreError | None = None
        self.standing = Standing(Phase.STARTING, clock.now())

    @property
    def state_dir(self) -> Path:
        """Where the store lies: for life, whatever a reload says."""
        return self._state_dir

    def engine(self) -> Engine:
        """Return the engine that runs. Raises Unavailable."""
        if self._engine is None or self.standing.phase is not Phase.RUNNING:
            raise self._unavailable()
        return self._engine

    def _unavailable(self) -> Unavailable:
        if self.standing.phase is Phase.FAILED:
            mend = f"it opens its store again by itself ({self.standing.trouble})"
            return Unavailable("scheduler failed; see the scheduler log", mend=mend)
        if self.standing.phase is Phase.STANDBY:
            if self._cut_off is not None:
                return Unavailable(f"this scheduler's store is out of reach: {self._cut_off}", mend=SOON)
            return Unavailable(f"{STANDS_BY}: {self.standing.trouble}", mend="ask the one that leads")
        return Unavailable(f"scheduler is {self.standing.phase}", mend="ask again in a moment")

    # ----------------------------------------------------------------- lives

    async def run(self) -> int:
        """Keep an engine open until a stop is wished for; returns the exit code."""
        patience = Patience()
        while not self._leaving.is_set():
            began = self._clock.monotonic()
            error = await self._one_life()
            if error is None:
                break
            if self._is_last(error):
                return 1
            if isinstance(root_of(error), AuthorityLost):
                continue
            wait_s = patience.after(error, self._clock.monotonic() - began)
            log.warning("the next try to open the store is in %.0f s", wait_s)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), wait_s)
        return 0

    async def _one_life(self) -> BaseException | None:
        """Open an engine and keep it until it fails (returns why) or a stop is wished for (returns None)."""
        try:
            engine = await self._open()
        except Exception as error:  # noqa: BLE001 - whatever it is, the next try or the exit follows
            self._trouble(error)
            return error
        if engine is None:
            return None
        try:
            self._on_open(engine)
            self._engine = engine
            self._stand(Phase.RUNNING, self.standing.trouble)
            failure = await self._until_over(engine)
            if failure is None:
                self._stand(Phase.STOPPING, "")
            else:
                self._trouble(failure)
            return failure
        finally:
            self._config, self._engine = engine.config, None
            await self._close(engine)

    async def _until_over(self, engine: Engine) -> BaseException | None:
        failing = asyncio.create_task(engine.wait_failed())
        stopping = asyncio.create_task(self._stop.wait())
        handing = asyncio.create_task(self._handing_over.wait())
        keeping = self._way.keeping if self._way is not None else None
        if keeping is not None:
            keeping.add_done_callback(lambda lost: _step_down(engine, lost))
        try:
            await asyncio.wait((failing, stopping, handing), return_when=asyncio.FIRST_COMPLETED)
            if handing.done() and not failing.done() and not stopping.done():
                self._handing_over.clear()
                return AuthorityLost("it was handed over by request")
            return failing.result() if failing.done() else None
        finally:
            for each in (failing, stopping, handing):
                each.cancel()

    async def _open(self) -> Engine | None:
        """Return an engine that has started; None where a stop was wished for meanwhile. Raises why not."""
        way = await self._ways.open(self._config)
        if way is None:
            return None
        self._way, self._held_store = way, True
        self._handing_over.clear()  # a wish that came while the last engine closed has been granted with it
        if self._leaving.is_set():
            await asyncio.to_thread(way.store.close)
            await self._let_go()
            return None
        if self.standing.phase is Phase.STANDBY:
            self._stand(Phase.STARTING, "")
        try:
            engine = Engine(way.config, way.store, clock=self._clock, launcher=way.launcher, environ=self._environ)
        except BaseException:
            await asyncio.to_thread(way.store.close)
            await self._let_go()
            raise
        try:
            if await self._start(engine):
                return engine
        except BaseException:
            await self._close(engine)
            raise
        await self._close(engine)
        return None

    async def _close(self, engine: Engine) -> None:
        await close(engine, self._hurry)
        await self._let_go()

    async def _let_go(self) -> None:
        way, self._way = self._way, None
        if way is not None:
            await self._ways.close(way)

    def hand_over(self) -> None:
        """Let another scheduler lead: close the engine as a stop would, and stand by."""
        self._handing_over.set()

    def stand_by(self, leader: str, cut_off: StoreError | None = None) -> None:
        """Another scheduler of the store leads, or it cannot be asked (`cut_off` says why): wait for its end."""
        self._cut_off = cut_off
        who = f"{leader} leads" if leader else NOBODY_LEADS
        if cut_off is not None:
            who = f"its store is out of reach: {cut_off}"
        log.info("standing by: %s", who)
        self._stand(Phase.STANDBY, who)

    async def _start(self, engine: Engine) -> bool:
        """Start an engine; False where that was given up because our end was asked for."""
        starting = asyncio.create_task(engine.start())
        leaving, hurry = (asyncio.create_task(each.wait()) for each in (self._leaving, self._hurry))
        try:
            await asyncio.wait((starting, leaving, hurry), return_when=asyncio.FIRST_COMPLETED)
            if not starting.done() and not engine.give_up():
                await asyncio.wait((starting, hurry), return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                starting.cancel()
                await asyncio.wait((starting,))
                return False
            await starting
            return not self._leaving.is_set()
        finally:
            for each in (leaving, hurry, starting):
                each.cancel()

    # ----------------------------------------------------------------- how it stands

    def _trouble(self, error: BaseException) -> None:
        root = root_of(error)
        text = f"{root}" if str(root) else type(root).__name__
        if isinstance(root, AuthorityLost):
            log.warning("this scheduler leads no longer: %s", text)
            self._stand(Phase.STANDBY, text)
            return
        log.error("the scheduler cannot work: %s", text)
        phase = Phase.STARTING if self._never_ran else Phase.FAILED
        self._stand(phase, text, failures=self.standing.failures + 1)

    @property
    def _never_ran(self) -> bool:
        return self.standing.phase is Phase.STARTING

    def _stand(self, phase: Phase, trouble: str, failures: int | None = None) -> None:
        failures = self.standing.failures if failures is None else failures
        self.standing = Standing(phase, self._clock.now(), trouble, failures)
        self._on_change(self.standing)

    def _is_last(self, error: BaseException) -> bool:
        """Whether no further try is made."""
        root = root_of(error)
        if isinstance(root, StoreDamaged | StoreForeign) or self._exit_on_failure:
            return True
        return isinstance(root, StoreLocked) and not self._held_store


def _step_down(engine: Engine, lost: asyncio.Task[str]) -> None:
    """The store is ours no longer: what was not saved under it never will be."""
    if not lost.cancelled():
        why = lost.result() if lost.exception() is None else str(lost.exception())
        engine.fail_stop(AuthorityLost(why, mend="the scheduler that leads now goes on with it"))


def root_of(error: BaseException) -> BaseException:
    """Return what made an engine fail."""
    while isinstance(error, EngineFailedError) and error.__cause__ is not None:
        error = error.__cause__
    return error


async def close(engine: Engine, hurry: asyncio.Event) -> None:
    """Close an engine with everything it holds; whatever fails on the way, the store is closed at the end.

    In a hurry launches under way are called off; the next engine finds what became of them.
    """

    async def let_go() -> None:
        await hurry.wait()
        await engine.attempts.let_go()

    hurrying = asyncio.create_task(let_go())
    for step in (engine.stop, engine.writer.close):
        try:
            await step()
        except Exception:
            log.exception("the engine did not close cleanly; running jobs go on under their minders")
    hurrying.cancel()
    try:
        await asyncio.to_thread(engine.store.close)
    except Exception:
        log.exception("the store did not close cleanly")
    collector.take_back()
