"""One process among the schedulers of a shared store: its node, and the authority where it wins it. DESIGN 6.

The node lives as long as the process, whatever becomes of the authority: one incarnation after the other, where one is
fenced. The authority is won (S9), kept (S10) and given back (S14) here; what is done under it is the supervisor's, and
which configuration is in force is for `in_force.py` to say. What
must always hold: who believes to lead is not believed by the store but by its lock (S11), so nothing here is safety; it
decides only when somebody tries.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from pyscheduler.api.sight import Glance
from pyscheduler.cluster import arrears
from pyscheduler.cluster.ear import Ear
from pyscheduler.cluster.evidence import Evidence
from pyscheduler.cluster.identity import identity
from pyscheduler.cluster.node import Node
from pyscheduler.cluster.recipes import Recipes
from pyscheduler.cluster.succession import Successor
from pyscheduler.cluster.vouching import LeaseFile
from pyscheduler.config import Config
from pyscheduler.engine.machine import boot_id
from pyscheduler.engine.ports import Clock, Launcher
from pyscheduler.engine.prune import runs_in
from pyscheduler.errors import StoreError, StoreUnavailable
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.lease import Identity
from pyscheduler.service.in_force import ConfigInForce
from pyscheduler.store import Store
from pyscheduler.store.claims import AuthorityRow, Claims
from pyscheduler.store.claims.opening import open_door, open_hints
from pyscheduler.store.hints import Hint

log = logging.getLogger(__name__)
T = TypeVar("T")

LOOK_S: Final = 1.0
LOOK_OFTEN_S: Final = 0.2
"""How often a standby reads the authority's row, and how often once its lease is over (claims.md C8)."""
JUST_AFTER_S: Final = 0.005
"""A look that falls into a lease's last second is put off until it is over by this much: then it can be taken."""
FREE_S: Final = 2.0
"""How long an authority that we gave away may be seen free: then the others cannot, or will not, and we try again."""
TRY_AGAIN_S: Final = 1.0
TIDY_S: Final = 3600.0
FENCED_END_S: Final = 15.0
"""How long the attempts of a fenced incarnation may take to end before the next one begins."""


