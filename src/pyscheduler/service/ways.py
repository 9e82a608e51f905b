"""How a supervisor comes to a store that it may write: its own, or a shared one that it must win first.

`Alone` opens the store at once. `Shared` waits until the authority is won (S9), opens the store under its lock (S11),
keeps it, and gives it back (S14) when the engine on it has closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from pyscheduler.cluster.launcher import ClusterLauncher
from pyscheduler.config import Config
from pyscheduler.engine.ports import Launcher
from pyscheduler.errors import AuthorityLost
from pyscheduler.model.lease import Identity
from pyscheduler.service.membership import Membership
from pyscheduler.service.premises import LOCK_NAME
from pyscheduler.store import Store
from pyscheduler.store.claims import AuthorityRow
from pyscheduler.store.claims.authority import GUARD
from pyscheduler.store.sharing import Sharing
from pyscheduler.store.transaction import Transaction

log = logging.getLogger(__name__)

STORE_WAIT_S = 10.0
"""How long another writer (`tick`, the command line) may hold the store when we open it."""


@dataclass(frozen=True, slots=True)
class Way:
    """A store that is open and ours to write, with what an engine on it starts attempts by."""

    store: Store
    launcher: Launcher
    config: Config
    keeping: asyncio.Task[str] | None = None
    """Ends, with the reason, when the store is ours no longer."""
    epoch: int = 0


class Ways(Protocol):
    """See above."""

    async def open(self, config: Config) -> Way | None:
        """Return the way once there is one; None where a stop was wished for meanwhile. Raises why there is none."""
        ...

    async def close(self, way: Way) -> None:
        """Let go, after everything on it has ended."""
        ...


class Alone:
    """One scheduler and its store."""

    def __init__(self, state_dir: Path, launcher: Launcher) -> None:
        self._state_dir, self._launcher = state_dir, launcher

    async def open(self, config: Config) -> Way | None:
        """Open the store. Raises StoreError."""
        locks = tuple(path for path in (self._state_dir / LOCK_NAME,) if path.exists())
        store = await asyncio.to_thread(Store.open, self._state_dir, wait_s=STORE_WAIT_S, also=locks)
        return Way(store, self._launcher, config)

    async def close(self, way: Way) -> None:
        """Nothing is left to let go of."""


class Shared:
    """One of many on a store. `on_wait` hears who leads instead, None where the store cannot be asked."""

    def __init__(
        self,
        membership: Membership,
        stop: asyncio.Event,
        read_at: datetime,
        on_wait: Callable[[AuthorityRow | None], None],
    ) -> None:
        self._membership, self._stop, self._read_at, self._on_wait = membership, stop, read_at, on_wait

    async def open(self, config: Config) -> Way | None:
        """Win the authority and open the store under it. Raises StoreError, AuthorityLost, ConfigError."""
        won = await self._membership.win(self._stop, self._on_wait)
        if won is None:
            return None
        me, epoch = won
        if self._stop.is_set():
            await self._membership.resign(epoch)
            return None
        log.info("this scheduler leads now, epoch %d", epoch)
        keeping = asyncio.create_task(self._membership.keep(epoch), name="authority")
        try:
            store = await asyncio.to_thread(self._open_store, config, me, epoch)
            try:
                in_force = await self._membership.in_force.config_for(store, config, self._read_at)
            except BaseException:
                await asyncio.to_thread(store.close)
                raise
        except BaseException:
            keeping.cancel()
            await self._membership.resign(epoch)
            raise
        launcher = ClusterLauncher(store, on_hint=self._hint)
        self._membership.on_news = launcher.look_soon
        return Way(store, launcher, in_force, keeping, epoch)

    async def close(self, way: Way) -> None:
        """Give the authority back: nothing writes under it any more."""
        assert way.keeping is not None
        way.keeping.cancel()
        await asyncio.gather(way.keeping, return_exceptions=True)
        await way.launcher.close()
        await self._membership.resign(way.epoch)

    def _open_store(self, config: Config, me: Identity, epoch: int) -> Store:
        settings = config.settings
        store = Store.open(settings.state_dir, url=settings.store, wait_s=STORE_WAIT_S, shared=True)

        def hold(transaction: Transaction) -> None:
            if not transaction.rows(GUARD, me=me.inc_id, mine=epoch):
                raise AuthorityLost("another scheduler leads this store now", where=f"epoch {epoch}")

        store.sharing = Sharing(hold)
        return store

    def _hint(self) -> None:
        if self._membership.node is not None:
            self._membership.node.hint()
