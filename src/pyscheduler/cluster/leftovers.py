"""What attempts have left in this host's folder: notes that somebody else has told of, or that nobody waited for.

What must always hold: only files of attempts go that the store knows to be over, with their runs; what it does not know
is left alone. Spec: DESIGN 4.
"""

from __future__ import annotations

import logging
from pathlib import Path

from pyscheduler.cluster.shift import Shift
from pyscheduler.engine.ports import Launcher
from pyscheduler.engine.prune import runs_in
from pyscheduler.errors import StoreError

log = logging.getLogger(__name__)


async def sweep(shift: Shift, launcher: Launcher, state_dir: Path) -> None:
    """Remove what is over. What cannot be removed now is left to a later pass."""
    folder = state_dir / "status"
    try:
        here = await shift.call(lambda: runs_in(folder)) if folder.is_dir() else set()
        if here:
            keys = await shift.call(lambda: shift.claims.keys_of_runs(here))
            await launcher.sweep(folder, keys.get)
    except (StoreError, OSError) as error:
        log.warning("%s cannot be tidied now: %s", folder, error)
