"""The authority's launcher: it starts nothing, it looks at what the nodes have written. DESIGN 6.

What must always hold: what is told to the engine is committed; an end is told as often as it is looked at until the
engine has taken it over, so nothing rests on a notification. A hint only shortens the next wait, which is a second at
most; while something happens it is much shorter.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Final, Protocol

from pyscheduler.engine.offers import NodeHandle
from pyscheduler.engine.ports import (
    AttemptHandle,
    AttemptRef,
    Finished,
    Found,
    LaunchSpec,
    Lost,
    Running,
    Seen,
    Watcher,
)
from pyscheduler.errors import LaunchError, StoreError
from pyscheduler.model.run import Attempt
from pyscheduler.rules.retry import result_of

log = logging.getLogger(__name__)

SOON_S: Final = 0.05
LATEST_S: Final = 1.0
GATHER_S: Final = 0.05
SLOWER: Final = 1.4
"""After a look that brought nothing the next wait is so many times as long."""
LET_GO: Final = "its node let go of it without an end"
GONE: Final = "no attempt is recorded, so nothing was started"


class SharedStore(Protocol):
    """What is looked at: a `Store` that is shared."""

    def running_attempts(self) -> list[tuple[str | None, Attempt]]: ...
    def take_back(self, run_ids: Collection[str] | None) -> set[str]: ...


class ClusterLauncher:
    """One engine's view of the nodes. `on_hint` hears that something was offered."""

    def __init__(self, store: SharedStore, *, on_hint: Callable[[], None] = lambda: None) -> None:
        self._store, self._on_hint = store, on_hint
        self._watcher: Watcher | None = None
        self._looking: asyncio.Task[None] | None = None
        self._hinted = asyncio.Event()
        self._found: asyncio.Task[dict[str, tuple[str | None, Attempt]]] | None = None

    # ----------------------------------------------------------------- offering

    def bind(self, watcher: Watcher | None) -> None:
        """Tell `watcher`, on the loop, of every attempt that has started or ended; None: tell nobody any more."""
        self._watcher, self._found = watcher, None
        if self._looking is not None:
            self._looking.cancel()
        self._looking = None if watcher is None else asyncio.get_running_loop().create_task(self._look(watcher))

    def hint(self) -> None:
        """Something was offered: nodes may look at once."""
        self._on_hint()
        self._hinted.set()

    def look_soon(self) -> None:
        """A node has written something: look at once."""
        self._hinted.set()

    async def look(self) -> None:
        """Tell the watcher of all that the nodes have written by now. Raises StoreError."""
        rows = await asyncio.to_thread(self._store.running_attempts)
        if self._watcher is not None:
            self._watcher([seen_of(owner, attempt) for owner, attempt in rows])

    async def take_back(self, run_ids: Collection[str] | None) -> set[str]:
        """End offers; returns the runs that nobody had claimed. Raises StoreError."""
        if run_ids is not None and not run_ids:
            return set()
        return await asyncio.to_thread(self._store.take_back, run_ids)

    async def _look(self, watcher: Watcher) -> None:
        wait_s, before = SOON_S, set[tuple[str, int, bool]]()
        while True:
            seen: list[Seen] = []
            try:
                rows = await asyncio.to_thread(self._store.running_attempts)
                seen = [seen_of(owner, attempt) for owner, attempt in rows]
                watcher(seen)
            except StoreError as error:
                log.warning("the nodes' work cannot be looked at: %s", error)
            except Exception:  # who stopped looking here would hear of no end any more
                log.exception("what the nodes have written could not be taken over; it is looked at again")
            now = {(each.run_id, each.attempt.attempt, each.result is None) for each in seen}
            wait_s = SOON_S if now != before or self._hinted.is_set() else min(wait_s * SLOWER, LATEST_S)
            before = now
            self._hinted.clear()
            await asyncio.sleep(GATHER_S)  # in a rush, what is written meanwhile is seen together
            try:
                await asyncio.wait_for(self._hinted.wait(), wait_s)
            except TimeoutError:
                continue

    # ----------------------------------------------------------------- the launcher's port

    async def launch(self, spec: LaunchSpec) -> AttemptHandle:
        """Refuse: attempts are started by who has claimed them."""
        raise LaunchError(f"{spec.run_id} is offered to the nodes, and nothing is started by the authority itself")

    async def find(self, ref: AttemptRef) -> Found:
        """Read the claim: ended, owned, or let go of."""
        if self._found is None:
            self._found = asyncio.get_running_loop().create_task(asyncio.to_thread(self._read))
        owner, attempt = (await asyncio.shield(self._found)).get(ref.run_id, (None, None))
        if attempt is None or attempt.attempt != ref.attempt:
            return Lost(GONE)
        if owner is not None:
            return Running(NodeHandle(lambda _by, _reason: None))
        result = seen_of(owner, attempt).result
        return Lost(LET_GO) if result is None else Finished(result)

    def _read(self) -> dict[str, tuple[str | None, Attempt]]:
        return {attempt.run_id: (owner, attempt) for owner, attempt in self._store.running_attempts()}

    async def discard(self, refs: Iterable[AttemptRef]) -> None:
        """Leave the files to the nodes: each removes its own."""

    async def sweep(self, folder: Path, known: Callable[[str], bool | None]) -> tuple[Path, ...]:
        """Leave the files to the nodes: each sweeps its own."""
        return ()

    async def close(self) -> None:
        """Look no more."""
        self.bind(None)


def seen_of(owner: str | None, attempt: Attempt) -> Seen:
    """Return what a running run's row says: it still goes, or it has ended and is nobody's."""
    has_ended = owner is None and attempt.ended_at is not None and attempt.outcome is not None
    return Seen(attempt.run_id, attempt, result_of(attempt) if has_ended else None)
