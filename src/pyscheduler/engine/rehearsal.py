"""What an action would do, found out by doing it: to a copy of the part of the working memory that it can reach.

The deeds are the very methods of `Actions`, the decisions the very rules; what is left out is the disk, the processes
and the rest of the book. So a preview cannot say anything else than the action would have done at that instant.

`gather` takes the copy, on the loop and in one go, so it is of one instant; `rehearse` works on it and on nothing else:
for a helper thread. How far an action reaches: the runs it names, the days that depend on theirs as long as they have
runs or would get some, all that decides those days, and every open run of these jobs. What runs of other jobs make of a
slot or a pool that becomes free is not looked into.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pyscheduler.engine.actions import Actions
from pyscheduler.engine.attempts import Attempts
from pyscheduler.engine.book import Day
from pyscheduler.engine.desk import Desk
from pyscheduler.engine.ports import Clock
from pyscheduler.engine.waiting import shown_reason
from pyscheduler.errors import ActionError
from pyscheduler.model import event as ev
from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import ACTIVE_STATES, Attempt, Run, RunState

if TYPE_CHECKING:
    from pyscheduler.engine.core import Engine

MOST_DAYS: Final = 2000
"""Days at most that a preview follows; beyond that it says that there are more."""
SIGTERM: Final = 15

T = TypeVar("T")
Deed = Callable[[Actions], Coroutine[Any, Any, object]]
"""One action, on whatever it is to be done to."""


class What(StrEnum):
    """What becomes of a run."""

    STARTS = "starts"
    QUEUES = "queues"
    WAITS = "waits"
    HELD = "held"
    BLOCKED = "blocked"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    ENDS = "ends"


_WHAT: Final = {
    RunState.SCHEDULED: What.WAITS,
    RunState.WAITING: What.WAITS,
    RunState.RETRY_WAIT: What.WAITS,
    RunState.BLOCKED: What.BLOCKED,
    RunState.QUEUED: What.QUEUES,
    RunState.RUNNING: What.STARTS,
    RunState.HELD: What.HELD,
    RunState.SUCCEEDED: What.ENDS,
    RunState.FAILED: What.ENDS,
    RunState.SKIPPED: What.SKIPPED,
    RunState.CANCELLED: What.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Effect:
    """One run that would change: as it becomes, its state before (None: it does not exist yet)."""

    run: Run
    before: RunState | None
    what: What


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What would come of some deeds: of each what it returns or why it is refused, and every run that would change."""

    answers: tuple[object, ...]
    effects: tuple[Effect, ...]
    has_more: bool


@dataclass(frozen=True, slots=True)
class Stage:
    """The copy: nothing in it is shared with the engine but values that never change."""

    desk: Desk
    clock: Clock
    runs: tuple[Run, ...]
    attempts: tuple[Attempt, ...]
    being_pruned: frozenset[str]
    has_more: bool


async def gather(engine: Engine, days: Iterable[Day]) -> Stage:
    """Return a copy of all that an action on these days reaches. Raises Unavailable, StoreError."""
    days = list(dict.fromkeys(days))
    engine.check_usable()
    if any(run.offered_at is not None for day in days for run in engine.desk.book.runs_for(*day)):
        await engine.look_at_offered()
    await engine.load_days(days)  # last: old days may leave the memory at each turn of the loop
    engine.check_usable()
    reach = _reach(engine.desk, days)
    return _copied(engine, reach[:MOST_DAYS], has_more=len(reach) > MOST_DAYS)


def _reach(desk: Desk, days: Iterable[Day]) -> list[Day]:
    """Return these days and all that depend on them, as long as something is there or would come to be there."""
    found = dict.fromkeys(days)
    to_see = list(found)
    while to_see and len(found) <= MOST_DAYS:
        upstream = to_see.pop(0)
        for day in desk.days_depending_on(*upstream):
            comes_about = desk.config.jobs[day[0]].dependency_only and day[0] != upstream[0]
            if day not in found and (comes_about or desk.book.latest_for(*day) is not None):
                found[day] = None
                to_see.append(day)
    return list(found)


def _copied(engine: Engine, reach: Sequence[Day], *, has_more: bool) -> Stage:
    desk, book = engine.desk, engine.desk.book
    now = engine.clock.now()
    others = [run for job in dict.fromkeys(job for job, _ in reach) for run in book.open_for(job)]
    asked = dict.fromkeys([*reach, *((run.job, run.run_date) for run in others)])
    asked.update(dict.fromkeys(upstream for day in list(asked) for upstream in desk.days_deciding(*day)))
    runs = {run.run_id: run for day in asked for run in book.runs_for(*day)}
    runs.update((run.run_id, run) for run in others)
    attempts = (desk.latest_attempt(run_id) for run_id in runs)
    return Stage(
        _empty_copy(desk, now),
        engine.clock,
        tuple(runs.values()),
        tuple(attempt for attempt in attempts if attempt is not None),
        frozenset(engine.being_pruned),
        has_more,
    )