class Membership:
    """See above. `address` is where the others reach our API."""

    def __init__(
        self,
        config: Config,
        launcher: Launcher,
        clock: Clock,
        *,
        environ: Mapping[str, str],
        allow_inactive: bool,
        address: str,
    ) -> None:
        assert config.settings.store is not None
        self._config, self._launcher, self._clock = config, launcher, clock
        self._url, self._state_dir = config.settings.store, config.settings.state_dir
        self._cluster = config.settings.cluster
        self._address = address
        self._boot_id = boot_id()
        self._evidence = Evidence(self._cluster.timing, clock.boottime)
        self._hands = ThreadPoolExecutor(2, thread_name_prefix="pysched-lease")
        self._reader: Store | None = None
        self._claims: Claims | None = None
        self._fenced: frozenset[str] = frozenset()
        self._ear: Ear | None = None
        self._no_try_before, self._free_since = 0.0, float("inf")
        self._led = 0
        """The last epoch that was ours."""
        self._resting = False
        self._wish_looks, self._joined = asyncio.Event(), asyncio.Event()
        self.recipes = Recipes(config, self._read_config, environ, self._boot_id, allow_inactive=allow_inactive)
        self.in_force = ConfigInForce(self.recipes, lambda: self.reader, clock)
        self.node: Node | None = None
        self.leader: AuthorityRow | None = None
        """Who led when it was last looked at."""
        self.cut_off: StoreError | None = None
        """Why the store could not be asked, if the last try to join or to look at the authority failed."""
        self.on_news: Callable[[], None] = lambda: None

    @property
    def claims(self) -> Claims:
        """Return the present incarnation's dealings. Raises StoreUnavailable before the first."""
        if self._claims is None:
            raise StoreUnavailable("this scheduler has not reached its store yet", mend="ask again in a moment")
        return self._claims

    @property
    def reader(self) -> Store:
        """Return the store for questions. Raises StoreUnavailable before it was reached."""
        if self._reader is None:
            raise StoreUnavailable("this scheduler has not reached its store yet", mend="ask again in a moment")
        return self._reader

    async def call(self, work: Callable[[], T]) -> T:
        """Do something blocking that must not wait behind others' reads."""
        return await asyncio.get_running_loop().run_in_executor(self._hands, work)

    async def glance(self) -> Glance | None:
        """Return what a standby answers by at this instant, None where it cannot. Raises StoreError."""
        return await self.in_force.glance()

    def _read_config(self, version: int) -> ConfigRecord | None:
        return self.reader.config(version)

    # ----------------------------------------------------------------- the node

    async def run(self, stop: asyncio.Event) -> None:
        """Be a node until told to stop: one incarnation after the other."""
        self._ear = Ear(open_hints(self._url), self._hear)
        while not stop.is_set():
            try:
                await self._one_life()
            except StoreError as error:
                self.cut_off = error
                log.warning("this node cannot reach its store: %s", error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), TRY_AGAIN_S)

    def _hear(self, hints: frozenset[Hint]) -> None:
        """Look at once at what a hint tells of."""
        if Hint.NEWS in hints:
            self.on_news()
        if Hint.FREE in hints:
            self._wish_looks.set()
        if self.node is not None and Hint.OFFERED in hints:
            self.node.hint()
        if self.node is not None and Hint.ASKED in hints:
            self.node.hurry()

    async def _one_life(self) -> None:
        if self._reader is None:
            self._reader = await asyncio.to_thread(
                Store.open, self._state_dir, url=self._url, shared=True, wait_s=TRY_AGAIN_S
            )
        claims = self._enter()
        node = Node(
            claims,
            self._launcher,
            self._clock,
            self.recipes,
            boot_id=self._boot_id,
            folders=(self._state_dir, self._config.settings.log_dir),
            on_news=lambda: self.on_news(),
            is_hinted=lambda: self._ear is not None and self._ear.listening,
            word=LeaseFile.of(claims),
        )
        try:
            await node.open()
        except BaseException:
            await asyncio.to_thread(claims.close)
            raise
        self._claims, self.node = claims, node
        if self._resting:
            node.rest()
        self.cut_off = None
        self._joined.set()
        me = claims.me
        log.info("node %s joined the cluster as %s, room for %d", me.node, me.inc_id[:8], me.capacity)
        beside = [asyncio.create_task(self._sweep(node)), asyncio.create_task(self._tidy())]
        try:
            await node.run()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
        if node.fenced.is_set():
            await node.bury(FENCED_END_S)
            await asyncio.to_thread(claims.close)

    def _enter(self) -> Claims:
        timing = self._cluster.timing
        me = identity(
            state_dir=self._state_dir,
            node=self._cluster.node,
            tags=self._cluster.tags,
            capacity=self._cluster.capacity or self._config.settings.max_running,
            address=self._address,
        )
        door = open_door(self._url, self._state_dir, statement_s=timing.statement_timeout_s)
        heart = open_door(self._url, self._state_dir, name="pysched heart", statement_s=timing.heartbeat_timeout_s)
        return Claims(door, me, timing, heart=heart)

    async def _sweep(self, node: Node) -> None:
        """Look for lost incarnations, at once and then again and again. S7a, S7b, S17."""
        timing = self._cluster.timing
        successor = Successor(node, node, self._evidence, Path(self._state_dir), self._boot_id, adopts=True)
        while True:
            try:
                self._fenced = await successor.look()
            except StoreError as error:
                log.warning("others cannot be looked at now: %s", error)
                self._evidence.forget()
            except Exception:
                log.exception("a sweep has failed; the next one follows")
            if self.leader is not None and self.leader.holder in self._fenced:
                self._wish_looks.set()
            await asyncio.sleep(timing.sweep_s)

    async def _tidy(self) -> None:
        """Tell of ends that are owed, and remove what is over from our folder; at once, and then once an hour."""
        folder = self._state_dir / "status"
        while True:
            try:
                if folder.is_dir():
                    here = await asyncio.to_thread(runs_in, folder)
                    await arrears.pay(self.claims, self._launcher, self._clock, folder, here)
                    keys = await asyncio.to_thread(self.reader.keys_of_runs, here)
                    await self._launcher.sweep(folder, keys.get)
            except (StoreError, OSError) as error:
                log.warning("%s cannot be tidied now: %s", folder, error)
            except Exception:
                log.exception("tidying has failed; the next time follows")
            await asyncio.sleep(TIDY_S)

    def rest(self) -> None:
        """Claim nothing from this instant on, whichever incarnation we are: our end was asked for."""
        self._resting = True
        if self.node is not None:
            self.node.rest()

    async def leave(self) -> None:
        """Stop being a node: what runs goes on under its minders, and the next process here adopts it."""
        self.in_force.close()
        if self.node is not None:
            await self.node.stop()
        for each in (self._ear, self._claims, self._reader):
            if each is not None:
                await asyncio.to_thread(each.close)
        self._hands.shutdown(wait=False, cancel_futures=True)

    # ----------------------------------------------------------------- the authority

    async def win(
        self, stop: asyncio.Event, on_wait: Callable[[AuthorityRow | None], None]
    ) -> tuple[Identity, int] | None:
        """Return who we are and the epoch once the authority is ours; None where a stop was wished for meanwhile.

        `on_wait` hears of who leads whenever that changes.
        """
        told: object = self
        await self._joined_or(stop)
        while not stop.is_set():
            wait_s = LOOK_S
            try:
                claims = self.claims
                epoch, row = await self._try(claims)
                self.cut_off = None
                if epoch is not None:
                    self._won(epoch)
                    return claims.me, epoch
                self.in_force.make_ready(row.config_version)
                wait_s = LOOK_OFTEN_S if row.is_over else min(LOOK_S, row.left_s + JUST_AFTER_S)
                if told != row.holder:
                    told = row.holder
                    on_wait(row)
            except StoreError as error:
                self._evidence.forget()
                self.cut_off = error
                if told is not None:
                    told = None
                    log.warning("the authority cannot be looked at: %s", error)
                    on_wait(None)
            await self._pause(stop, wait_s)
        return None

    async def joined(self) -> None:
        """Wait for the first incarnation."""
        await self._joined.wait()

    async def _joined_or(self, stop: asyncio.Event) -> None:
        """Wait for the first incarnation: before it nobody can be asked."""
        waits = [asyncio.create_task(each.wait()) for each in (stop, self._joined)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _pause(self, stop: asyncio.Event, seconds: float) -> None:
        waits = [asyncio.create_task(each.wait()) for each in (stop, self._wish_looks)]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            self._wish_looks.clear()  # not before: what was heard while we looked is one more look
        finally:
            for wait in waits:
                wait.cancel()

    def other_that_leads(self, row: AuthorityRow | None) -> str:
        """Return the name of another scheduler whose authority holds, empty where nobody is known to lead."""
        if row is None or row.is_over or (self._claims is not None and row.holder == self._claims.me.inc_id):
            return ""
        return row.node or str(row.holder)

    def hold_off(self, seconds: float) -> None:
        """Do not try to lead for so long: another is to have it. Over when one has had it, or nobody will."""
        self._no_try_before, self._free_since = self._clock.monotonic() + seconds, float("inf")

    def _won(self, epoch: int) -> None:
        self._led, self._no_try_before = epoch, 0.0

    def _is_held_off(self, row: AuthorityRow) -> bool:
        now = self._clock.monotonic()
        if row.is_over:
            self._free_since = min(self._free_since, now)
        if row.epoch > self._led or now - self._free_since >= FREE_S:
            self._no_try_before = 0.0
        return now < self._no_try_before

    async def _try(self, claims: Claims) -> tuple[int | None, AuthorityRow]:
        asked_at = self._clock.boottime()
        row = self.leader = await self.call(claims.authority)
        if self._is_held_off(row):
            return None, row
        if row.is_free or row.holder == claims.me.inc_id or row.holder in self._fenced:
            return await self.call(lambda: claims.take_authority(None)), row
        seen = self._evidence.saw_authority(row, asked_at)
        if row.is_over and seen is not None:
            return await self.call(lambda: claims.take_authority(seen)), row
        return None, row

    async def keep(self, epoch: int) -> str:
        """Renew the authority for as long as that goes; returns why it is lost."""
        timing, claims = self._cluster.timing, self.claims
        good_until = self._clock.boottime() + timing.authority_lease_s - timing.authority_margin_s
        while True:
            await asyncio.sleep(timing.authority_heartbeat_s)
            sent_at = self._clock.boottime()
            try:
                if not await self.call(lambda: claims.renew_authority(epoch)):
                    return "another scheduler leads now"
                good_until = sent_at + timing.authority_lease_s - timing.authority_margin_s
            except StoreError as error:
                log.warning("the authority could not be renewed: %s", error)
            if claims is not self._claims:
                return "this node was fenced"
            if self._clock.boottime() > good_until:
                return "the authority could not be renewed in time"

    async def resign(self, epoch: int) -> None:
        """Give the authority back, after everything under it has ended."""
        try:
            claims = self.claims
            await self.call(lambda: claims.resign(epoch))
        except StoreError as error:
            log.warning("the authority could not be given back: %s; it runs out by itself", error)
