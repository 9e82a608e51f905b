"""Every question the store answers, as methods: the half of `Store` that changes nothing.

May be called from any thread; each is one short snapshot, or several for what is long (`readers.py`). Every call
blocks: an event loop asks from a helper thread. All of them raise StoreError: StoreDamaged where a page is broken,
StoreUnavailable where the file is out of reach, the store is closed, or a snapshot took longer than it may.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import date, datetime
from typing import TypeVar

from pyscheduler.model.alert import Delivery, DeliveryStatus, Told
from pyscheduler.model.audit import AuditEntry
from pyscheduler.model.config_record import ConfigRecord, ConfigVersion
from pyscheduler.model.reply import Reply
from pyscheduler.model.run import Attempt, LogbookLine, Run, RunState
from pyscheduler.model.session import Session
from pyscheduler.store import (
    alerts,
    audit,
    catalogue,
    details,
    logbook,
    pruning,
    queries,
    recall,
    replies,
    sessions,
    sharing,
)
from pyscheduler.store.chain import Link
from pyscheduler.store.questions import AlertQuery, AuditQuery, LatestRow, LineQuery, Page, PrunableRun, RunQuery
from pyscheduler.store.readers import Snapshot

T = TypeVar("T")


class Reads(ABC):
    """The questions; `Store` supplies the snapshots."""

    @abstractmethod
    def _read(self, work: Callable[[Snapshot], T], /) -> T: ...

    def _glance(self, work: Callable[[Snapshot], T], /) -> T:
        """Answer a question that is asked again and again and is one statement."""
        return self._read(work)

    # ----------------------------------------------------------------------- reads for an engine's start

    def open_runs(self) -> list[Run]:
        """Return every run that has not ended, oldest `scheduled_at` first."""
        return recall.open_runs(self._read)

    def latest_attempts(self, run_ids: Iterable[str]) -> dict[str, Attempt]:
        """Return the latest attempt of each of these runs that has one."""
        return recall.latest_attempts(self._read, run_ids)

    def final_runs_since(self, day: date, limit: int) -> Iterator[Run]:
        """Yield up to `limit` ended runs with `run_date` of `day` or later, newest date first, then newest first."""
        return recall.final_runs_since(self._read, day, limit)

    def attempts_of(self, run_ids: Iterable[str]) -> dict[str, list[Attempt]]:
        """Return all attempts, first to last, of each of these runs that has any."""
        return recall.attempts_of(self._read, run_ids)

    def starts_told(self, run_ids: Iterable[str]) -> set[tuple[str, int]]:
        """Return (run id, attempt) of each start of these runs that the logbook tells of."""
        return recall.starts_told(self._read, run_ids)

    def memory_window(self, since: date, limit: int) -> tuple[list[Run], date]:
        """Return the newest ended runs of whole run dates, `limit` at most, and the first date that is complete."""
        return recall.memory_window(self._read, since, limit)

    def runs_of_days(self, days: Iterable[recall.Day]) -> tuple[list[Run], dict[recall.Day, int]]:
        """Return all runs of these (job, run date)s, and the highest number of each that has any."""
        return recall.runs_of_days(self._read, days)

    def latest_index(self, since: date, jobs: Collection[str] | None = None) -> Iterator[LatestRow]:
        """Yield the run that stands for each (job, run date of `since` or later). DESIGN 8 row 2."""
        return catalogue.latest_index(self._read, since, jobs)

    def max_seqs(self, since: date) -> dict[tuple[str, date], int]:
        """Return the highest number taken for each (job, run date of `since` or later)."""
        return catalogue.max_seqs(self._read, since)

    def max_seq(self, job: str, run_date: date) -> int:
        """Return the highest number taken, 0 where there is none."""
        return self._read(lambda snapshot: catalogue.max_seq(snapshot, job, run_date))

    def firings_with_runs(self, job: str, since: datetime, until: datetime) -> set[datetime]:
        """Return the due instants in (since, until] that have a schedule, catch-up or backfill run."""
        return self._read(lambda snapshot: catalogue.firings_with_runs(snapshot, job, since, until))

    def has_runs(self, job: str) -> bool:
        """Whether the job has any run at all."""
        return self._read(lambda snapshot: catalogue.has_runs(snapshot, job))

    def jobs_with_runs(self) -> set[str]:
        """Return the name of every job that has a run."""
        return catalogue.jobs_with_runs(self._read)

    def first_dates(self, jobs: Collection[str]) -> dict[str, date]:
        """Return the earliest run date of each of these jobs that has runs."""
        return self._read(lambda snapshot: catalogue.first_dates(snapshot, jobs))

    def engine_values(self) -> dict[str, str]:
        """Return every engine value: `last_tick` and its like."""
        return self._read(catalogue.engine_values)

    def final_runs_before(
        self, day: date, limit: int, keep: Collection[str] = (), unchanged_since: datetime | None = None
    ) -> list[PrunableRun]:
        """Return up to `limit` ended runs with an earlier run date, oldest date first, but for those to keep."""
        return self._read(lambda snapshot: pruning.final_runs_before(snapshot, day, limit, keep, unchanged_since))

    def log_paths_between(self, since: date, until: date) -> Iterator[str]:
        """Yield the log files of ended runs with `run_date` from `since` on and before `until`."""
        return pruning.log_paths_between(self._read, since, until)

    def keys_of_runs(self, run_ids: Iterable[str]) -> dict[str, bool]:
        """Return the key of every attempt of these runs, with whether it and its run have ended: its files may go."""
        return pruning.keys_of_runs(self._read, run_ids)

    def sessions(self, limit: int) -> list[Session]:
        """Return up to `limit` sessions, ended ones too, those that last longest first."""
        return self._read(lambda snapshot: sessions.sessions(snapshot, limit))

    def running_attempts(self) -> list[tuple[str | None, Attempt]]:
        """Return the owner and the latest attempt of every running run; without an owner its end is known."""
        return self._glance(sharing.running)

    def owner_of(self, run_id: str, attempt: int) -> str | None:
        """Return the incarnation that ran an attempt, None where no claim was made for it."""
        return self._read(lambda snapshot: sharing.owner_of(snapshot, run_id, attempt))

    # ----------------------------------------------------------------------- reads for people

    def get_run(self, run_id: str) -> Run | None:
        """Return the run, or None."""
        return self._read(lambda snapshot: details.get_run(snapshot, run_id))

    def ended_of_date(self, day: date, limit: int) -> tuple[list[Run], bool]:
        """Return up to `limit` ended runs of one run date, failed ones first, and whether these are all of them."""
        return recall.ended_of_date(self._read, day, limit)

    def runs(self, query: RunQuery) -> Page[Run]:
        """Return one page of runs. Raises BadRequest for a cursor that is none of ours."""
        return self._read(lambda snapshot: queries.list_runs(snapshot, query))

    def attempts(self, run_id: str) -> list[Attempt]:
        """Return the run's attempts, first to last."""
        return self._read(lambda snapshot: details.attempts(snapshot, run_id))

    def lines(self, query: LineQuery) -> Page[LogbookLine]:
        """Return one page of the logbook. Raises BadRequest for a cursor that is none of ours."""
        return self._read(lambda snapshot: logbook.list_lines(snapshot, query))

    def audit_entries(self, query: AuditQuery) -> Page[AuditEntry]:
        """Return one page of the audit log. Raises BadRequest for a cursor that is none of ours."""
        return self._read(lambda snapshot: audit.list_entries(snapshot, query))

    def verify_audit(self, known: Link | None = None) -> audit.Verified:
        """Walk the whole chain of the audit log; `known` is a row's hash that was noted elsewhere."""
        return audit.verify(self._read, known)

    def audit_last_before(self, horizon: datetime, limit: int) -> int | None:
        """Return the number up to which the audit log may be thrown away, `limit` rows at most; None for none."""
        return self._read(lambda snapshot: audit.last_before(snapshot, horizon, limit))

    def counts_by_state(self, run_date: date) -> dict[RunState, int]:
        """Return how many runs of the date are in each state that occurs."""
        return self._read(lambda snapshot: details.counts_by_state(snapshot, run_date))

    def recent_durations(self, job: str, limit: int = 10) -> tuple[float, ...]:
        """Return the seconds that the job's latest succeeded attempts took, newest run first."""
        return self._read(lambda snapshot: details.recent_durations(snapshot, job, limit))

    def recent_durations_for(self, jobs: Iterable[str], limit: int = 10) -> dict[str, tuple[float, ...]]:
        """Return `recent_durations` of each job that has any."""
        return details.recent_durations_for(self._read, jobs, limit)

    def existing_run_ids(self, beginning: str, limit: int = 100) -> tuple[str, ...]:
        """Return up to `limit` run ids that begin so, in text order."""
        return self._read(lambda snapshot: details.existing_run_ids(snapshot, beginning, limit))

    def reply(self, actor: str, key: str) -> Reply | None:
        """Return what was answered to this actor's request with this key, or None."""
        return self._read(lambda snapshot: replies.reply(snapshot, actor, key))

    def replies_beyond(self, count: int) -> datetime | None:
        """Return the instant of the newest reply that is not among the `count` newest, or None."""
        return self._read(lambda snapshot: replies.beyond(snapshot, count))

    def latest_config(self) -> ConfigRecord | None:
        """Return the newest configuration, or None before the first."""
        return self._read(details.latest_config)

    def config(self, version: int) -> ConfigRecord | None:
        """Return one configuration, or None."""
        return self._read(lambda snapshot: details.config(snapshot, version))

    def config_versions(self, limit: int = 100, before: int | None = None) -> list[ConfigVersion]:
        """Return configurations without their text, newest first, of versions below `before`."""
        return self._read(lambda snapshot: details.config_versions(snapshot, limit, before))

    # ----------------------------------------------------------------------- alerts

    def alerts(self, query: AlertQuery) -> Page[Told]:
        """Return one page of alerts. Raises BadRequest for a cursor that is none of ours."""
        return self._read(lambda snapshot: alerts.list_alerts(snapshot, query))

    def alerts_of_run(self, run_id: str, limit: int = 100) -> list[Told]:
        """Return the alerts of one run, oldest first."""
        return self._read(lambda snapshot: alerts.of_run(snapshot, run_id, limit))

    def alert(self, alert_id: str) -> Told | None:
        """Return one alert with its deliveries, or None."""
        return self._read(lambda snapshot: alerts.one(snapshot, alert_id))

    def dead_deliveries(self, limit: int = 100) -> list[tuple[Delivery, Told]]:
        """Return deliveries that were given up, oldest first, each with its alert."""
        return self._read(lambda snapshot: alerts.dead(snapshot, limit))

    def pending_deliveries(
        self, notifier: str, limit: int = 100, but: Collection[str] = ()
    ) -> list[tuple[Delivery, Told]]:
        """Return what a notifier still has to tell, oldest first, without the ids (`but`) that are in hand."""
        return self._read(lambda snapshot: alerts.pending(snapshot, notifier, limit, but))

    def delivery_counts(self) -> dict[DeliveryStatus, int]:
        """Return how many deliveries are pending and how many dead, 100,000 of each at most."""
        return self._read(alerts.counts)

    def pending_notifiers(self) -> list[str]:
        """Return the names of notifiers that have something pending."""
        return self._read(alerts.pending_notifiers)
