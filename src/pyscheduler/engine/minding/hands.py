"""The launcher's own helper threads, for whatever loop is running: files are touched here and never on the loop.

A trip to a thread and back costs more than most of what is done there, so what many ask for travels together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

T = TypeVar("T")
THREADS: Final = 2


class Hands:
    """A few threads, started when first needed and gone after `close`."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    async def __call__(self, call: Callable[..., T], *args: object) -> T:
        """Run the call on a helper thread and wait for its result.

        A caller who is cancelled waits for the thread all the same: what touches files has then been done or not, and
        whoever comes next sees which.
        """
        if self._pool is None:
            self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="pysched-minding")
        work = self._pool.submit(call, *args)
        try:
            return await asyncio.wrap_future(work)
        except asyncio.CancelledError:
            if not work.cancelled():  # it had begun
                await asyncio.wait([asyncio.wrap_future(work)])
            raise

    def close(self) -> None:
        """Let the threads go once they have finished what they do."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None


class Together:
    """One kind of work on many paths: what is asked for while the threads are busy with it goes in the next trip.

    `work` gets the paths and answers with one error, or None, for each. Belongs to the loop that first uses it.
    """

    def __init__(self, hands: Hands, work: Callable[[Sequence[str]], Sequence[OSError | None]]) -> None:
        self._hands, self._work = hands, work
        self._asked: list[tuple[str, asyncio.Future[None]]] = []
        self._trips: asyncio.Task[None] | None = None

    async def __call__(self, path: str) -> None:
        """Return when the work on this path is done; raises its OSError. A cancelled caller waits all the same."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._asked.append((path, done))
        if self._trips is None:
            self._trips = loop.create_task(self._travel(), name="files together")
            self._trips.add_done_callback(self._called_off)
        try:
            await asyncio.shield(done)
        except asyncio.CancelledError:
            await asyncio.wait([done])
            raise

    async def _travel(self) -> None:
        while self._asked:
            group, self._asked = self._asked, []
            await self._one_trip(group)
        self._trips = None  # in the same turn as the look: who asks from now on sets out anew

    def _called_off(self, trips: asyncio.Task[None]) -> None:
        """The loop ends: there will be no trip for those who still wait."""
        if trips.cancelled():
            left, self._asked, self._trips = self._asked, [], None
            for _, done in left:
                done.cancel()

    async def _one_trip(self, group: list[tuple[str, asyncio.Future[None]]]) -> None:
        try:
            errors = await self._hands(self._work, [path for path, _ in group])
            for (_, done), problem in zip(group, errors, strict=True):
                _answer(done, problem)
        except BaseException as error:
            for _, done in group:
                _answer(done, error)
            if not isinstance(error, Exception):
                raise


def _answer(done: asyncio.Future[None], error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(None)
    elif isinstance(error, asyncio.CancelledError):
        done.cancel()
    else:
        done.set_exception(error)


class Turns:
    """Makes those wait who ask for the same key: `launch` and `find` of one attempt exclude each other."""

    def __init__(self) -> None:
        self._taken: dict[str, asyncio.Future[None]] = {}

    @asynccontextmanager
    async def alone(self, key: str) -> AsyncIterator[None]:
        """Hold the key for the length of the block."""
        while (taken := self._taken.get(key)) is not None:
            await asyncio.shield(taken)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._taken[key] = done
        try:
            yield
        finally:
            self._taken.pop(key, None)
            done.set_result(None)
