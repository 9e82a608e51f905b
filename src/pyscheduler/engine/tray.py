"""What has been decided and is not yet on disk: one tray, carried to the store in one trip.

Everything decided since the last trip travels together and in order, whoever decided it: a decision may rest on any
earlier one, so none may reach the disk before them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyscheduler.model.alert import Raised
from pyscheduler.model.batch import Batch, Kill, Offer
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.effect import Effect
from pyscheduler.model.reply import Reply
from pyscheduler.model.run import Attempt, LogbookLine, Run
from pyscheduler.rules.lifecycle import Decision


@dataclass(frozen=True, slots=True)
class Load:
    """One tray's content on its way: what to save, and what to show and do once it is saved."""

    batch: Batch
    runs: tuple[Run, ...]
    attempts: tuple[Attempt, ...]
    effects: tuple[Effect, ...]
    alerts: tuple[Raised, ...] = ()


@dataclass(slots=True)
class Tray:
    """Collects decisions until `take`."""

    runs: dict[str, Run] = field(default_factory=dict)
    attempts: dict[tuple[str, int], Attempt] = field(default_factory=dict)
    lines: list[LogbookLine] = field(default_factory=list)
    engine: dict[str, str | None] = field(default_factory=dict)
    configs: list[ConfigRecord] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    replies: dict[tuple[str, str], Reply] = field(default_factory=dict)
    seen_runs: dict[str, Run] = field(default_factory=dict)
    """What others have written: shown with this load, saved by nobody here."""
    seen_attempts: dict[tuple[str, int], Attempt] = field(default_factory=dict)
    offers: list[Offer] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    alerts: list[Raised] = field(default_factory=list)

    def add(self, decision: Decision) -> None:
        """Take one decision."""
        self.runs[decision.run.run_id] = decision.run
        self.seen_runs.pop(decision.run.run_id, None)
        if decision.attempt is not None:
            self.add_attempt(decision.attempt)
        self.lines.extend(decision.lines)
        self.effects.extend(decision.effects)

    def see(self, decision: Decision) -> None:
        """Take what follows from a row that its owner has written: it is shown and told of, never written over."""
        if decision.run.run_id in self.runs:
            self.runs[decision.run.run_id] = decision.run  # not on disk yet, so nobody owns it
        else:
            self.seen_runs[decision.run.run_id] = decision.run
        if decision.attempt is not None:
            self.seen_attempts[(decision.attempt.run_id, decision.attempt.attempt)] = decision.attempt
        self.lines.extend(decision.lines)
        self.effects.extend(decision.effects)

    def add_attempt(self, attempt: Attempt) -> None:
        """Take an attempt's row as it is now."""
        key = (attempt.run_id, attempt.attempt)
        self.attempts[key] = attempt
        self.seen_attempts.pop(key, None)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to carry."""
        changes = self.runs, self.attempts, self.lines, self.engine, self.configs, self.deleted, self.alerts
        return not (any(changes) or self.replies or self.seen_runs or self.kills)

    def take(self) -> Load:
        """Empty the tray and return what was on it."""
        load = Load(
            Batch(
                runs=tuple(self.runs.values()),
                attempts=tuple(self.attempts.values()),
                lines=tuple(self.lines),
                engine=self.engine,
                configs=tuple(self.configs),
                deleted_runs=tuple(self.deleted),
                replies=tuple(self.replies.values()),
                alerts=tuple(self.alerts),
                offers=tuple(self.offers),
                kills=tuple(self.kills),
            ),
            (*self.runs.values(), *self.seen_runs.values()),
            (*self.attempts.values(), *self.seen_attempts.values()),
            tuple(self.effects),
            tuple(self.alerts),
        )
        self.__init__()  # type: ignore[misc]
        return load
