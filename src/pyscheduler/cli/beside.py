"""A pass of `tick` where `pysched serve` has the same SQLite store: it is left to serve, and said so. DESIGN 6.

What must always hold: what is due is started once, and by whoever makes the runs, which is serve as long as it lives;
a pass beside it starts nothing, and is a success only where serve certainly runs these very jobs (the texts of both
are the same) and is up to it. It asks through the socket in the state folder, as every command does.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from pyscheduler.cli import at_home
from pyscheduler.cli.faults import CommandError, Refused, Unreachable

if TYPE_CHECKING:
    from pyscheduler.cli.client import Json
    from pyscheduler.cli.session import Session
    from pyscheduler.config import Config

ASKED_S: Final = 10.0
"""As long as a pass waits for the store's lock otherwise."""


class Left(NamedTuple):
    """What a pass has left to serve. `held_off`: why serve does nothing about it now, empty where it does."""

    pid: int
    running: int = 0
    queued: int = 0
    next_firing: str | None = None
    held_off: str = ""

    def words(self) -> str:
        """Say it to people."""
        if self.held_off:
            return self.held_off
        then = f", next due {self.next_firing}" if self.next_firing else ""
        return (
            f"`pysched serve` (pid {self.pid}) runs these jobs, so this pass has nothing to start: "
            f"{self.running} running, {self.queued} queued{then}"
        )

    def document(self) -> dict[str, object]:
        """Say it to programs."""
        return {"pid": self.pid, "running": self.running, "queued": self.queued, "next_firing": self.next_firing}


def left_to_serve(session: Session, config: Config) -> Left | None:
    """Return what a living serve makes of this pass; None where there is none, so that the pass is ours to make.

    Raises CommandError where serve has this store with other jobs: ours would be run by nobody.
    """
    if config.settings.store is not None or (pid := at_home.scheduler_of(config.settings.state_dir)) is None:
        return None
    try:
        told = session.hasty_client(ASKED_S).get("/api/scheduler")
    except (Unreachable, Refused) as error:
        if at_home.scheduler_of(config.settings.state_dir) is None:
            return None  # it has just ended
        what = (
            f"`pysched serve` (pid {pid}) has this store and does not run its jobs now ({error.what}); nothing was made"
        )
        return Left(pid, held_off=what)
    _same_jobs(told, config, pid)
    return Left(pid, told["slots"]["in_use"], told["queued"], told["next_firing"])


def _same_jobs(told: Json, config: Config, pid: int) -> None:
    if told["config"]["digest"] == config.digest:
        return
    theirs = told["config"]["path"]
    what = f"`pysched serve` (pid {pid}) has this store with another configuration"
    mend = "let it read this one (`pysched reload`), or give tick a state_dir of its own"
    if Path(theirs).resolve() != config.path.resolve():
        what, mend = f"{what}, that of {theirs}", "make the pass with that one, or give tick a state_dir of its own"
    raise CommandError(what, where=str(config.path), mend=mend)
