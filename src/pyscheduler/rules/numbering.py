"""How runs are numbered after a restore: no run id and no log file is used again.

An older store knows nothing of the runs made since its backup, but their ids stand in logs, tickets and other people's
databases, and their output in files of those names. So from an older store's first start on, new runs of run dates up
to a week ahead are numbered above `generation` x 100,000: the generation (`store/generation.py`) only ever rises, and
survives the restore, so a second restore of the same backup takes other numbers again, and no folder need be scanned.
Runs that the store does know keep their ids; output of their further attempts goes to files of another name.

The mark is one engine value, written with the start that found the store older, and kept for good: a date's late
backfill is numbered like its other runs. What is not covered: run dates further than a week ahead, where an operator
had triggered one before the restore.

Pruning takes run ids out of the store too: `Given` remembers how far they went.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from pyscheduler.model.ids import parse_run_id

KEY: Final = "numbering"
AHEAD: Final = timedelta(days=7)
STEP: Final = 100_000
"""More runs than one job has on one date; at most 10 digits are left for a run's number (`model/ids.py`)."""
MOST: Final = 99_998


GIVEN: Final = "given"
FEW: Final = 1000
"""Numbers a date may begin above without counting through them (`book.py` counts through those below STEP)."""


@dataclass(frozen=True, slots=True)
class Given:
    """What is remembered of pruned runs: those of run dates before `before` had numbers up to `above`, at most.

    One number for all jobs and dates, so that it never grows: a run id that was pruned is not given again, and a late
    run of a pruned date may skip a few numbers.
    """

    before: date = date.min
    above: int = 0

    @classmethod
    def remembered(cls, values: Mapping[str, str]) -> Given:
        """Return what the store remembers."""
        if GIVEN not in values:
            return cls()
        kept = json.loads(values[GIVEN])
        return cls(date.fromisoformat(kept["before"]), int(kept["above"]))

    def to_text(self) -> str:
        """Return the value the store keeps."""
        return json.dumps({"before": self.before.isoformat(), "above": self.above})

    def with_pruned(self, before: date, run_ids: Iterable[str]) -> Given:
        """Return what is to be remembered once these runs, of run dates before `before`, are gone."""
        above = max((parse_run_id(run_id).seq for run_id in run_ids), default=0)
        if above > FEW:
            above = -(-above // STEP) * STEP
        return Given(max(self.before, before), max(self.above, above))

    def floor_of(self, run_date: date) -> int:
        """Return the number above which new runs of a date are numbered."""
        return self.above if run_date < self.before else 0


@dataclass(frozen=True, slots=True)
class Numbering:
    """Since the restore at `since`, runs of run dates up to `until` have numbers above `above`."""

    since: datetime
    until: date
    above: int

    @classmethod
    def after_restore(cls, generation: int, now: datetime, today: date) -> Numbering:
        """Return the numbering that a start of this generation finds necessary."""
        return cls(now, today + AHEAD, min(generation, MOST) * STEP)

    @classmethod
    def remembered(cls, values: Mapping[str, str]) -> Numbering | None:
        """Return what the store remembers of an earlier restore, None without one."""
        if KEY not in values:
            return None
        kept = json.loads(values[KEY])
        return cls(datetime.fromisoformat(kept["since"]), date.fromisoformat(kept["until"]), int(kept["above"]))

    def to_text(self) -> str:
        """Return the value the store keeps."""
        return json.dumps({"since": self.since.isoformat(), "until": self.until.isoformat(), "above": self.above})

    def floor_of(self, run_date: date) -> int:
        """Return the number above which new runs of a date are numbered."""
        return self.above if run_date <= self.until else 0

    def log_name(self, name: str, created_at: datetime) -> str:
        """Return the name of a log file of a run that was created then: another one where the run is older than this.

        An attempt of that number may have written to the plain name before the restore.
        """
        return name if created_at >= self.since else f"{name}.after-restore-{self.above // STEP}"
