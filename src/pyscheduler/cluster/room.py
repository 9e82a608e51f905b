"""Whether this host can write what attempts need: on a full disk nothing is started (FC-052), and others have room.

What must always hold: it is asked before S3, so that a claim can still be given back unstarted, and the run is nobody's
failure; who could not write asks again, once a second at most, before he claims anything.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

NEEDED: Final = 65_536
"""Bytes: identities, notes and the beginnings of logs of some attempts. A fixed sum, so that two looks agree."""
AGAIN_S: Final = 1.0


class Room:
    """The folders that attempts' files go to. `boot` is the boot clock in seconds. Blocking: for a helper thread."""

    def __init__(self, folders: Sequence[Path], boot: Callable[[], float]) -> None:
        self._folders, self._boot = tuple(dict.fromkeys(folders)), boot
        self._again_at = 0.0
        self.lacks = False
        """Whether there was none when it was last looked."""

    def has(self) -> bool:
        """Whether attempts' files can be written. What has changed is said in the log, once."""
        if self.lacks and self._boot() < self._again_at:
            return False
        try:
            for folder in self._folders:
                _write(folder)
        except OSError as error:
            if not self.lacks:
                why = error.strerror or str(error)
                log.error("%s cannot be written: %s; this node claims nothing until it can", folder, why)  # noqa: TRY400
            self.lacks, self._again_at = True, self._boot() + AGAIN_S
            return False
        if self.lacks:
            log.warning("%s can be written again: this node claims again", " and ".join(map(str, self._folders)))
        self.lacks = False
        return True


def _write(folder: Path) -> None:
    """Write a file and remove it. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f".room-{os.getpid()}"
    try:
        with path.open("wb") as file:
            file.write(bytes(NEEDED))
    finally:
        with suppress(OSError):
            path.unlink()
