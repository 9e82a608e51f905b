"""Run and sleep on asyncio, a few dozen lines anyone can hold in the head.

The coroutines of pyscheduler are plain asyncio coroutines, so `asyncio.run` drives them just as well. This module
only picks uvloop when it is installed and shortens the five calls that programs need.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

_spawned: set[asyncio.Task[Any]] = set()
"""asyncio keeps only weak references to tasks; spawn() keeps its own until each ends."""


def run(main: Coroutine[Any, Any, T], *, debug: bool | None = None) -> T:
    """Run a coroutine to its end on a fresh loop and return its result; uvloop's loop when it is installed."""
    with asyncio.Runner(debug=debug, loop_factory=_loop_factory()) as runner:
        return runner.run(main)


async def sleep(seconds: float) -> None:
    """Let others work for `seconds`; 0 gives way for one turn of the loop."""
    await asyncio.sleep(seconds)


def spawn(work: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
    """Start a coroutine beside the present one; RuntimeError outside a running loop."""
    task = asyncio.get_running_loop().create_task(work, name=name)
    _spawned.add(task)
    task.add_done_callback(_spawned.discard)
    return task


async def run_in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a call that blocks (a file, a socket, a database) on a helper thread and wait for its result."""
    return await asyncio.to_thread(call, *args, **kwargs)


def get_running_loop() -> asyncio.AbstractEventLoop:
    """Return the loop that runs this very call; RuntimeError when there is none."""
    return asyncio.get_running_loop()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
