"""A preview says what the action does: both on the same small world, whatever its history.

What a preview leaves out on purpose (`engine/rehearsal.py`: what other jobs make of a slot that becomes free) has no
place in this world: there is room for every run, and no pool.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pyscheduler.engine.actions import Actions
from pyscheduler.engine.rehearsal import Rehearsed, What, gather, rehearse
from pyscheduler.errors import ActionError
from pyscheduler.model.run import Run, RunState
from pyscheduler.testing import FakeResult
from pyscheduler.web.offers import OFFERS
from tests.night import Night

DAY = date(2026, 10, 19)
JOBS = """
jobs:
  load: {command: x, schedule: manual, retries: {count: 1, delay: 3m}}
  next: {command: x, depends_on: [load], overlap: skip}
  other: {command: x, depends_on: [{job: load, on: failure}]}
  all: {command: x, depends_on: [{job: next, on: done}, other]}
  queue: {command: x, schedule: manual, overlap: queue}
  both: {command: x, schedule: manual, overlap: allow, depends_on: [{job: queue, on: done}]}
"""
NAMES = ("load", "next", "other", "all", "queue", "both")
ACTIONS = ("hold", "release", "force-start", "skip", "cancel", "kill", "mark-success", "mark-failed", "rerun", "below")
ENDS = st.builds(
    FakeResult,
    duration=st.sampled_from([timedelta(minutes=2), timedelta(hours=2)]),
    exit_code=st.sampled_from([0, 0, 1]),
)
STEPS = st.tuples(st.sampled_from(("trigger", "offered", "offered", "offered", "any", "wait")), st.integers(0, 10_000))
Deed = tuple[str, str]
"""An action, and the job or run that it is done to."""


async def act(actions: Actions, deed: Deed) -> object:
    action, subject = deed
    if action == "trigger":
        return await actions.trigger(subject, run_date=DAY, actor="ann")
    if action in ("rerun", "below"):
        return await actions.rerun(subject, downstream=action == "below", actor="ann")
    return await getattr(actions, action.replace("-", "_"))(subject, actor="ann")


def deed_of(night: Night, kind: str, number: int) -> Deed:
    """Return what a step is, as things stand: something that is offered for some run, or anything at all."""
    runs = sorted(standing(night).values(), key=lambda run: run.run_id)
    if kind == "trigger" or not runs:
        return "trigger", NAMES[number % len(NAMES)]
    number, which = divmod(number, len(runs))
    run = runs[which]
    offered = [offer.action for offer in OFFERS[run.state]]
    actions = ACTIONS if kind == "any" else [*offered, *(["below"] if run.is_final else [])]
    return actions[number % len(actions)], run.run_id


def standing(night: Night) -> dict[str, Run]:
    """Return every run that is shown."""
    return {run.run_id: run for job in NAMES for run in night.runs(job)}


def moved(before: Mapping[str, Run], after: Mapping[str, Run]) -> dict[str, RunState]:
    """Return the runs that stand otherwise now, or are new."""
    return {
        run_id: run.state
        for run_id, run in after.items()
        if run_id not in before
        or (before[run_id].state, before[run_id].reason, before[run_id].forced) != (run.state, run.reason, run.forced)
    }


def foretold(found: Rehearsed) -> dict[str, RunState]:
    return {
        effect.run.run_id: RunState.RUNNING if effect.what is What.STARTS else effect.run.state
        for effect in found.effects
    }


@settings(max_examples=40, deadline=None)
@given(ends=st.lists(ENDS, max_size=12), steps=st.lists(STEPS, min_size=4, max_size=12))
def test_a_preview_says_what_the_action_does(ends: list[FakeResult], steps: list[tuple[str, int]]) -> None:
    """The same runs, the same states, the same refusal; for each action of a day."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(compared(Path(folder), ends, steps))


async def compared(folder: Path, ends: list[FakeResult], steps: list[tuple[str, int]]) -> None:
    night = Night(folder, JOBS, at="2026-10-19T09:00Z")
    for number, end in enumerate(ends):
        night.plan(NAMES[number % len(NAMES)], end)
    async with night:
        for kind, number in steps:
            if kind == "wait":
                await night.go(timedelta(minutes=4))
            else:
                await is_as_foretold(night, deed_of(night, kind, number))


async def is_as_foretold(night: Night, deed: Deed) -> None:
    """Ask what an action would do, take it, and compare."""
    job = deed[1].split(".")[0]
    found = rehearse(await gather(night.engine, [(job, DAY)]), [lambda actions: act(actions, deed)], str)
    before = standing(night)
    error = await refusal(act(night.engine, deed))
    await night.engine.settle()
    (answer,) = found.answers
    assert str(answer if isinstance(answer, ActionError) else None) == str(error), deed
    assert foretold(found) == moved(before, standing(night)), deed


async def refusal(work: Coroutine[Any, Any, object]) -> ActionError | None:
    try:
        await work
    except ActionError as error:
        return error
    return None
