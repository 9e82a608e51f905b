"""Signals of a serving process: TERM and INT ask it to stop, a second one to hurry, HUP to reload.

Jobs never get them: each is in a session of its own, so Ctrl-C in a terminal reaches this process alone. Outside the
main thread there are no signals to hear, and nothing is changed.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

log = logging.getLogger(__name__)

STOPPING: Final = (signal.SIGTERM, signal.SIGINT)


class Wishes:
    """What was asked of this process: `stop` once, `hurry` when asked again."""

    def __init__(self, stop: asyncio.Event | None = None) -> None:
        self.stop = stop or asyncio.Event()
        self.hurry = asyncio.Event()

    def ask_to_stop(self, who: str) -> None:
        """Ask once to stop, again to hurry."""
        if not self.stop.is_set():
            log.info("%s: stopping; running jobs go on under their minders", who)
            self.stop.set()
        elif not self.hurry.is_set():
            log.warning("%s again: not waiting for requests and launches any longer", who)
            self.hurry.set()


@contextmanager
def heard(wishes: Wishes, reload: Callable[[], None]) -> Iterator[None]:
    """Listen to signals while the block runs; `reload` is called on the loop for each HUP."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    for number in STOPPING:
        loop.add_signal_handler(number, wishes.ask_to_stop, number.name)
    loop.add_signal_handler(signal.SIGHUP, reload)
    try:
        yield
    finally:
        for number in (*STOPPING, signal.SIGHUP):
            loop.remove_signal_handler(number)