def _empty_copy(desk: Desk, now: datetime) -> Desk:
    """Return a desk with the same configuration, limits, pauses and numbers in use, and no runs yet."""
    copy = Desk(desk.config, desk.version, lambda: now, lambda _error: None)
    copy.first_dates, copy.rung, copy.reach = dict(desk.first_dates), set(desk.rung), desk.reach
    copy.pauses = type(desk.pauses)(dict(desk.pauses.items()))
    copy.book.memory_start = desk.book.memory_start
    copy.book.numbering, copy.book.given = desk.book.numbering, desk.book.given
    copy.admission.set_limits(desk.admission.max_running, desk.admission.pools)
    for run_id, needs in desk.admission.holders.items():
        copy.admission.acquire(run_id, needs)
    return copy


# --------------------------------------------------------------------------- the play


def rehearse(stage: Stage, deeds: Iterable[Deed], say: Callable[[datetime], str]) -> Rehearsed:
    """Do these deeds, one after the other, on the stage. `say` writes instants for people. For a helper thread."""
    desk = stage.desk
    before = {run.run_id: run for run in stage.runs}
    desk.book.load(stage.runs)
    for attempt in stage.attempts:
        desk.keep_attempt(attempt)
    for run in stage.runs:
        desk.line_up(run)
    actor = Rehearsal(stage)
    answers = tuple(_answer(actor, deed) for deed in deeds)
    settings, started = desk.config.settings, set[str]()
    room = max(desk.admission.max_running, 1)
    started.update(desk.ready.take_startable(desk.admission, desk.now(), settings.pool_patience_s, room))
    changed = (desk.book.get(run_id) for run_id in desk.tray.runs)
    effects = (_effect(desk, run, before.get(run.run_id), started, say) for run in changed if run is not None)
    return Rehearsed(answers, tuple(each for each in effects if each is not None), stage.has_more)


def _answer(actor: Rehearsal, deed: Deed) -> object:
    try:
        return _at_once(deed(actor))
    except ActionError as error:
        return error


def _effect(
    desk: Desk, run: Run, before: Run | None, started: set[str], say: Callable[[datetime], str]
) -> Effect | None:
    if before is not None and (before.state, before.reason, before.forced) == (run.state, run.reason, run.forced):
        return None
    starts = run.run_id in started
    shown = run if starts else replace(run, reason=shown_reason(desk, run, say))
    return Effect(shown, before.state if before else None, What.STARTS if starts else _WHAT[run.state])


def _at_once(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as done:
        answer: T = done.value
        return answer
    finally:
        work.close()
    raise AssertionError("nothing is waited for on the stage")


class Rehearsal(Actions):
    """The actions, done to a stage: nothing is written, started or signalled."""

    attempts: Attempts

    def __init__(self, stage: Stage) -> None:
        self.desk, self.clock = stage.desk, stage.clock
        self.being_pruned = set(stage.being_pruned)

    def check_usable(self) -> None:
        """Nothing is under way on a stage."""

    async def proceed(self) -> None:
        """Decide what follows."""
        while self.desk.work_off():
            pass

    @property
    def rows_are_owned(self) -> bool:
        """Everything on a stage is the stage's own."""
        return False

    async def look_at_offered(self) -> None:
        """Whoever gathered has looked."""

    async def take_back(self, run_ids: Collection[str] | None = None) -> set[str]:
        """As if no node had claimed anything yet."""
        offered = [run for run in self.desk.book.open_runs() if run.offered_at is not None]
        chosen = [run for run in offered if run_ids is None or run.run_id in run_ids]
        return {self.desk.apply(run, ev.OfferWithdrawn()).run_id for run in chosen}

    async def load_days(self, days: Iterable[Day]) -> None:
        """All that is reached is there already."""

    async def load_exactly(self, days: Iterable[Day]) -> None:
        """All that is reached is there already."""

    async def kill(self, run_id: str, *, actor: str, reason: str = "") -> Run:
        """End a running attempt, and let it obey."""
        run = await super().kill(run_id, actor=actor, reason=reason)
        self.desk.end_attempt(run_id, run.attempt, AttemptResult(signal=SIGTERM, stopped_by="kill"), 0.0)
        await self.proceed()
        return await self.shown(run)

    async def shown(self, run: Run) -> Run:
        """Return a run as it would be now."""
        current = self.desk.book.get(run.run_id)
        assert current is not None, f"{run.run_id} was decided about and is not there"
        return current


def is_delayed(effect: Effect) -> bool:
    """Whether a run that was ready has to wait again."""
    return effect.before in ACTIVE_STATES and effect.what is What.WAITS
