"""StoreWriter: many waiters, one trip to the disk at a time (group commit). Spec: jobs.md 8.2, DESIGN 3.

One long-lived thread commits. A save that finds it idle wakes it at the end of the loop's present turn, so saves posted
together travel together; everything that arrives while a commit is under way is merged into the next. That one sets out
once those whose saves have just been answered have had the word: what they say next, an operator's next trigger as
likely as not, need not wait for a whole commit that set out a moment earlier. What a caller may rely on:

- `save` returns when its batch is on disk, and not before; an idle writer commits at once;
- batches never overtake each other, and waiters are woken in the order in which they called `save`, within a group and
  across groups: the effects that follow are performed in the order of the decisions;
- a group is all or nothing; when it fails, it and everything after it fails with the same error, because a later
  decision may rest on one that was lost;
- a waiter that is cancelled does not take its batch back: it is saved all the same;
- what is sent with `ride_along` is on disk with the next batch that is posted, or before it.

The writer belongs to the loop that `start` was called on; only the list of pending batches is shared with the thread,
under a lock that is held for an instant. `docs/concepts/group-commit.md` tells it with a program to run.
"""

from __future__ import annotations

import asyncio
import threading
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Final

from pyscheduler.errors import StoreUnavailable
from pyscheduler.model.batch import Batch, merged
from pyscheduler.store.store import Store

TIDY_AFTER_S: Final = 1.0
"""How long the writer is idle before it empties the log into the file."""
TURNS: Final = 4
"""Turns of the loop from an answer to what follows: the future's callbacks, the trip's, the shield's, the task."""
LOOK_EVERY_S: Final = 30.0
"""How often an idle writer looks whether the files are still there."""

_Waiter = tuple[Batch, "Future[None]"]


class StoreWriter:
    """Saves batches in groups. `commits` counts trips to the disk; `failed` is the error that stopped it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop: AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._calls: SimpleQueue[bool] = SimpleQueue()  # True: there is work; False: end
        self._mutex = threading.Lock()
        self._pending: list[_Waiter] = []
        self._riders: list[Batch] = []
        self._awake = False
        """Whether a commit is under way or about to set out; touched on the loop only."""
        self._unsettled = 0
        self._closing = False
        self._waited_since = 0.0
        """On the loop's clock: since when something is unsettled without any commit having come back."""
        self.commits = 0
        self.on_commit: Callable[[float], object] | None = None
        """Told on the writer's thread how many seconds each commit took."""
        self.failed: BaseException | None = None

    @property
    def idle(self) -> bool:
        """Whether every batch given so far has been answered."""
        return self._unsettled == 0

    def waited_s(self) -> float:
        """Return for how many seconds somebody has waited without any commit coming back; 0 while nobody waits."""
        return 0.0 if self._loop is None or self.idle else self._loop.time() - self._waited_since

    def start(self) -> None:
        """Begin, on the running loop. RuntimeError outside one or when already started."""
        if self._thread is not None:
            raise RuntimeError("this writer was started before: make a new one")
        self._loop = asyncio.get_running_loop()
        # daemon: a program that never closes the writer must still be able to end
        self._thread = threading.Thread(target=self._serve, name="store-writer", daemon=True)
        self._thread.start()

    async def save(self, batch: Batch) -> None:
        """Return when the batch is on disk. Raises the error that stopped the writer, StoreUnavailable when closed."""
        await self.post(batch)

    def post(self, batch: Batch) -> Future[None]:
        """Take a batch; the future is done when it is on disk, or holds the error that stopped the writer.

        Raises what `save` raises where the writer has stopped already.
        """
        if self.failed is not None:
            raise self.failed
        if self._loop is None or self._closing:
            raise StoreUnavailable("the store's writer is not running", where=str(self._store.state_dir))
        if self._riders:
            batch, self._riders = merged((*self._riders, batch)), []
        future: Future[None] = self._loop.create_future()
        if self.idle:
            self._waited_since = self._loop.time()
        self._unsettled += 1
        with self._mutex:
            self._pending.append((batch, future))
        if not self._awake:
            self._awake = True
            self._loop.call_soon(self._calls.put, True)
        return future

    def ride_along(self, batch: Batch) -> None:
        """Take a batch along with the next one that is posted, ahead of it; it wakes nobody and nobody waits for it.

        For what must be known if, and only if, what follows happens. Without a later batch it is forgotten at the end.
        """
        self._riders.append(batch)

    async def close(self) -> None:
        """Save what is pending, then end the thread. Harmless when closed or never started."""
        thread = self._thread
        if thread is None or self._loop is None:
            return
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._calls.put, False)
        while thread.is_alive():
            await asyncio.to_thread(thread.join)

    # ----------------------------------------------------------------------- on the thread

    def _serve(self) -> None:
        tidy_in: float = TIDY_AFTER_S
        while True:
            try:
                more = self._calls.get(timeout=tidy_in)
            except Empty:
                self._tidy()
                tidy_in = LOOK_EVERY_S
                continue
            if not self._commit_pending() or not more:
                return
            tidy_in = TIDY_AFTER_S

    def _commit_pending(self) -> bool:
        """Save what is pending; False when the loop was closed meanwhile and nobody is left to be told."""
        assert self._loop is not None
        with self._mutex:
            group, self._pending = self._pending, []
        if group:
            error = self.failed or self._commit(group)
            try:
                self._loop.call_soon_threadsafe(self._settle, group, error)
            except RuntimeError:
                return False
        return True

    def _commit(self, group: list[_Waiter]) -> BaseException | None:
        began = perf_counter()
        try:
            self._store.apply(group[0][0] if len(group) == 1 else merged(batch for batch, _ in group))
        except BaseException as error:  # noqa: BLE001 - whatever it is, the waiters have to hear it
            self.failed = error
            return error
        self.commits += 1
        if self.on_commit is not None:
            self.on_commit(perf_counter() - began)
        return None

    def _tidy(self) -> None:
        try:
            if self.failed is None:
                self._store.tidy()
        except BaseException as error:  # noqa: BLE001 - said to whoever saves next
            self.failed = error

    # ----------------------------------------------------------------------- on the loop again

    def _settle(self, group: list[_Waiter], error: BaseException | None) -> None:
        """Wake the waiters in their order; one that was cancelled meanwhile is passed over."""
        assert self._loop is not None
        self._unsettled -= len(group)
        self._waited_since = self._loop.time()
        for _, future in group:
            if future.done():
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
        self._go_on(TURNS)

    def _go_on(self, turns: int) -> None:
        """Wake the thread again, so many turns from now, if there is more for it by then."""
        assert self._loop is not None
        if turns:
            self._loop.call_soon(self._go_on, turns - 1)
        elif self._pending:
            self._calls.put(True)
        else:
            self._awake = False
