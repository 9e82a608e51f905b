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
    from types import FrameType

AGAIN_S: Final = 0.02
"""How long after it was lost it comes again; once more if it is lost again."""


def keep_interrupts() -> None:
    """Let each KeyboardInterrupt that Python ignored be raised a moment later. For the main thread, once a process."""
    before = sys.unraisablehook

    def hook(ignored: UnraisableHookArgs) -> None:
        if issubclass(ignored.exc_type, KeyboardInterrupt):
            signal.signal(signal.SIGALRM, once_more)
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
        else:
            before(ignored)

    def once_more(_number: int, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code is hook.__code__:  # a slow machine is still there, and it would be lost again
                signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
                return
            frame = frame.f_back
        raise KeyboardInterrupt

    sys.unraisablehook = hook
