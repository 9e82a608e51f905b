"""The service while it lives: what ties engine, API, launcher, reloads and the service manager together.

`House` is the API's host. It has one launcher for life, a supervisor that keeps an engine open, and small tasks that
speak to the service manager, bury orphans where this is pid 1, and look around once. Nothing here decides about jobs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import stat
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Final

from starlette.types import ASGIApp

from pyscheduler import collector
from pyscheduler.__about__ import __version__
from pyscheduler.alerts import AlertRoom, Heartbeat
from pyscheduler.api.afar import Vouching
from pyscheduler.api.app import build_app, warm_up
from pyscheduler.api.callers import Caller, Role, Via
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.host import Phase, Reloaded, ReloadFailure, Standing
from pyscheduler.config import Config, deferred_checks
from pyscheduler.engine import machine
from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.core import Engine
from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.errors import Conflict, LaunchError
from pyscheduler.model.run import Run
from pyscheduler.service import surroundings
from pyscheduler.service.acquaintance import greet
from pyscheduler.service.entrance import Entrance, Keeper
from pyscheduler.service.listener import REQUESTS_END_S, Listener
from pyscheduler.service.membership import Membership
from pyscheduler.service.notify import Notifier
from pyscheduler.service.relay import Relay
from pyscheduler.service.reloading import Reading, Reloader
from pyscheduler.service.signals import Wishes
from pyscheduler.service.supervise import Supervisor
from pyscheduler.service.ways import Alone, Shared, Ways
from pyscheduler.store import Store
from pyscheduler.store.claims import AuthorityRow, Claims
from pyscheduler.web import Dressed, EntrancePages, Press, pages

log = logging.getLogger(__name__)
runs_log = logging.getLogger("pyscheduler.runs")

STOP_S: Final = 45.0
"""How long the end may take, hurried or not: 5 s for requests, 5 s for launches, the rest for the disk."""
HURRIED_STOP_S: Final = 10.0
BURY_S: Final = 1.0
HAND_OVER_S: Final = 30.0
"""For how long a scheduler that was asked to hand over does not try to lead again."""
ANSWER_FIRST_S: Final = 0.2
SIGNAL: Final = Caller("signal", Role.ADMIN, Via.SIGNAL)
"""Who asks for a reload with SIGHUP: root or our own user, the kernel lets nobody else."""
STARTING_S: Final = 10.0
"""How often the service manager hears that the start still goes on."""


class House:
    """One service. `ready` is set once the first engine runs."""

    def __init__(
        self,
        config: Config,
        reading: Reading,
        wishes: Wishes,
        ready: asyncio.Event,
        entrance: Entrance,
        *,
        exit_on_failure: bool,
    ) -> None:
        self._config, self._wishes, self._ready = config, wishes, ready
        self._clock, self._launcher = SystemClock(), MinderLauncher()
        self._notifier = Notifier(os.environ)
        self._leaving, self._engine_stop = asyncio.Event(), asyncio.Event()
        """The end was asked for: nothing is opened or claimed any more; then, requests having ended, no engine runs."""
        self._membership = _membership(config, reading, self._launcher, self._clock, entrance)
        self._supervisor = Supervisor(
            config,
            clock=self._clock,
            ways=self._ways(config),
            environ=reading.env,
            leaving=self._leaving,
            stop=self._engine_stop,
            hurry=wishes.hurry,
            exit_on_failure=exit_on_failure,
            on_open=self._opened,
            on_change=self._changed,
        )
        self._heartbeat = Heartbeat(self.engine)
        self._entrance = entrance
        self._keeper = Keeper(entrance, config.settings, self.engine, self._clock)
        self._reloader = Reloader(reading, config.settings, self.engine, self._notifier, self._keeper)
        door = self._keeper.door
        secret = config.settings.cluster.secret
        self.vouching = door.vouching = None if secret is None else Vouching(secret, self._clock.now)
        self._desk = FrontDesk(self, revocations=door.revocations, address=door.address)
        self.alerts = AlertRoom(config, self._clock, registry=self._desk.metrics.registry)
        self._is_settled = False
        """Whether what is done once, beside the first engine, was begun."""
        self._small: set[asyncio.Task[None]] = set()
        self.remarks: Sequence[str] = ()

    def _ways(self, config: Config) -> Ways:
        if self._membership is None:
            return Alone(config.settings.state_dir, self._launcher)

        return Shared(self._membership, self._leaving, self._clock.now(), self._stand_by)

    def _stand_by(self, row: AuthorityRow | None) -> None:
        """Wait for an end of another's lead; a trouble of ours is over once another is seen to lead."""
        assert self._membership is not None
        leader = self._membership.other_that_leads(row)
        if leader:
            self.alerts.scheduler_works()
        self._supervisor.stand_by(leader, None if row is not None else self._membership.cut_off)

    # ----------------------------------------------------------------- as the API's host

    @property
    def standing(self) -> Standing:
        """How it goes; before the first opening, also what keeps us from joining."""
        standing, member = self._supervisor.standing, self._membership
        if standing.phase is not Phase.STARTING or standing.trouble or member is None or member.cut_off is None:
            return standing
        return replace(standing, trouble=str(member.cut_off))

    @property
    def reload_failure(self) -> ReloadFailure | None:
        """The last reload's failure; None where it succeeded."""
        return self._reloader.failure

    @property
    def claims(self) -> Claims | None:
        """The dealings with a shared store; None where it is one's own."""
        return None if self._membership is None else self._membership.claims

    async def hand_over(self) -> None:
        """Let another scheduler lead, a moment after the answer. Raises Conflict where none could."""
        membership, claims = self._membership, self.claims
        if membership is None or claims is None:
            raise Conflict("this scheduler shares its store with nobody", mend="start a second one on a shared store")
        rows = await asyncio.to_thread(claims.nodes)
        if not any(row.lives and not row.stopping and row.inc_id != claims.me.inc_id for row in rows):
            raise Conflict("no other scheduler lives that could take over", mend="start a second one: pysched nodes")
        membership.hold_off(HAND_OVER_S)
        asyncio.get_running_loop().call_later(ANSWER_FIRST_S, self._supervisor.hand_over)

    @property
    def reader(self) -> Store:
        """The store for questions, whoever leads. Raises Unavailable, StoreUnavailable."""
        if self._membership is not None and self.standing.phase is not Phase.RUNNING:
            return self._membership.reader
        return self.engine().store

    def engine(self) -> Engine:
        """Return the engine that runs. Raises Unavailable."""
        return self._supervisor.engine()

    async def reload(self, actor: str, reason: str = "") -> Reloaded:
        """Put what stands on disk in force. Raises ConfigError, Unavailable."""
        return await self._reloader.reload(actor, reason)

    async def _reload_by_signal(self) -> Reloaded:
        async with self._desk.ledger.deed(SIGNAL, "reload"):
            return await self._reloader.reload(SIGNAL.name)

    async def load(self) -> Config:
        """Return what stands on disk, checked. Raises ConfigError."""
        return await self._reloader.load()

    def on_hangup(self) -> None:
        """Reload because of SIGHUP, unless there is nothing to reload yet."""
        if self.standing.phase is Phase.RUNNING:
            self._reloader.on_signal(self._reload_by_signal)
        else:
            log.warning("SIGHUP is ignored while the scheduler is %s", self.standing.phase)

    # ----------------------------------------------------------------- life

    async def live(self, listening: socket.socket, on_stuck: Callable[[int], object] | None) -> int:
        """Serve until a stop is wished for or no engine can help any more; returns the exit code."""
        jobs = _counted(len(self._config.jobs), "job")
        what = (__version__, os.getpid(), jobs, self._config.path, self._config.settings.state_dir)
        log.info("pyscheduler %s (pid %d): %s of %s, state in %s", *what)
        for problem in self._config.warnings:
            log.warning("%s", problem)
        if self._entrance.address is not None:
            log.info("listening at http://%s", self._entrance.address)
        await warm_up()
        door, press = self._keeper.door, Press(self._desk)
        door.pages = EntrancePages(press)
        app = Dressed(build_app(self, desk=self._desk, door=door, more=pages(self._desk, press)), press)
        listener = Listener(self._relayed(app), listening, self._entrance.tcp)
        serving = asyncio.create_task(listener.run(), name="listener")
        supervising = asyncio.create_task(self._supervisor.run(), name="supervisor")
        member = None if self._membership is None else asyncio.create_task(self._membership.run(self._engine_stop))
        if member is not None:
            member.add_done_callback(self._small_ended)
            self._prepare()
            if self.vouching is not None and self._membership is not None:
                self._start_small(greet(self._membership, self.vouching))
        self._begin_small_tasks()
        self._start_small(press.warm_up())
        stopping = asyncio.create_task(self._wishes.stop.wait())
        try:
            await asyncio.wait((serving, supervising, stopping), return_when=asyncio.FIRST_COMPLETED)
            self._notifier.stopping("stopping; running jobs go on")
            code = await self._end(listener, serving, supervising)
            if code is None:
                log.critical("the end is given up on: the disk does not answer; running jobs go on")
                (on_stuck or (lambda _code: None))(1)
            return 1 if code is None else code
        finally:
            stopping.cancel()
            supervising.cancel()
            if member is not None:
                member.cancel()
            for task in self._small:
                task.cancel()
            await self.alerts.close()
            await self._launcher.close()
            self._desk.threads.close()
            self._keeper.door.close()
            self._notifier.close()

    def _prepare(self) -> None:
        """Have a nursery that waits: who takes a lead over, or is offered a run, is to start it at once."""
        try:
            self._launcher.prepare()
        except (LaunchError, OSError) as error:
            log.warning("no nursery could be made ready, the first launch tries again: %s", error)

    def _relayed(self, app: ASGIApp) -> ASGIApp:
        """Return the application as a member of a cluster has it: what a standby cannot answer goes to who leads."""
        membership = self._membership
        if membership is None:
            return app
        return Relay(app, self, self._keeper.door, membership, self.vouching)

    async def _end(self, listener: Listener, serving: asyncio.Task[None], supervising: asyncio.Task[int]) -> int | None:
        """Close the API, then the engine; returns the exit code, None where that did not come to an end."""
        crashed = serving.done() and not self._wishes.stop.is_set()
        self._leaving.set()
        if self._membership is not None:
            self._membership.rest()
        if crashed:
            log.critical("the API's server has ended: %s", serving.exception())
        hurrying = asyncio.create_task(self._hurry(listener))
        try:
            self._desk.farewell()
            listener.close()
            await asyncio.wait((serving,), timeout=REQUESTS_END_S + 2.0)
            if not serving.done():
                log.warning("the API does not close; going on without it")
            self._engine_stop.set()
            if not await self._in_time(supervising):
                return None
            if self._membership is not None:
                await self._membership.leave()
            return supervising.result() or int(crashed)
        finally:
            hurrying.cancel()

    async def _in_time(self, supervising: asyncio.Task[int]) -> bool:
        """Wait for the last engine to close; False where it takes longer than it may."""
        hurry = asyncio.create_task(self._wishes.hurry.wait())
        try:
            await asyncio.wait((supervising, hurry), timeout=STOP_S, return_when=asyncio.FIRST_COMPLETED)
            if hurry.done():
                await asyncio.wait((supervising,), timeout=HURRIED_STOP_S)
            return supervising.done()
        finally:
            hurry.cancel()

    async def _hurry(self, listener: Listener) -> None:
        await self._wishes.hurry.wait()
        listener.hurry()

    # ----------------------------------------------------------------- an engine's beginning, and changes

    def _opened(self, engine: Engine) -> None:
        """Welcome an engine that has started."""
        collector.set_apart()
        engine.subscribe(_log_run)
        self.alerts.attach(engine)
        self._start_small(self._desk.ledger.opened(engine))
        self._desk.welcome(engine)

    def _changed(self, standing: Standing) -> None:
        if standing.phase is Phase.STANDBY:
            self._notifier.ready(f"standing by: {standing.trouble}")
            self._ready.set()
            return
        if standing.phase is not Phase.RUNNING:
            if standing.phase is not Phase.STOPPING and standing.trouble:
                self.alerts.scheduler_failed(standing.trouble)
            self._notifier.status(f"{standing.phase}: {standing.trouble}" if standing.trouble else standing.phase)
            return
        engine = self.engine()
        self.alerts.scheduler_works()
        jobs, open_runs = _counted(len(engine.config.jobs), "job"), _counted(len(engine.book.open_runs()), "open run")
        self._notifier.ready(f"{jobs}, configuration {engine.config_version}")
        log.info("ready: %s, configuration %d", open_runs, engine.config_version)
        self._ready.set()
        if not self._is_settled:
            self._is_settled = True
            self._start_small(self._keeper.keep())
            self._start_small(self._look_around())
            self._start_small(self._check_later())

    # ----------------------------------------------------------------- small tasks

    def _begin_small_tasks(self) -> None:
        if self._notifier.watchdog_s is not None:
            self._start_small(self._say_alive(self._notifier.watchdog_s / 3))
        if machine.am_i_pid1():
            self._start_small(self._bury())
        self._start_small(self._say_starting())
        self._start_small(self._heartbeat.run())

    def _start_small(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._small.add(task)
        task.add_done_callback(self._small_ended)

    def _small_ended(self, task: asyncio.Task[None]) -> None:
        self._small.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a helper of the service has failed: %s", error, exc_info=error)

    async def _say_alive(self, every_s: float) -> None:
        while True:
            self._notifier.alive()
            await asyncio.sleep(every_s)

    async def _say_starting(self) -> None:
        while self.standing.phase is Phase.STARTING:
            self._notifier.starting(self.standing.trouble or "starting", 6 * STARTING_S)
            await asyncio.sleep(STARTING_S)

    async def _bury(self) -> None:
        while True:
            await asyncio.sleep(BURY_S)
            machine.reap_unknown_children()

    async def _look_around(self) -> None:
        """Find out, once, what here would kill running jobs or leaves something to chance."""
        around = await surroundings.gather(os.environ)
        found = surroundings.remarks(around, self._config.settings.max_running)
        state_dir = self._supervisor.state_dir
        guard = await asyncio.to_thread(self._launcher.guard_report, state_dir / "status")
        mode = stat.S_IMODE(state_dir.stat().st_mode)
        loose = [f"{state_dir} has mode {mode:04o}, open to other users; chmod 700 it"] if mode & 0o077 else []
        for remark in (*(str(each) for each in found if each.warn), *guard.lines, *loose):
            log.warning("%s", remark)
        self.remarks = (*map(str, found), *guard.lines, *loose)

    async def _check_later(self) -> None:
        """Do the look-aheads that reading the configuration had no time for."""
        if self._config.pending:
            for problem in await asyncio.to_thread(lambda: list(deferred_checks(self._config))):
                log.warning("%s", problem)


def _membership(
    config: Config, reading: Reading, launcher: MinderLauncher, clock: SystemClock, entrance: Entrance
) -> Membership | None:
    """Return this process's part in a cluster; None where its store is its own."""
    if config.settings.store is None:
        return None
    return Membership(
        config,
        launcher,
        clock,
        environ=reading.env,
        allow_inactive=reading.allow_inactive,
        address=config.settings.cluster.address or _reachable(entrance.address),
    )


def _reachable(address: str | None) -> str:
    """Return where others reach what listens everywhere: at this machine's name."""
    host, _, port = (address or "").rpartition(":")
    return f"{socket.gethostname()}:{port}" if host in ("0.0.0.0", "[::]", "::") else address or ""  # noqa: S104


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _log_run(run: Run) -> None:
    reason = f": {run.reason}" if run.reason else ""
    runs_log.info("%s is %s%s", run.run_id, run.state, reason)
