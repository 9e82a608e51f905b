"""One node of a cluster: it claims what it has room for, starts it under minders, and reports how it ended. DESIGN 6.

Every process of `serve` is one, the authority too. What must always hold: nothing is executed before S3 has said that
it may be; what is in doubt is read back before anything is done about it (S8); heartbeats go on as long as the process
does. Attempts run under minders, so an end of this process ends none of them: the next one on this host goes on with
them (S17). What follows from an end is not decided here but by the authority.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from pyscheduler.cluster.grants import Going
from pyscheduler.cluster.heart import Heart
from pyscheduler.cluster.opened import Grant, Opened
from pyscheduler.cluster.orders import Work, attempt_of, run_of, start_of
from pyscheduler.cluster.outbox import Outbox, report_of
from pyscheduler.cluster.recipes import Recipes
from pyscheduler.cluster.room import Room
from pyscheduler.cluster.vouching import LeaseFile, take_over
from pyscheduler.engine.environment import claim_facts
from pyscheduler.engine.orders import Order, ref_of
from pyscheduler.engine.ports import AttemptHandle, Clock, Launcher
from pyscheduler.errors import LaunchError, StoreError
from pyscheduler.model.job import Job
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Attempt, Run
from pyscheduler.store.claims import Applied, Beat, Claim, Claims, Held, Owned, Proof, Report, Start

log = logging.getLogger(__name__)
T = TypeVar("T")

AT_ONCE: Final = 64
"""Runs claimed, and started, in one transaction."""
SOON_S: Final = 0.05
LATEST_S: Final = 1.0
GATHER_S: Final = 0.05
"""Between two looks that found something: in a rush, runs are claimed and started some at a time and not one by one."""
LATEST_WITH_HINTS_S: Final = 2.0
"""The longest wait between two looks for offers, the second where hints are heard."""
SLOWER: Final = 1.5
RECONCILE_BEATS: Final = 12
DOUBT_S: Final = 0.2
LAUNCHES_END_S: Final = 5.0


class Node:
    """One incarnation. `on_news` is called when it has written something that the authority may want to read.

    `is_hinted` says whether `hint` is called for what others offer; it is looked for all the same, not as often.
    `folders` are where its attempts' files go, `word` where it says how long its lease holds.
    """

    def __init__(
        self,
        claims: Claims,
        launcher: Launcher,
        clock: Clock,
        recipes: Recipes,
        *,
        boot_id: str,
        folders: Sequence[Path] = (),
        on_news: Callable[[], None] = lambda: None,
        is_hinted: Callable[[], bool] = lambda: False,
        word: LeaseFile | None = None,
    ) -> None:
        self.claims, self.launcher, self.clock, self.boot_id = claims, launcher, clock, boot_id
        self.works: Mapping[str, Work] = {}
        self._recipes, self._on_news, self._is_hinted, self._word = recipes, on_news, is_hinted, word
        self._loop = asyncio.get_running_loop()
        self._going: dict[str, Going] = {}
        self._opened = Opened(clock.boottime)
        self._adopting: dict[Grant, Callable[[], None]] = {}
        """What S17 was asked for without an answer, and how to go on with it if it is ours: S8 finds out."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._launching = 0
        self._not_before = -LATEST_S
        """On the loop's clock: nothing is claimed earlier, for what was claimed last could not be prepared here."""
        self._turn = asyncio.Lock()
        self._wake = asyncio.Event()
        self._doubt = self._stopping = self._resting = False
        self.draining = False
        self.fenced = asyncio.Event()
        vouch = word.say if word is not None else lambda _: None
        self.heart = Heart(claims, clock.boottime, self._on_beat, self._on_error, vouch)
        self._outbox = Outbox(self._tell)
        self._room = Room(folders if word is None else (*folders, word.path.parent), clock.boottime)

    # ----------------------------------------------------------------------- life

    async def open(self) -> None:
        """S0, and heartbeats from here on. Raises StoreError."""
        sent_at = self.clock.boottime()
        await self.call(self.claims.register)
        self.heart.begin(sent_at)
        await self.call(self.heart.say)

    async def run(self) -> None:
        """Claim and start for as long as we may; returns when we are fenced or stopping."""
        alive = self._loop.create_task(self._say_alive())
        wait_s = SOON_S
        try:
            while not (self._stopping or self.fenced.is_set()):
                began = self._loop.time()
                busy = await self._claim_and_start()
                wait_s = SOON_S if busy or self._wake.is_set() else min(wait_s * SLOWER, self._latest_s)
                self._wake.clear()
                if busy:
                    await asyncio.sleep(max(0.0, began + GATHER_S - self._loop.time()))
                else:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._wake.wait(), wait_s)
        finally:
            alive.cancel()

    @property
    def _latest_s(self) -> float:
        return LATEST_WITH_HINTS_S if self._is_hinted() else LATEST_S

    def hint(self) -> None:
        """Something was offered: look at once."""
        self._wake.set()

    def hurry(self) -> None:
        """Somebody has been asked to stop a run: ask at once whether it is one of ours."""
        self.heart.hurry()

    def rest(self) -> None:
        """Claim and start nothing from this instant on: our end has been asked for, and `stop` follows."""
        self._resting = True

    async def stop(self) -> None:
        """Begin nothing more, let launches under way finish, and leave what runs to its minders."""
        self._stopping = True
        self._wake.set()
        async with self._turn:  # what is being claimed or started now is let come to its end
            with suppress(StoreError):
                await self.call(self.claims.stop)
        with suppress(TimeoutError):
            async with asyncio.timeout(LAUNCHES_END_S):
                await self._until_nothing_is_under_way()
        await self._leave()

    async def _until_nothing_is_under_way(self) -> None:
        """Wait for launches to return and for ends to be stored; what runs is not waited for."""
        while self._launching or self._outbox.behind:
            self._wake.clear()
            await self._wake.wait()

    async def _leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._outbox.close()
        await self.call(self.heart.end)
        if not self._going and not self.fenced.is_set():
            try:
                await self.call(self.claims.unregister)
            except StoreError as error:
                log.warning("this node's row stays until somebody proves that it is over: %s", error)

    async def bury(self, within_s: float) -> None:
        """After a fence: wait for what was ours to end, at most so long, and let go of everything."""
        tasks = list(self._tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=within_s)
        await self._leave()

    @property
    def running(self) -> int:
        """How many attempts of ours run."""
        return len(self._going)

    async def call(self, work: Callable[[], T]) -> T:
        """Do something blocking on a helper thread."""
        return await asyncio.to_thread(work)

    async def _say_alive(self) -> None:
        while True:
            self.heart.alive()
            await asyncio.sleep(min(1.0, self.claims.timing.wedge_s / 4))

    # ----------------------------------------------------------------------- claiming and starting

    async def _claim_and_start(self) -> bool:
        """Claim what there is room for, and start it; False where there was nothing, or nothing may be begun."""
        room = min(AT_ONCE, self.claims.me.capacity - len(self._going) - self._launching)
        if room <= 0 or not self.heart.trusted or self.draining or self._resting:
            return False
        if self._loop.time() < self._not_before:
            return False
        if self._room.lacks and not await self.call(self._room.has):
            return False
        try:
            async with self._turn:
                found = await self.call(lambda: self.claims.claim(room))
                if found:
                    await self._start(found)
        except StoreError as error:
            log.warning("nothing can be claimed now: %s", error)
            self._doubt = True
            return False
        except Exception:  # a bug, and no end of this node: others count on what it runs
            log.exception("what was claimed could not be started; it is given back")
            self._doubt, self._not_before = True, self._loop.time() + LATEST_S
            return False
        return bool(found)

    async def _start(self, found: Sequence[Claim]) -> None:
        """S3 for all of them, and their launches; what cannot be prepared is handed back. Raises StoreError."""
        prepared: list[tuple[Claim, Run, Order, Job | None]] = []
        for claim in found:
            run = run_of(claim, self.clock.now())
            try:
                order, job = await self._recipes.order(run, secrets.token_hex(8), self.clock.now())
            except (StoreError, OSError) as error:
                if isinstance(error, OSError):  # a full /tmp, no process to be had: nobody else's trouble
                    log.warning("%s cannot be prepared on this node, and is given back: %s", claim.run_id, error)
                    self._not_before = self._loop.time() + LATEST_S
                await self.call(lambda claim=claim: self.claims.hand_back([Held(claim.run_id, claim.token)]))  # type: ignore[misc]
                continue
            prepared.append((claim, run, order, job))
        if self._resting or not await self.call(self._room.has):
            await self.call(lambda: self.claims.hand_back([Held(each.run_id, each.token) for each, *_ in prepared]))
            return
        starts = [start_of(claim, order.attempt) for claim, _, order, _ in prepared]
        may = await self._may_start(starts) if starts else set()
        for claim, run, order, job in prepared:
            if claim.run_id not in may:
                log.warning("%s is no longer this node's to start: it is left to whoever has it", claim.run_id)
                continue
            self._take_on(claim.run_id, Going(claim.token))
            self._opened.add((claim.run_id, claim.token))
            self._launching += 1
            self._background(self._one(claim, run, order, job), f"attempt {claim.run_id}")
        if may:
            self._on_news()

    async def _may_start(self, starts: Sequence[Start]) -> set[str]:
        """S3. Where its answer was lost, the rows are read back; nothing may be executed before it is known."""
        try:
            return await self.call(lambda: self.claims.start(starts))
        except StoreError as error:
            log.warning("the start of %d run(s) is in doubt: %s", len(starts), error)
            self._doubt = True
        tokens = {(start.run_id, start.token) for start in starts}
        while self.heart.trusted:
            await asyncio.sleep(DOUBT_S)
            try:
                owned = await self.call(self.claims.owned)
            except StoreError:
                continue
            return {each.run_id for each in owned if each.started and (each.run_id, each.token) in tokens}
        return set()

    async def _one(self, claim: Claim, run: Run, order: Order, job: Job | None) -> None:
        """Launch one attempt whose start is committed, and mind it to its end."""
        going = self._going[run.run_id]
        try:
            if order.spec is None:
                raise LaunchError(order.error or "it cannot be rendered")
            facts = claim_facts(claim.token, self.claims.me.inc_id)
            spec = replace(order.spec, env={**order.spec.env, **facts})
            handle = await self.launcher.launch(spec if self._word is None else self._word.bound(spec, job))
        except (OSError, ValueError, TypeError, LaunchError) as error:
            self._launched()
            await self._finish(run.run_id, claim.token, order.attempt, AttemptResult(start_error=str(error)), job)
            return
        except asyncio.CancelledError:
            self._launched()
            raise
        self._launched()
        going.hold(handle)
        await self._mind(run.run_id, claim.token, order.attempt, handle, job)

    def _launched(self) -> None:
        self._launching -= 1
        self._wake.set()

    async def _mind(self, run_id: str, token: int, attempt: Attempt, handle: AttemptHandle, job: Job | None) -> None:
        result = await handle.wait()
        await self._finish(run_id, token, replace(attempt, pid=handle.pid), result, job)

    async def _finish(self, run_id: str, token: int, attempt: Attempt, result: AttemptResult, job: Job | None) -> None:
        going = self._going.get(run_id)
        if going is None or going.token != token:
            going = None  # what goes under this run's id is a later attempt of it
        else:
            going.handle = None  # nothing is left to stop
        answer = await self._outbox.report(report_of(run_id, token, attempt, result, job, self.clock))
        if going is not None and self._going.get(run_id) is going:
            del self._going[run_id]
        self._wake.set()
        self._on_news()
        if answer is Applied.SUPERSEDED:
            log.warning("%s was taken from this node before: its end is superseded", run_id)
        if attempt.status_path:
            await self.launcher.discard([ref_of(attempt, job)])

    async def _tell(self, reports: Sequence[Report]) -> dict[tuple[str, int], Applied]:
        return await self.call(lambda: self.claims.outcomes(reports))

    # ----------------------------------------------------------------------- what the dead leave (succession.py)

    def decides(self, each: Owned) -> bool:
        """Whether its end is ours to tell: any is, because the authority says what follows."""
        return True

    async def ended_elsewhere(self, run: Run, owned: Owned, attempt: Attempt, result: AttemptResult) -> None:
        """Store the end of an attempt that a dead incarnation had started, found by its note."""
        job = self._recipes.job(run.config_version, run.job)
        await self._outbox.report(report_of(run.run_id, owned.token, attempt, result, job, self.clock))
        self._on_news()

    async def adopt(self, run: Run, owned: Owned, attempt: Attempt, handle: AttemptHandle, proof: Proof) -> bool:
        """S17: become the owner of an attempt that still runs, and mind it to its end. False where that was refused.

        Raises StoreError; an adoption that is ours all the same is found by S8.
        """
        grant = run.run_id, owned.token
        self._opened.add(grant)
        async with self._turn:
            try:
                if not await self.call(lambda: self.claims.adopt(owned.inc_id, *grant, proof)):
                    return False
            except StoreError:
                self._doubt = True
                self._adopting[grant] = lambda: self._go_on_with(run, owned, attempt, handle)
                raise
            self._go_on_with(run, owned, attempt, handle)
        return True

    def _go_on_with(self, run: Run, owned: Owned, attempt: Attempt, handle: AttemptHandle) -> None:
        """It was adopted: mind it to its end."""
        self._adopting.pop((run.run_id, owned.token), None)
        self._take_on(run.run_id, Going(owned.token, handle, cancelled=owned.cancel_requested))
        log.info("%s goes on under its minder: it was adopted", run.run_id)
        if owned.cancel_requested:
            handle.terminate("kill", "asked to end")
        job = self._recipes.job(run.config_version, run.job)
        self._background(self._mind(run.run_id, owned.token, attempt, handle, job), f"adopted {run.run_id}")

    def _take_on(self, run_id: str, going: Going) -> None:
        """It is ours from now on; an earlier attempt of the same run that still goes here was taken from us."""
        before = self._going.get(run_id)
        self._going[run_id] = going
        if before is not None and not before.lost:
            log.warning("an earlier attempt of %s was taken from this node", run_id)
            before.lose()
        if self.fenced.is_set():
            going.lose()

    # ----------------------------------------------------------------------- staying in step

    def _on_beat(self, beat: Beat | None) -> None:
        self._loop.call_soon_threadsafe(self._hear, beat)

    def _on_error(self, error: StoreError) -> None:
        log.warning("a heartbeat was not acknowledged: %s", error)
        self._loop.call_soon_threadsafe(setattr, self, "_doubt", True)

    def _hear(self, beat: Beat | None) -> None:
        if beat is None:
            self._be_fenced()
            return
        if self.draining != beat.draining:
            log.info("this node %s", "drains: it claims nothing more" if beat.draining else "claims again")
        self.draining = beat.draining
        for run_id in beat.cancel_requested:
            self._end(run_id)
        if self.heart.lapsed:
            self.heart.lapsed, self._doubt = False, True
        if self._doubt or self.heart.beats % RECONCILE_BEATS == 0:
            self._background(self._reconcile(), "reconcile")

    def _end(self, run_id: str) -> None:
        """Somebody wants an attempt of ours to end."""
        going = self._going.get(run_id)
        if going is not None and not going.cancelled:
            going.cancelled = True
            if going.handle is not None:
                going.handle.terminate("kill", "asked to end")

    def _be_fenced(self) -> None:
        """We were taken for dead: nothing of ours counts any more. End it all; the reports are superseded."""
        log.error("this node was fenced: what it runs was taken from it and is ended")
        self.fenced.set()
        self._wake.set()
        for going in self._going.values():
            going.lose()

    async def _reconcile(self) -> None:
        """S8: tell of what the store says is ours and nobody here minds, let go of what is not ours any more."""
        async with self._turn:
            if self.fenced.is_set() or self._stopping:
                return
            try:
                owned = {(each.run_id, each.token): each for each in await self.call(self.claims.owned)}
                unknown = [each for key, each in owned.items() if key not in self._opened]
                claimed = [Held(each.run_id, each.token) for each in unknown if not each.started]
                if claimed:
                    await self.call(lambda: self.claims.hand_back(claimed))
            except StoreError:
                self._doubt = True
                return
            self._doubt = False
            self._opened.keep(owned)
            for grant, go_on in list(self._adopting.items()):
                if grant in owned:
                    go_on()
                    path = owned[grant].status_path
                    self._background(self.call(lambda path=path: take_over(path, self.claims)), f"lease {grant[0]}")  # type: ignore[misc]
                elif grant not in self._opened:
                    del self._adopting[grant]
            for each in (each for each in unknown if each.started):
                self._opened.add((each.run_id, each.token))
                self._background(self._never_started(each), f"never started {each.run_id}")
        for run_id, going in self._going.items():
            if (run_id, going.token) not in owned and not going.lost and going.handle is not None:
                log.warning("%s was taken from this node: its attempt is ended", run_id)
                going.lose()

    async def _never_started(self, each: Owned) -> None:
        """A start was committed whose acknowledgement came too late: nothing was executed under it."""
        result = AttemptResult(start_error="the node heard too late that it might start it")
        await self._finish(each.run_id, each.token, attempt_of(each), result, None)

    def _background(self, work: Awaitable[None], name: str) -> None:
        async def done() -> None:
            await work

        task = self._loop.create_task(done(), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s could not be brought to its end: %s", task.get_name(), error, exc_info=error)
