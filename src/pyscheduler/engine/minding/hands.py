"""The launcher's own helper threads, for whatever loop is running: files are touched here and never on the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
