"""Whether a folder's locks are believed, asked once a folder."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from pyscheduler.engine.minding.hands import Hands
from pyscheduler.engine.minding.locktest import lasting_fault

_log = logging.getLogger(__name__)


class Locks:
    """`always` True or False answers for every folder, None tries each."""

    def __init__(self, hands: Hands, always: bool | None) -> None:
        self._hands, self._always = hands, always
        self._known: dict[str, bool] = {}

    async def work_for(self, status_path: Path) -> bool:
        """Whether locks decide in the folder of this note. A folder that does not exist is made.

        OSError where that cannot be found out now: the answer is kept for life, so none is given for want of room.
        """
        if self._always is not None:
            return self._always
        folder = os.path.dirname(os.fspath(status_path))
        if folder not in self._known:
            fault = await self._hands(lasting_fault, folder)
            if fault:
                _log.warning("locks do not work in %s: %s; see docs/concepts/recovery.md", folder, fault)
            self._known[folder] = not fault
        return self._known[folder]
