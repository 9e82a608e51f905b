"""One seed, whole: schedulers start, things go wrong, all is healed, and what is left is judged."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.faults.cluster.checker import broken
from tests.faults.cluster.ending import BITES
from tests.faults.cluster.fleet import Crew, Fleet, Ground, fleet
from tests.faults.cluster.history import History, Promises
from tests.faults.cluster.nemesis import Plan
from tests.faults.cluster.player import Player
from tests.faults.cluster.world import Broken

SETTLE_S: Final = 120.0
SECOND_US: Final = 1_000_000
OPEN: Final = (
    "SELECT count(*) FROM runs WHERE scheduled_at <= %s AND state NOT IN "
    "('succeeded', 'failed', 'cancelled', 'skipped')"
)


@dataclass
class Tale:
    """What a seed came to."""

    plan: Plan
    history: History
    broken: list[Broken]
    log: list[str]
    counts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    """How often each kind of fault happened."""
    seconds: float = 0.0
    unsettled: bool = False
    """Whether something due had not ended in its time; where that is wrong, `broken` has it too."""

    def __str__(self) -> str:
        return json.dumps(
            {"seed": self.plan.seed, "quiet": self.plan.quiet, "s": round(self.seconds, 1), **self.counts}
        )

    def told(self) -> str:
        """Return all that a person needs to see what went wrong."""
        return "\n".join([str(self), *map(str, self.broken), *self.log])


def tell(folder: Path, crew: Crew, ground: Ground, plan: Plan, settle_s: float = SETTLE_S) -> Tale:
    """Play one plan and judge it."""
    began = time.monotonic()
    with fleet(folder, crew, ground) as made:
        made.start_all()
        made.until(lambda: count(made, "SELECT count(*) FROM runs"), "the first runs are made")
        player = Player(made, plan)
        player.play()
        cutoff = count(made, "SELECT db_now()")
        unsettled = not made.wait(lambda: has_passed(made, cutoff), settle_s)
        if unsettled:
            player.log.append(f"after {settle_s:g} s something due has not ended:\n{made.tell()}")
        made.stop_all() if plan.quiet else made.kill_all()
        configurations = count(made, "SELECT count(*) FROM configs")
        history = made.history(Promises(plan.quiet, wanted(made, cutoff), crew.room))
    wrong = broken(history)
    took_s = time.monotonic() - began
    return Tale(
        plan, history, wrong, player.log, _counts(history, player, configurations), player.done, took_s, unsettled
    )


def has_passed(made: Fleet, cutoff: int) -> bool:
    """Whether all runs due by then have been made, and have ended.

    That every one has been made is asked first: one that is made between two questions is open at the second.
    """
    with made.connect() as on:
        have = set(on.execute("SELECT job, scheduled_at FROM runs WHERE scheduled_at <= %s", (cutoff,)).fetchall())
    if not wanted(made, cutoff) <= have or count(made, OPEN, cutoff):
        return False
    return count(made, "SELECT coalesce(max(scheduled_at), 0) FROM runs") > cutoff


def wanted(made: Fleet, cutoff: int) -> frozenset[tuple[str, int]]:
    """Return every due time of a job from its first run on; none may be missing (`catch_up: all`)."""
    with made.connect() as on:
        first: dict[str, int] = dict(on.execute("SELECT job, min(scheduled_at) FROM runs GROUP BY job").fetchall())
    return frozenset(
        (job, at)
        for job, step in made.crew.steps
        for at in range(_next(first.get(job, cutoff), step * SECOND_US), cutoff + 1, step * SECOND_US)
    )


def _next(at: int, step: int) -> int:
    """Return the first multiple of a step from then on: an edition of a job may be due at other times as well."""
    return at + -at % step


def count(made: Fleet, words: str, *values: object) -> int:
    with made.connect() as on:
        [row] = on.execute(words.encode(), values).fetchall()
        return int(row[0])


def _counts(history: History, player: Player, configurations: int) -> Counter[str]:
    found: Counter[str] = Counter()
    found["runs"] = len(history.final("runs", "run_id"))
    found["executions"] = sum(effect.what == "begin" for effect in history.effects)
    for action in (*BITES, "adopted", "start_aborted"):
        found[action] = len(history.events(action))
    nodes: list[Any] = [row for row in history.final("leases", "name").values() if row["kind"] == "node"]
    found["incarnations"] = len(nodes)
    found["fenced"] = sum(row["fenced_at"] is not None and row["fence_reason"] != "exit" for row in nodes)
    found["takeovers"] = max([row["epoch"] for row in history.final("leases", "name").values()], default=0)
    found["configurations"] = configurations
    found["faults"] = sum(player.done.values())
    return found
