"""Named points of the protocol at which a scheduler under test can be killed or stopped: one order, carried out once.

The order is a file in the scheduler's folder, `kill POINT` or `stop POINT`. Whoever comes to that point takes the file
away and sends itself the signal, in the middle of what it does there, with all its threads.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

FOLDER: Final = "FAULTS_FOLDER"
"""The scheduler's folder."""
ORDER: Final = "order"
SIGNALS: Final = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}

BEFORE_CLAIM: Final = "before claim"
AFTER_CLAIM: Final = "after claim"
BEFORE_START: Final = "before start"
AFTER_START: Final = "after start"
AFTER_END: Final = "after end"
IN_S7: Final = "in S7"
IN_S12: Final = "in S12"
POINTS: Final = (BEFORE_CLAIM, AFTER_CLAIM, BEFORE_START, AFTER_START, AFTER_END, IN_S7, IN_S12)


def give(folder: Path, how: str, point: str) -> None:
    """Let the scheduler of this folder be hit when it next comes to this point."""
    part = folder / f"{ORDER}.new"
    part.write_text(f"{how} {point}")
    part.rename(folder / ORDER)


def is_given(folder: Path) -> bool:
    """Whether an order waits to be carried out."""
    return (folder / ORDER).exists()


def take_back(folder: Path) -> None:
    """End an order that was not carried out."""
    (folder / ORDER).unlink(missing_ok=True)


def set_up(folder: Path) -> None:
    """Put the points into this process's protocol."""
    from pyscheduler.store.claims import Claims, making, revoking

    def meet(point: str) -> None:
        order = folder / ORDER
        if not order.exists():
            return
        how, _, where = order.read_text().partition(" ")
        if where == point:
            order.unlink(missing_ok=True)
            os.kill(os.getpid(), SIGNALS[how])

    _around(Claims, "claim", meet, before=BEFORE_CLAIM, after=AFTER_CLAIM, if_any=True)
    _around(Claims, "start", meet, before=BEFORE_START, after=AFTER_START, if_any=True)
    _around(Claims, "outcome", meet, before=AFTER_END)
    _around(Claims, "outcomes", meet, before=AFTER_END)
    _around(revoking, "_revoke", meet, after=IN_S7)
    _around(making, "_move", meet, after=IN_S12)


def _around(
    of: Any, name: str, meet: Callable[[str], None], *, before: str = "", after: str = "", if_any: bool = False
) -> None:
    """Let a step come to a point before it begins, and after it: `if_any`, where it gave something."""
    step = getattr(of, name)

    def met(*given: Any, **more: Any) -> Any:
        if before:
            meet(before)
        found = step(*given, **more)
        if after and (found or not if_any):
            meet(after)
        return found

    setattr(of, name, met)
