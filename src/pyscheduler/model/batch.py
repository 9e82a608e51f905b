"""What is saved together: one decision, or many of them merged into one trip to the disk.

A batch is all or nothing. Inside it deletions come first, then runs, attempts and engine values (a later one of the
same key wins), then the logbook's lines in the order given, then alerts (the first of an id wins, and the store's own
before any) and what became of deliveries. Merging keeps that meaning: applying `a.merge(b)` leaves the same store as
applying `a` and then `b`. Spec: jobs.md 8.2, 15.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pyscheduler.model.alert import Delivery, Raised
from pyscheduler.model.audit import AuditEntry
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.reply import Reply
from pyscheduler.model.run import Attempt, LogbookLine, Run
from pyscheduler.model.session import Session


@dataclass(frozen=True, slots=True)
class Offer:
    """Where a run that this batch offers may be claimed: by this node only, by nodes that have all these tags.

    `reclaim_after_s` is how long its owner may then be silent before it is taken from it, 0 as long as any.
    """

    run_id: str
    node: str = ""
    tags: tuple[str, ...] = ()
    reclaim_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Kill:
    """An operator's wish that an attempt ends which a node of the cluster runs: its owner reads it and obeys."""

    run_id: str
    attempt: int
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Changes that become durable at the same instant or not at all.

    A run's `job`, `run_date`, `seq`, `scheduled_at`, `trigger` and `created_at` are fixed with its first batch; later
    batches change the rest. In `engine` None removes the key. `deleted_runs` go with their attempts, lines, alerts
    and files. An alert brings a pending delivery for each of its notifiers, unless one of its id was raised before;
    `deliveries` change rows that are there. `alerts_before` removes alerts of no run that were raised before it.
    `audit` is put at the end of the audit log, after its rows up to the number `audit_gone_until` are thrown
    away: that number was read from the store, so no row of this batch is among them. Replies older than
    `replies_before` go.
    """

    runs: tuple[Run, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    lines: tuple[LogbookLine, ...] = ()
    engine: Mapping[str, str | None] = field(default_factory=dict)
    configs: tuple[ConfigRecord, ...] = ()
    deleted_runs: tuple[str, ...] = ()
    replies: tuple[Reply, ...] = ()
    replies_before: datetime | None = None
    alerts: tuple[Raised, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    alerts_before: datetime | None = None
    audit: tuple[AuditEntry, ...] = ()
    audit_gone_until: int | None = None
    sessions: tuple[Session, ...] = ()
    offers: tuple[Offer, ...] = ()
    """One for each run that this batch offers."""
    kills: tuple[Kill, ...] = ()
    deleted_sessions: tuple[str, ...] = ()
    """Hashes of sessions that are over."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to save."""
        changes = self.runs, self.attempts, self.lines, self.engine, self.configs, self.deleted_runs
        told = self.alerts, self.deliveries, self.audit, self.sessions, self.deleted_sessions, self.replies
        over = self.alerts_before or self.replies_before or self.audit_gone_until is not None
        return not (any(changes) or any(told) or over or self.kills or self.offers)

    def merge(self, later: Batch) -> Batch:
        """Return one batch that leaves the store as this one and then the later one would."""
        return merged((self, later))


def merged(batches: Iterable[Batch]) -> Batch:
    """Return one batch that leaves the store as all of them in their order would."""
    runs: dict[str, Run] = {}
    attempts: dict[tuple[str, int], Attempt] = {}
    lines: list[LogbookLine] = []
    engine: dict[str, str | None] = {}
    configs: dict[int, ConfigRecord] = {}
    deleted: dict[str, None] = {}
    replies: dict[tuple[str, str], Reply] = {}
    before: datetime | None = None
    alerts: dict[str, Raised] = {}
    deliveries: dict[str, Delivery] = {}
    horizons: list[datetime] = []
    audit: list[AuditEntry] = []
    audit_gone: list[int] = []
    sessions: dict[str, Session] = {}
    deleted_sessions: dict[str, None] = {}
    offers: dict[str, Offer] = {}
    kills: list[Kill] = []
    for batch in batches:
        if batch.deleted_runs:
            gone = frozenset(batch.deleted_runs)
            runs = {run_id: run for run_id, run in runs.items() if run_id not in gone}
            attempts = {key: attempt for key, attempt in attempts.items() if key[0] not in gone}
            lines = [line for line in lines if line.run_id not in gone]
            alerts = {key: raised for key, raised in alerts.items() if raised.alert.run_id not in gone}
            deleted.update(dict.fromkeys(batch.deleted_runs))
        if batch.replies_before is not None:
            before = max(before or batch.replies_before, batch.replies_before)
            replies = {key: reply for key, reply in replies.items() if reply.at >= before}
        replies.update(((reply.actor, reply.key), reply) for reply in batch.replies)
        runs.update((run.run_id, run) for run in batch.runs)
        attempts.update(((attempt.run_id, attempt.attempt), attempt) for attempt in batch.attempts)
        lines.extend(batch.lines)
        engine.update(batch.engine)
        configs.update((record.version, record) for record in batch.configs)
        for raised in batch.alerts:
            alerts.setdefault(raised.alert.alert_id, raised)
        deliveries.update((delivery.delivery_id, delivery) for delivery in batch.deliveries)
        if batch.alerts_before is not None:
            horizons.append(batch.alerts_before)
        offers.update((offer.run_id, offer) for offer in batch.offers)
        kills.extend(batch.kills)
        audit.extend(batch.audit)
        audit_gone += [] if batch.audit_gone_until is None else [batch.audit_gone_until]
        for session_hash in batch.deleted_sessions:
            sessions.pop(session_hash, None)
            deleted_sessions[session_hash] = None
        sessions.update((session.session_hash, session) for session in batch.sessions)
    return Batch(
        runs=tuple(runs.values()),
        attempts=tuple(attempts.values()),
        lines=tuple(lines),
        engine=engine,
        configs=tuple(configs.values()),
        deleted_runs=tuple(deleted),
        replies=tuple(replies.values()),
        replies_before=before,
        alerts=tuple(alerts.values()),
        deliveries=tuple(deliveries.values()),
        alerts_before=max(horizons, default=None),
        audit=tuple(audit),
        audit_gone_until=max(audit_gone, default=None),
        sessions=tuple(sessions.values()),
        deleted_sessions=tuple(deleted_sessions),
        offers=tuple(offers.values()),
        kills=tuple(kills),
    )
