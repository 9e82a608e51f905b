"""Making runs of what is due, as the authority of an instant. Spec: claims.md C8, S9, S12, S13, S14.

What must always hold: runs are made under an epoch only, and the authority is given back at once: `tick` and `work`
have equals, not a leader. Whoever cannot have it makes nothing and goes on: another makes the runs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyscheduler.cluster.evidence import Evidence
from pyscheduler.cluster.orders import Work
from pyscheduler.cluster.plan import Due, due_of
from pyscheduler.cluster.pruning import prune_if_due
from pyscheduler.errors import AuthorityLost, Conflict
from pyscheduler.model.firing import Firing
from pyscheduler.model.job import Overlap
from pyscheduler.model.run import RunState
from pyscheduler.rules.leases import window_of
from pyscheduler.store.claims import AUTHORITY, AuthorityRow, Claims, Marks, Occurrence, Seen, Watermark, standing

log = logging.getLogger(__name__)

ASK_S: Final = 0.05
PATIENCE_S: Final = 2.0
"""How long another's moment of authority is waited for."""
BEHIND_S: Final = 60.0
STILL_GOES: Final = "an earlier run of the task still goes"


def job_tag(job: str) -> str:
    """Return the tag by which only those who know a job claim its runs."""
    return f"job:{job}"


@dataclass(frozen=True, slots=True)
class Made:
    """What one look has made: new runs by id, and how many of them are skipped. `held_off`: why we were not let.

    `waits`: what is due waits for the end of an earlier run.
    """

    run_ids: tuple[str, ...] = ()
    skipped: int = 0
    held_off: str = ""
    waits: bool = False


class Maker:
    """Makes the runs of some works. Blocking: for a helper thread. `boot` is the boot clock in seconds.

    `watches`: it is asked again and again, and sees for itself that a leader stands still. One pass alone cannot: it
    leaves word of what it saw, and goes by the word of an earlier one (claims.md C3). `retention_s`: how long ended
    runs are kept.
    """

    def __init__(
        self,
        claims: Claims,
        works: Mapping[str, Work],
        evidence: Evidence,
        boot: Callable[[], float],
        *,
        patience_s: float,
        watches: bool,
        retention_s: float,
    ) -> None:
        self._claims, self._works, self._evidence = claims, works, evidence
        self._boot, self._patience_s, self._watches = boot, patience_s, watches
        self._retention_s = retention_s

    def make(self, now: datetime | None) -> Made:
        """Make what is due by `now` (None: by the database's clock). Raises StoreError, Conflict, BadSchedule."""
        epoch = self._authority()
        if isinstance(epoch, str):
            return Made(held_off=epoch)
        try:
            at = now or self._claims.now()
            marks = self._claims.marks(self._works)
            made = self._make(epoch, at, marks)
        except AuthorityLost:
            return Made(held_off="another scheduler has taken the lead meanwhile; nothing was made")
        else:
            prune_if_due(self._claims, epoch, self._retention_s, at, marks.pruned)
            return made
        finally:
            self._claims.resign(epoch)

    def _authority(self) -> int | str:
        """Take the authority; returns the epoch, or why it cannot be had."""
        until = time.monotonic() + self._patience_s
        while True:
            asked_at = self._boot()
            row = self._claims.authority()
            seen = None if row.is_free else self._seen(row, asked_at)
            epoch = self._claims.take_authority(seen)
            if epoch is not None:
                return epoch
            if row.address and not row.is_over:
                what = f"`pysched serve` on {row.node or row.address} makes this store's runs"
                raise Conflict(what, mend="let it run these jobs, or give tick and work a store of their own")
            if time.monotonic() >= until:
                return _held_off(row)
            time.sleep(ASK_S)

    def _seen(self, row: AuthorityRow, asked_at: float) -> Seen | None:
        seen = self._evidence.saw_authority(row, asked_at)
        if seen is not None or self._watches or not row.is_over:
            return seen
        seen = self._claims.stale(AUTHORITY)
        if seen is None:
            self._claims.mark_stale(Seen(AUTHORITY, row.hb_seq, row.epoch))
        return seen

    def _make(self, epoch: int, now: datetime, marks: Marks) -> Made:
        self._claims.admit(epoch)
        busy = standing.busy_jobs(self._claims.door, self._works)
        found = {name: self._due(name, marks.until(name), now, busy) for name in self._works}
        due = {name: each for name, each in found.items() if each is not None}
        waits = any(
            self._works[name].job.overlap is Overlap.QUEUE and (each is None or each.watermark < now)
            for name, each in found.items()
        )
        occurrences = sorted(
            (occurrence for name, each in due.items() for occurrence in self._occurrences(name, each)),
            key=lambda occurrence: occurrence.scheduled_at,
        )
        moved = [
            Watermark(name, marks.stored.get(name), each.watermark)
            for name, each in due.items()
            if each.run or each.skipped or each.dropped or _is_behind(marks.stored.get(name), now)
        ]
        if not moved:
            return Made(waits=waits)
        made = self._claims.materialise(epoch, occurrences, moved)
        for name, each in due.items():
            _tell(name, each)
        return Made(tuple(made), sum(len(each.skipped) for each in due.values()), waits=waits)

    def _due(self, name: str, mark: datetime | None, now: datetime, busy: standing.Busy) -> Due | None:
        work = self._works[name]
        overlap, latest = work.job.overlap, work.latest_only
        is_busy = name in (busy.open if overlap is Overlap.QUEUE else busy.going)
        return due_of(work.trigger, mark, now, overlap=overlap, latest_only=latest, busy=is_busy)

    def _occurrences(self, name: str, due: Due) -> list[Occurrence]:
        job = self._works[name].job

        def made(firing: Firing, state: RunState, reason: str = "") -> Occurrence:
            return Occurrence(
                job=name,
                run_date=firing.run_date,
                scheduled_at=firing.scheduled_at,
                on_lost=self._works[name].on_lost,
                state=state,
                reason=reason,
                node=job.node or "",
                tags=(job_tag(name), *job.node_tags),
                reclaim_after_s=window_of(job.reclaim_after_s, job.on_uncertain, self._claims.timing),
            )

        skipped = [made(firing, RunState.SKIPPED, STILL_GOES) for firing in due.skipped]
        return [made(firing, RunState.QUEUED) for firing in due.run] + skipped


def _is_behind(mark: datetime | None, now: datetime) -> bool:
    """Whether an idle job's watermark is worth a write: what lies behind it is looked through at each pass."""
    return mark is None or (now - mark).total_seconds() >= BEHIND_S


def _held_off(row: AuthorityRow) -> str:
    who = f"another scheduler ({row.node}) leads" if row.node else "another scheduler leads"
    ago = f", heard of {(row.now - row.renewed_at).total_seconds():.0f} s ago" if row.renewed_at else ""
    return f"{who}{ago}; nothing was made"


def _tell(name: str, due: Due) -> None:
    if due.dropped and due.first is not None and due.last is not None:
        what = "%s: %d missed firings from %s on get no run"
        log.warning(what, name, due.dropped, due.first.scheduled_at.isoformat())
    for firing in due.skipped:
        log.warning("%s: the run due at %s is skipped: %s", name, firing.scheduled_at.isoformat(), STILL_GOES)
