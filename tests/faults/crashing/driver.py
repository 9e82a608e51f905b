"""The scheduler of the crash test: `pysched serve` with three things that no user needs.

Its nursery can be given crash points, it can be killed around a commit, and what is removed from `status/` is copied
to an archive first, so that afterwards the identity of every attempt says which minder and which nursery guarded it.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from pyscheduler.engine.launcher import MinderLauncher
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


Removal = Callable[[Iterable[str]], None]
Saving = Callable[[Store, Batch], None]


def main() -> None:
    """Serve the configuration named on the command line until told to stop, or until a point kills us."""
    launcher = functools.partial(MinderLauncher, env=json.loads(os.environ[NURSERY]))
    vars(house)["MinderLauncher"] = launcher
    vars(tidy)["remove_all"] = _keeping(tidy.remove_all, Path(os.environ[ARCHIVE]))
    if COMMIT in os.environ:
        when, _, count = os.environ[COMMIT].partition(":")
        Store.apply = _mortal(Store.apply, when, int(count))  # type: ignore[method-assign,assignment]
    with logging_to(level="INFO"):
        sys.exit(run(sys.argv[1], Options()))


def _keeping(remove_all: Removal, archive: Path) -> Removal:
    """Return a removal that copies first. It never links: a link makes a removed identity look as if still there."""

    def keep_and_remove(statuses: Iterable[str]) -> None:
        statuses = list(statuses)
        for status in statuses:
            for name in (status, notes.identity_path(status)):
                if os.path.exists(name):
                    shutil.copyfile(name, archive / os.path.basename(name))
        remove_all(statuses)

    return keep_and_remove


def _mortal(apply: Saving, when: str, count: int) -> Saving:
    """Return a saving that is survived so many times less one."""
    left = itertools.count(count - 1, -1)

    def save(store: Store, batch: Batch) -> None:
        last = next(left) == 0
        if last and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        apply(store, batch)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)

    return save
