"""The API's own few threads: what a request reads from disk never keeps the engine's reads waiting, nor the loop.

Bounded twice: so many calls at once, and so many that wait for a turn; beyond that the answer is 503.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

from pyscheduler.errors import Unavailable

WORKERS: Final = 4
WAITING: Final = 200

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """Runs calls that block."""

    def __init__(self, workers: int = WORKERS, waiting: int = WAITING, name: str = "api") -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=name)
        self._most, self._under_way = workers + waiting, 0

    async def __call__(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what the call returns. Raises what it raises, and Unavailable where too many wait already."""
        if self._under_way >= self._most:
            raise Unavailable("too many requests are waiting already", mend="ask again in a moment")
        self._under_way += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, partial(call, *args, **kwargs))
        future.add_done_callback(self._done)
        return await future

    def _done(self, _future: object) -> None:
        self._under_way -= 1

    def close(self) -> None:
        """Take no more calls; those under way end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)
