"""The file in which an incarnation says how long its word holds, read by minders of `on_uncertain: stop`. DESIGN 6.

What must always hold: what stands there was confirmed by the store, and counts from before the heartbeat was sent, so a
minder never believes longer than the others do. One file an incarnation, in the state_dir: `tick`, `work` and `serve`
may share one, and nobody vouches for what another owns; whoever adopts an attempt lets it hang on its own word.
"""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from pyscheduler.engine.ports import LaunchSpec
from pyscheduler.minder import lease
from pyscheduler.model.job import Job, OnUncertain
from pyscheduler.store.claims import Claims, Timing

log = logging.getLogger(__name__)

KEPT_S: Final = 86_400.0
"""Files that nobody has written for so long are removed: whoever they were of is long out of its lease."""


class LeaseFile:
    """See above. Written by the heart's thread."""

    def __init__(self, state_dir: Path, inc_id: str, timing: Timing) -> None:
        self.path = Path(os.path.abspath(state_dir), lease.FOLDER, inc_id)
        self._timing = timing
        self._is_begun = self._is_wrong = False

    @classmethod
    def of(cls, claims: Claims) -> LeaseFile:
        """Return that of an incarnation."""
        return cls(Path(claims.me.state_dir), claims.me.inc_id, claims.timing)

    def say(self, until: float) -> None:
        """Say that our word holds until this instant of the boot clock; -inf: it is over.

        A file that cannot be written is said once, in the log: its attempts end as they would if the store were away.
        """
        try:
            if not self._is_begun:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lease.write(os.fspath(self.path), max(0.0, until))
            if not self._is_begun:
                _remove_older(self.path)
            self._is_begun, self._is_wrong = True, False
        except OSError as error:
            if not self._is_wrong:
                log.error("%s cannot be written, so attempts of `on_uncertain: stop` will end: %s", self.path, error)  # noqa: TRY400
            self._is_begun, self._is_wrong = False, True  # its folder may be what is gone: the next word makes it anew

    def bound(self, spec: LaunchSpec, job: Job | None) -> LaunchSpec:
        """Return what to launch, so that it ends with our word where its job says so."""
        if job is None or job.on_uncertain is not OnUncertain.STOP:
            return spec
        return replace(spec, lease_path=self.path, lease_grace_s=self._timing.kill_grace_s)


def take_over(status_path: str, claims: Claims) -> None:
    """Let an attempt that was adopted hang on our word, if it hangs on one at all."""
    path = LeaseFile.of(claims).path
    try:
        lease.bind_again(status_path, os.fspath(path))
    except OSError as error:
        log.error("%s hangs on its dead owner's lease and will end with it: %s", status_path, error)  # noqa: TRY400


def _remove_older(mine: Path) -> None:
    """Remove what incarnations of the past have left beside the file that was just written."""
    now = mine.stat().st_mtime
    for path in mine.parent.iterdir():
        try:
            if now - path.stat().st_mtime > KEPT_S:
                path.unlink()
        except OSError as error:  # another has removed it, or nobody may
            log.info("%s stays: %s", path, error)
