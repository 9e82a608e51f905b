"""The scheduler of the crash test: `pysched serve` with three things that no user needs.

Its nursery can be given crash points, it can be killed around a commit, and what is removed from `status/` is copied
to an archive first, so that afterwards the identity of every attempt says which minder and which nursery guarded it.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

from pyscheduler.engine.minding import tidy
from pyscheduler.minder import notes
from pyscheduler.model.batch import Batch
from pyscheduler.service import Options, house, run
from pyscheduler.service.logs import logging_to
from pyscheduler.store import Store

NURSERY = "FAULTS_NURSERY"
"""The nursery's whole environment, as JSON."""
ARCHIVE = "FAULTS_ARCHIVE"
"""The folder that keeps what `status/` loses."""
COMMIT = "FAULTS_COMMIT"
"""`before:17` or `after:17`: die at the 17th commit, before it is made or once it is durable."""

PROGRAM = "from tests.faults.crashing.driver import main; main()"


def main() -> None:
    """Serve the configuration named on the command line until told to stop, or until a point kills us."""
    house.MinderLauncher = functools.partial(  # type: ignore[assignment,misc]
        house.MinderLauncher, env=json.loads(os.environ[NURSERY])
    )
    tidy.remove_all = functools.partial(_keep_and_remove, Path(os.environ[ARCHIVE]), tidy.remove_all)
    if COMMIT in os.environ:
        when, _, count = os.environ[COMMIT].partition(":")
        Store.apply = _Mortal(Store.apply, when, int(count)).bound()  # type: ignore[method-assign]
    with logging_to(level="INFO"):
        sys.exit(run(sys.argv[1], Options()))


def _keep_and_remove(archive: Path, remove_all: object, statuses: Iterable[str]) -> None:
    """Copy, never link: a link would make a removed identity look as if it were still there."""
    statuses = list(statuses)
    for status in statuses:
        for name in (status, notes.identity_path(status)):
            if os.path.exists(name):
                shutil.copyfile(name, archive / os.path.basename(name))
    assert callable(remove_all)
    remove_all(statuses)


class _Mortal:
    """`Store.apply` that is passed so many times."""

    def __init__(self, apply: object, when: str, count: int) -> None:
        self._apply, self._when, self._left = apply, when, count

    def bound(self) -> object:
        def apply(store: Store, batch: Batch) -> None:
            self._left -= 1
            if self._left == 0 and self._when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            assert callable(self._apply)
            self._apply(store, batch)
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        return apply
