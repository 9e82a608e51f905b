"""Finding attempts again, and following those that nobody reports on. DESIGN 4, "Finding again"."""

from __future__ import annotations

import asyncio
import os
from typing import Final

from pyscheduler.engine.minding import sight
from pyscheduler.engine.minding.census import CensusTaker
from pyscheduler.engine.minding.follow import Follower
from pyscheduler.engine.minding.handle import Keeper, MinderHandle
from pyscheduler.engine.minding.hands import Hands
from pyscheduler.engine.minding.locks import Locks
from pyscheduler.engine.ports import AttemptRef, Finished, Found, Lost, Running

TWICE_S: Final = 0.1
ROUND_S: Final = 2.0
AT_ONCE: Final = 64
"""Locks held for a look at the same time: each is a descriptor."""


class Finder:
    """Looks, and keeps the handles of attempts that are followed. Belongs to one loop; `boot` is this boot's id."""

    def __init__(self, hands: Hands, locks: Locks, boot: str) -> None:
        self._hands, self._locks, self._boot = hands, locks, boot
        self._census = CensusTaker(hands)
        self._places = asyncio.Semaphore(AT_ONCE)
        self._followed: dict[str, MinderHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._round: asyncio.Task[None] | None = None

    @property
    def followed(self) -> tuple[MinderHandle, ...]:
        """The attempts being followed."""
        return tuple(self._followed.values())

    async def find(self, ref: AttemptRef, keeper: Keeper) -> Found:
        """Answer what became of an attempt; one that runs is followed from now on."""
        if (known := self._followed.get(ref.key)) is not None:
            return Running(known)
        seen: sight.Sight | None
        try:
            seen = await self._look(ref)
            if isinstance(seen, sight.Bare | sight.Owed | sight.Gone):
                await asyncio.sleep(TWICE_S)  # a guardian or a note may appear meanwhile, and wins
                seen = await self._look(ref)
        except OSError:
            seen = None  # who cannot look cannot call it lost: it counts as running, and is looked at again
        match seen:
            case sight.Noted(result):
                return Finished(result)
            case sight.Nothing(reason) | sight.Gone(reason):
                return Lost(reason)
        handle = MinderHandle(keeper, ref)
        self.follow(handle, seen)
        return Running(handle)

    def follow(self, handle: MinderHandle, seen: sight.Sight | None = None) -> None:
        """Follow a handle to its end."""
        self._followed[handle.ref.key] = handle
        task = asyncio.get_running_loop().create_task(self._run(handle, seen))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self._round is None or self._round.done():
            self._round = asyncio.get_running_loop().create_task(self._make_rounds())

    def close(self) -> None:
        """Follow nobody any more."""
        for task in self._tasks:
            task.cancel()
        if self._round is not None:
            self._round.cancel()

    async def _run(self, handle: MinderHandle, seen: sight.Sight | None) -> None:
        while handle.result is None:
            try:
                await Follower(handle, self._look).run(seen)
            except OSError as error:
                handle.change(pid=handle.pid, guardian=handle.guardian, remark=f"cannot look after it: {error}")
                await asyncio.sleep(ROUND_S)
            seen = None
        if self._followed.get(handle.ref.key) is handle:
            del self._followed[handle.ref.key]

    async def _make_rounds(self) -> None:
        """Wake the followers whose note has appeared although their minder lives on, every 2 s."""
        while self._followed:
            await asyncio.sleep(ROUND_S)
            handles = list(self._followed.values())
            paths = [os.fspath(handle.ref.status_path) for handle in handles]
            for handle, there in zip(handles, await self._hands(_which_exist, paths), strict=True):
                if there:
                    handle.nudge()

    async def _look(self, ref: AttemptRef) -> sight.Sight:
        """Look once. The lock is held only while we look."""
        lock = await self._locks.work_for(ref.status_path)
        async with self._places:
            held: list[sight.Unguarded] = []
            try:
                found = await self._hands(_grab, ref, self._boot, lock, held)
            except asyncio.CancelledError:
                for one in held:
                    one.close()  # else our own lock would look like a guardian for ever
                raise
            if isinstance(found, sight.Unguarded):
                try:
                    return sight.judge(found.identity, await self._census.fresh(), self._boot)
                finally:
                    found.close()
            if isinstance(found, sight.Nothing) and not found.sure and ref.boot_id == self._boot:
                return sight.without_file(found, await self._census.fresh(), ref.key)
            return found


def _grab(
    ref: AttemptRef, boot: str, lock: bool, held: list[sight.Unguarded]
) -> sight.Noted | sight.Nothing | sight.Guarded | sight.Unguarded:
    found = sight.grab(ref, boot, lock=lock)
    if isinstance(found, sight.Unguarded):
        held.append(found)
    return found


def _which_exist(paths: list[str]) -> list[bool]:
    return [os.path.exists(path) for path in paths]
