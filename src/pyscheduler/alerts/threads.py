"""Sending is waiting, and waiting is done on threads that nobody depends on.

One daemon thread a send: a receiver that never answers keeps its own thread, and neither the loop, another notifier nor
the end of the process waits for it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress


def in_thread(call: Callable[[], None], name: str, on_end: Callable[[], None] = lambda: None) -> asyncio.Future[None]:
    """Run a call on a thread of its own; the future has its end. `on_end` is called on the loop when the thread ends.

    A future that is cancelled leaves the thread alone: it ends when it ends.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        on_end()
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    def work() -> None:
        error: BaseException | None = None
        try:
            call()
        except BaseException as raised:  # noqa: BLE001 - whatever it is, whoever waits hears of it
            error = raised if isinstance(raised, Exception) else RuntimeError(repr(raised))
        with suppress(RuntimeError):  # the loop has closed: nobody waits any more
            loop.call_soon_threadsafe(settle, error)

    try:
        threading.Thread(target=work, name=name, daemon=True).start()
    except RuntimeError:  # the machine has no room for another thread now
        on_end()
        raise
    return future
