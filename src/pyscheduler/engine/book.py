"""The runs in memory: the working copy that decisions rest on, and the published copy that is safely on disk.

`put` changes the working copy at once, so nobody decides on an old one; `publish` shows a run after its commit;
`restore` throws away whatever was never committed. Ended runs are kept packed. Indexes answer in the time of the
answer: the latest run of a job and date, the open runs of a job, who waits for which upstream.

Days before `memory_start` are not complete in here; the engine loads one from the store before it decides about it.
Not thread-safe: it lives on the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain
from typing import TypeVar

from pyscheduler.engine.compact import pack, unpack
from pyscheduler.model.ids import make_run_id
from pyscheduler.model.run import ACTIVE_STATES, Run, RunState, Trigger
from pyscheduler.rules.dependencies import cancelled_by_overlap, standing
from pyscheduler.rules.numbering import STEP, Given, Numbering
from pyscheduler.rules.overlap import turn_key, waits_for_overlap

SLOT_TRIGGERS = frozenset({Trigger.SCHEDULE, Trigger.CATCH_UP, Trigger.BACKFILL})
"""What is unique by (job, scheduled_at). Spec: jobs.md 3.5."""
DAY_TRIGGERS = frozenset({Trigger.DEPENDENCY, Trigger.BACKFILL})
"""What keeps a further dependency run of the same job and date from being created."""

Day = tuple[str, date]
K = TypeVar("K")


@dataclass(slots=True)
class _Day:
    """What is known of one job's run date: the run that stands for it, the highest number, its dependency run.

    `stands` is the key by which `latest` beat the others (`_rank`), -1 where it is not in memory. Numbers run from 1 to
    `low`; those after a restore (`numbering.py`) are far above, and kept singly in `high`.
    """

    latest: str
    stands: int
    max_seq: int = 0
    dependency_run: str | None = None
    low: int = 0
    high: dict[int, None] | None = None

    def take(self, seq: int) -> None:
        """Learn that a number is taken; of low ones, that all below it are."""
        self.max_seq = max(self.max_seq, seq)
        if seq < STEP:
            self.low = max(self.low, seq)
        elif self.high is None:
            self.high = {seq: None}
        else:
            self.high[seq] = None

    def give_back(self, seq: int) -> None:
        """Learn that the highest number was never on disk."""
        if seq == self.max_seq:
            if self.high is not None and self.high.pop(seq, 0) is None:
                self.max_seq = max(self.high, default=self.low)
            else:
                self.low -= seq == self.low
                self.max_seq -= 1

    def seqs(self) -> Iterator[int]:
        """Iterate over the numbers that may be in memory."""
        return chain(range(1, self.low + 1), self.high or ())


class RunBook:
    """Working and published runs, indexed."""

    def __init__(self, memory_start: date = date.min) -> None:
        self.memory_start = memory_start
        self.upstream_days: Callable[[Run], tuple[Day, ...]] = lambda _run: ()
        self.numbering: Numbering | None = None
        """How new runs are numbered since a restore, None where the store was never restored."""
        self.given = Given()
        """Up to where the numbers of pruned runs went."""
        self._live: dict[str, Run] = {}
        self._shown: dict[str, Run] = {}
        self._ended: dict[str, bytes] = {}
        self._days: dict[Day, _Day] = {}
        self._loaded: set[Day] = set()
        self._open: dict[str, dict[str, None]] = {}
        self._active: dict[str, dict[str, None]] = {}
        self._queueing: dict[str, dict[str, None]] = {}
        self._waiting: dict[Day, dict[str, None]] = {}
        self._waits: dict[str, tuple[Day, ...]] = {}
        self._newest_slot: dict[str, datetime] = {}

    # ----------------------------------------------------------------- reading

    def get(self, run_id: str) -> Run | None:
        """Return the working copy, or None."""
        run = self._live.get(run_id)
        if run is None and (packed := self._ended.get(run_id)) is not None:
            return unpack(run_id, packed)
        return run

    def is_live(self, run_id: str) -> bool:
        """Whether the run is open, or its end is not on disk yet."""
        return run_id in self._live

    def published(self, run_id: str) -> Run | None:
        """Return the copy that is on disk, or None where none is yet."""
        if run_id in self._live:
            return self._shown.get(run_id)
        packed = self._ended.get(run_id)
        return None if packed is None else unpack(run_id, packed)

    def latest_for(self, job: str, run_date: date) -> Run | None:
        """Return the run that stands for the job and date: greatest (scheduled_at, seq), see rules/dependencies."""
        day = self._days.get((job, run_date))
        return None if day is None else self.get(day.latest)

    def runs_for(self, job: str, run_date: date) -> list[Run]:
        """Return the runs of the job and date that are in memory, oldest first."""
        day = self._days.get((job, run_date))
        if day is None:
            return []
        ids = (make_run_id(job, run_date, seq) for seq in day.seqs())
        runs = [run for run in map(self.get, ids) if run is not None]
        return sorted(runs, key=lambda run: (run.scheduled_at, run.seq))

    def by_scheduled(self, job: str, run_date: date, instant: datetime) -> Run | None:
        """Return the run of a schedule, catch-up or backfill for this instant."""
        newest = self._newest_slot.get(job)
        if newest is None or instant > newest:
            return None
        for run in self.runs_for(job, run_date):
            if run.scheduled_at == instant and run.trigger in SLOT_TRIGGERS:
                return run
        return None

    def dependency_run(self, job: str, run_date: date) -> str | None:
        """Return the run that keeps another dependency run of this job and date from being created."""
        day = self._days.get((job, run_date))
        return None if day is None else day.dependency_run

    def next_seq(self, job: str, run_date: date) -> int:
        """Return the next free number of the job and date."""
        day = self._days.get((job, run_date))
        floor = 0 if self.numbering is None else self.numbering.floor_of(run_date)
        return max(floor, self.given.floor_of(run_date), 0 if day is None else day.max_seq) + 1

    def active_for(self, job: str) -> list[Run]:
        """Return the queued and running runs of the job, by (scheduled_at, seq)."""
        return self._runs(self._active.get(job, ()))

    def is_busy(self, job: str, beside: str) -> bool:
        """Whether another run of the job than `beside` is active."""
        active = self._active.get(job, {})
        return len(active) > (beside in active)

    def open_for(self, job: str) -> list[Run]:
        """Return the open runs of the job, by (scheduled_at, seq)."""
        return self._runs(self._open.get(job, ()))

    def overlap_waiters(self, job: str) -> list[Run]:
        """Return the runs of the job that another run of it holds back, in turn order."""
        return sorted((self._live[run_id] for run_id in self._queueing.get(job, ())), key=turn_key)

    def open_runs(self) -> list[Run]:
        """Return all open runs, by (scheduled_at, seq)."""
        return self._runs(run_id for ids in self._open.values() for run_id in ids)

    def open_ids(self) -> Iterator[str]:
        """Iterate over the ids of all open runs."""
        return (run_id for ids in self._open.values() for run_id in ids)

    def jobs_with_open_runs(self) -> list[str]:
        """Return the names of the jobs that have open runs."""
        return sorted(self._open)

    def waiting_on(self, job: str, run_date: date) -> list[Run]:
        """Return the runs whose dependencies name this job and date, in turn order."""
        ids = self._waiting.get((job, run_date))
        if not ids:
            return []
        return sorted((self._live[run_id] for run_id in ids), key=turn_key)

    def _runs(self, ids: Iterable[str]) -> list[Run]:
        return sorted((self._live[run_id] for run_id in ids), key=lambda run: (run.scheduled_at, run.seq))

    # ----------------------------------------------------------------- changing

    def put(self, run: Run) -> None:
        """Take a run's new working copy."""
        if run.run_id in self._ended:
            self._shown[run.run_id] = unpack(run.run_id, self._ended.pop(run.run_id))
        self._live[run.run_id] = run
        self._index_day(run)
        self._index_state(run)
        self._index_wait(run)

    def publish(self, run: Run) -> None:
        """Show a run whose commit is on disk; a final one that nothing has changed since is packed away."""
        if run.is_final and self._live.get(run.run_id) is run:
            del self._live[run.run_id]
            self._shown.pop(run.run_id, None)
            self._ended[run.run_id] = pack(run)
        elif run.run_id in self._live:
            self._shown[run.run_id] = run

    def load(self, runs: Iterable[Run]) -> None:
        """Take runs as the store has them: working and published at once."""
        for run in runs:
            if run.run_id in self._live or run.run_id in self._ended:
                continue
            if run.is_final:
                self._ended[run.run_id] = pack(run)
                self._index_day(run)
            else:
                self.put(run)
                self._shown[run.run_id] = run

    def raise_seq(self, job: str, run_date: date, seq: int) -> None:
        """Learn that numbers up to `seq` are taken, whether or not those runs are in memory."""
        day = self._days.get((job, run_date))
        if day is None:
            day = self._days[(job, run_date)] = _Day(make_run_id(job, run_date, seq), -1)
        day.take(seq)

    def is_complete(self, job: str, run_date: date) -> bool:
        """Whether all runs of the job and date are in memory."""
        return run_date >= self.memory_start or (job, run_date) in self._loaded

    def mark_complete(self, job: str, run_date: date) -> None:
        """Say that all runs of the job and date have been loaded."""
        if run_date < self.memory_start:
            self._loaded.add((job, run_date))

    def restore(self) -> None:
        """Throw away everything that was never published."""
        for run_id, run in list(self._live.items()):
            shown = self._shown.get(run_id)
            if shown is None:
                self._drop(run)
            elif shown is not run:
                self.put(shown)
        for run_id, run in list(self._live.items()):
            if run.is_final:
                self._ended[run_id] = pack(self._live.pop(run_id))
                self._shown.pop(run_id, None)

    def forget(self, run_ids: Iterable[str]) -> None:
        """Drop ended runs that were pruned from the store."""
        for run_id in run_ids:
            packed = self._ended.pop(run_id, None)
            if packed is not None:
                run = unpack(run_id, packed)
                self._reindex_day(run.job, run.run_date, gone=True)

    def evict_before(self, day: date, keep: Callable[[Day], bool]) -> int:
        """Forget ended runs of run dates before `day`, but for days that `keep` names; they stay in the store."""
        self.memory_start = max(self.memory_start, day)
        live = {(run.job, run.run_date) for run in self._live.values()}  # open, or its end is on its way to the disk
        gone = [key for key in self._days if key[1] < day and not keep(key) and key not in live]
        count = 0
        for key in gone:
            for seq in self._days.pop(key).seqs():
                count += self._ended.pop(make_run_id(*key, seq), None) is not None
            self._loaded.discard(key)
        return count

    def __len__(self) -> int:
        return len(self._live) + len(self._ended)

    # ----------------------------------------------------------------- indexes

    def _index_day(self, run: Run) -> None:
        key = (run.job, run.run_date)
        day = self._days.get(key)
        if day is None:
            day = self._days[key] = _Day(run.run_id, -1)
        day.take(run.seq)
        if run.trigger in DAY_TRIGGERS:
            day.dependency_run = run.run_id
        if run.trigger in SLOT_TRIGGERS:
            newest = self._newest_slot.get(run.job)
            if newest is None or run.scheduled_at > newest:
                self._newest_slot[run.job] = run.scheduled_at
        rank = _rank(run)
        if rank >= day.stands:
            day.latest, day.stands = run.run_id, rank
        elif day.latest == run.run_id:  # it stood for the day and does so less now: overlap has called it off
            self._reindex_day(*key)

    def _reindex_day(self, job: str, run_date: date, *, gone: bool = False) -> None:
        """Look again at what stands for the day; `gone`: without runs in memory there are none at all."""
        runs = self.runs_for(job, run_date)
        if not runs:
            if gone:
                self._days.pop((job, run_date), None)
            else:
                self._days[(job, run_date)].stands = -1
            return
        day = self._days[(job, run_date)]
        latest = max(runs, key=standing)
        day.latest, day.stands = latest.run_id, _rank(latest)
        day.dependency_run = next((run.run_id for run in runs if run.trigger in DAY_TRIGGERS), None)

    def _index_state(self, run: Run) -> None:
        _mark(self._open, run.job, run.run_id, on=not run.is_final)
        _mark(self._active, run.job, run.run_id, on=run.state in ACTIVE_STATES)
        _mark(self._queueing, run.job, run.run_id, on=waits_for_overlap(run))

    def _index_wait(self, run: Run) -> None:
        """Keep a run under the days of its upstreams until it is running or final."""
        if run.is_final or run.state is RunState.RUNNING:
            for key in self._waits.pop(run.run_id, ()):
                _mark(self._waiting, key, run.run_id, on=False)
        elif run.run_id not in self._waits and (days := self.upstream_days(run)):
            self._waits[run.run_id] = days
            for key in days:
                _mark(self._waiting, key, run.run_id, on=True)

    def reindex_waits(self) -> None:
        """Ask `upstream_days` anew for every open run: the configuration has changed."""
        self._waits.clear()
        self._waiting.clear()
        for run_id in self.open_ids():
            self._index_wait(self._live[run_id])

    def _drop(self, run: Run) -> None:
        """Take a run that was never on disk out of everything."""
        del self._live[run.run_id]
        _mark(self._open, run.job, run.run_id, on=False)
        _mark(self._active, run.job, run.run_id, on=False)
        _mark(self._queueing, run.job, run.run_id, on=False)
        for key in self._waits.pop(run.run_id, ()):
            _mark(self._waiting, key, run.run_id, on=False)
        day = self._days[(run.job, run.run_date)]
        day.give_back(run.seq)
        self._reindex_day(run.job, run.run_date, gone=not day.max_seq)


def _rank(run: Run) -> int:
    """Return `rules.dependencies.standing` as one number: of two runs of a day the one that stands has the greater."""
    instant = run.scheduled_at
    whole = (instant.toordinal() * 86400 + instant.hour * 3600 + instant.minute * 60 + instant.second) * 1_000_000
    return (not cancelled_by_overlap(run)) << 96 | (whole + instant.microsecond) << 34 | run.seq


def _mark(index: dict[K, dict[str, None]], key: K, run_id: str, *, on: bool) -> None:
    """Put a run id under a key, or take it away; empty keys go."""
    if on:
        index.setdefault(key, {})[run_id] = None
    elif key in index:
        index[key].pop(run_id, None)
        if not index[key]:
            del index[key]
