"""What is saved together: one decision, or many of them merged into one trip to the disk.

A batch is all or nothing. Inside it deletions come first, then runs, attempts and engine values (a later one of the
same key wins), then the logbook's lines in the order given. Merging keeps that meaning: applying `a.merge(b)` leaves
the same store as applying `a` and then `b`. Spec: jobs.md 8.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.reply import Reply
from pyscheduler.model.run import Attempt, LogbookLine, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Changes that become durable at the same instant or not at all.

    A run's `job`, `run_date`, `seq`, `scheduled_at`, `trigger` and `created_at` are fixed with its first batch; later
    batches change the rest. In `engine` None removes the key. `deleted_runs` go with their attempts, lines, alerts
    and files. Replies older than `replies_before` go.
    """

    runs: tuple[Run, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    lines: tuple[LogbookLine, ...] = ()
    engine: Mapping[str, str | None] = field(default_factory=dict)
    configs: tuple[ConfigRecord, ...] = ()
    deleted_runs: tuple[str, ...] = ()
    replies: tuple[Reply, ...] = ()
    replies_before: datetime | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to save."""
        changes = self.runs, self.attempts, self.lines, self.engine, self.configs, self.deleted_runs
        return not (any(changes) or self.replies or self.replies_before)

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
    for batch in batches:
        if batch.deleted_runs:
            gone = frozenset(batch.deleted_runs)
            runs = {run_id: run for run_id, run in runs.items() if run_id not in gone}
            attempts = {key: attempt for key, attempt in attempts.items() if key[0] not in gone}
            lines = [line for line in lines if line.run_id not in gone]
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
    return Batch(
        runs=tuple(runs.values()),
        attempts=tuple(attempts.values()),
        lines=tuple(lines),
        engine=engine,
        configs=tuple(configs.values()),
        deleted_runs=tuple(deleted),
        replies=tuple(replies.values()),
        replies_before=before,
    )
