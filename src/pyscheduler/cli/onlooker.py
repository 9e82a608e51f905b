"""Why a job does not run, while no scheduler runs: the engine's own explanation, on what the store holds.

`engine/explain.py` gathers facts from an engine. An `Onlooker` stands in for one: the same book, desk and rules, filled
from a read-only look at the store, under the configuration on disk. It decides nothing, remembers nothing and has no
clock but the machine's. What only a living engine knows (slots in use, a run about to start) is not there to tell.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from pyscheduler.cli.asking import is_run_id
from pyscheduler.cli.faults import Unreachable
from pyscheduler.cli.session import Session
from pyscheduler.cli.times import json_instant
from pyscheduler.config import Config
from pyscheduler.engine.book import RunBook
from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.desk import Desk
from pyscheduler.engine.explain import explain, say_in
from pyscheduler.engine.pauses import Pauses
from pyscheduler.engine.reopen import self_dependent_jobs
from pyscheduler.model.run import RunState
from pyscheduler.rules.why import Answer, Culprit
from pyscheduler.store import Peek


class Onlooker:
    """As much of an engine as an explanation asks for."""

    def __init__(self, config: Config, store: Peek) -> None:
        self.config, self.store, self.clock = config, store, SystemClock()
        self.desk = Desk(config, 1, self.clock.now, lambda _error: None)
        self.catch_up_held: tuple[datetime, datetime] | None = None
        self._read()

    @property
    def book(self) -> RunBook:
        """The runs in memory."""
        return self.desk.book

    def check_usable(self) -> None:
        """Looking is always allowed."""

    def _read(self) -> None:
        values = self.store.engine_values()
        open_runs = self.store.open_runs()
        # Nothing but the open runs is here yet: every day counts as old until it is loaded.
        self.book.memory_start = date.max
        self.book.load(open_runs)
        self.desk.pauses = Pauses.from_text(values.get("paused"))
        self.desk.first_dates = self.store.first_dates(self_dependent_jobs(self.desk))
        for rows in self.store.attempts_of(run.run_id for run in open_runs if run.attempt).values():
            for row in rows:
                self.desk.keep_attempt(row)
        for run in open_runs:
            if run.state is RunState.QUEUED:
                self.desk.line_up(run)
        if held := values.get("catch_up_held"):
            self.catch_up_held = (datetime.fromisoformat(held), self.clock.now())


def explain_offline(session: Session, word: str, day: date | None) -> Mapping[str, Any]:
    """Return the answer in the API's shape. Raises what stands in the way: ConfigError, StoreError, NotFound."""
    from pyscheduler.api.views import answer_view, runs_of_answer

    config = session.load()
    store = Peek.open(config.settings.state_dir, url=config.settings.store)
    if store is None:
        raise Unreachable(
            "no scheduler is running, and none has ever run here",
            where=str(config.path),
            mend=f"pysched serve runs it; pysched next {word} shows when the job is due",
        )
    with store:
        onlooker = Onlooker(config, store)
        asked: dict[str, Any] = {"run_id": word} if is_run_id(word) else {"job": word, "run_date": day}
        answer = asyncio.run(explain(onlooker, **asked))
        answer = _not_missed_yet(answer, onlooker)
        paused = onlooker.desk.pauses.covers(answer.job) is not None
        latest = store.latest_attempts(run.run_id for run in runs_of_answer(answer))
    next_firing = None if paused else _next_firing(config, answer.job)
    return {"why": answer_view(answer, latest), "next_firing": next_firing}


def _not_missed_yet(answer: Answer, onlooker: Onlooker) -> Answer:
    """Return a better answer where a firing came due while no scheduler was there: its fate is not decided."""
    config, last_tick = onlooker.config, onlooker.store.engine_values().get("last_tick")
    firings = config.timetable(answer.job).on(answer.run_date) if answer.job in config.jobs else ()
    held = onlooker.catch_up_held is not None
    if answer.culprit is not Culprit.MISSED or held or last_tick is None or not firings:
        return answer
    due, down = firings[0].scheduled_at, datetime.fromisoformat(last_tick)
    if due <= down:
        return answer
    say = say_in(config.settings.timezone)
    text = f"it was due at {say(due)}, and no scheduler has been at work since {say(down)}"
    return replace(answer, text=text, release=f"the next start applies catch_up: {config.jobs[answer.job].catch_up}")


def _next_firing(config: Config, name: str) -> str | None:
    job = config.jobs.get(name)
    firing = config.timetable(name).next(SystemClock().now()) if job is not None and job.enabled else None
    return None if firing is None else json_instant(firing.scheduled_at)
