"""Ctrl-C that is not lost: where Python may not raise, it only says that it has ignored an exception, and goes on.

That happens to a KeyboardInterrupt that comes while a weak reference's callback or a finalizer runs, as after each
import. A command that follows a log would then go on for ever, and the operator would have to press again.
"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

AGAIN_S: Final = 0.02
"""How long after it was lost it comes again; once more if it is lost again."""


def keep_interrupts() -> None:
    """Let each KeyboardInterrupt that Python ignored be raised a moment later. For the main thread, once a process."""
    before = sys.unraisablehook

    def hook(ignored: UnraisableHookArgs) -> None:
        if not issubclass(ignored.exc_type, KeyboardInterrupt):
            before(ignored)
            return
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)

    sys.unraisablehook = hook
