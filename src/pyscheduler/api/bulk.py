"""One action for many runs: one result for each, whatever becomes of the others.

The runs are named, or chosen by the filters of the list. Each is acted upon as if it had been asked for alone, AT_ONCE
at a time, so that their changes share commits and the loop stays free. A run that another part of the same request
has reopened is done already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from pyscheduler.api import shapes
from pyscheduler.api.answers import listing
from pyscheduler.api.asking import BulkAct, BulkAsked, RunsAsked, Selection
from pyscheduler.api.callers import Caller
from pyscheduler.api.deeds import RERUN, perform
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.api.ledger import result_of
from pyscheduler.api.questions import runs_asked
from pyscheduler.api.recording import record_of
from pyscheduler.api.views import run_view
from pyscheduler.engine.request import MARK
from pyscheduler.errors import ActionError, BadRequest, Conflict, EngineFailedError, StoreError
from pyscheduler.model.audit import DONE
from pyscheduler.model.run import Run

MOST: Final = 1000
AT_ONCE: Final = 16


def router(desk: FrontDesk) -> APIRouter:
    """Return the route."""
    routes = APIRouter(prefix="/api/runs", tags=["run actions"], responses=shapes.REFUSALS)

    @routes.post("/bulk", response_model=shapes.Bulk)
    async def bulk(request: Request, act: BulkAct) -> Response:
        """Do the same to up to 1,000 runs: one result for each, never all or nothing."""
        before, run_ids = _done_before(), await chosen(desk, act)
        if act.selection is not None:  # what was done may not match any more
            run_ids = list(dict.fromkeys([*before, *run_ids]))
        if act.expected is not None and act.expected != len(run_ids) and not before:
            what = f"{len(run_ids)} runs match, and {act.expected} were expected"
            raise Conflict(what, mend="look at the selection again: runs have changed meanwhile")
        work = _Bulk(desk, caller_of(request.scope), act)
        work.before = frozenset(before)
        results = await work.through(run_ids)
        _note(request, act, results)
        latest = await desk.with_latest([result.run for result in results if result.run is not None])
        shown = {run.run_id: run_view(run, attempt) for run, attempt in latest}
        beside = {"done": sum(result.error is None for result in results), "matched": len(results)}
        return listing("results", (_view(result, shown) for result in results), (), beside=beside)

    return routes


def _done_before() -> list[str]:
    """Return the runs to which this very request was done before a crash: it goes on where it ended."""
    mark = MARK.get()
    return [] if mark is None else list(mark.runs)


async def chosen(desk: FrontDesk, asked: BulkAsked) -> list[str]:
    """Return the ids of the runs that are meant, in their order, each once. Raises BadRequest."""
    if (asked.run_ids is None) == (asked.selection is None):
        raise BadRequest("give either run_ids or selection", mend="selection takes the filters of GET /api/runs")
    if asked.downstream and asked.action != RERUN:
        raise BadRequest(f"downstream goes with rerun, not with {asked.action}", mend="leave it out")
    if asked.run_ids is not None:
        return list(dict.fromkeys(asked.run_ids))
    assert asked.selection is not None
    return await _selected(desk, asked.selection)


async def _selected(desk: FrontDesk, selection: Selection) -> list[str]:
    given = {name: getattr(selection, name) for name in selection.model_fields_set}
    if not any(value not in (None, "", []) for value in given.values()):
        raise BadRequest("the selection is empty: it would match every run", mend="give at least one filter")
    query = runs_asked(desk.engine.config.jobs.values(), RunsAsked.model_construct(**given, limit=MOST))
    page = await desk.ask(lambda store: store.runs(query))
    if page.next_cursor is not None:
        raise BadRequest(f"more than {MOST} runs match, or too many to look at", mend="narrow the selection")
    return [run.run_id for run in page.items]


@dataclass(slots=True)
class _Result:
    """What became of one run."""

    run_id: str
    run: Run | None = None
    error: ActionError | StoreError | EngineFailedError | None = None


@dataclass(slots=True)
class _Bulk:
    """One request at work."""

    desk: FrontDesk
    caller: Caller
    act: BulkAct
    before: frozenset[str] = frozenset()
    done: dict[str, Run] = field(default_factory=dict)

    async def through(self, run_ids: Sequence[str]) -> list[_Result]:
        """Act upon all of them; returns the results in the same order."""
        results: list[_Result] = []
        at_once = 1 if self.act.downstream else AT_ONCE
        for start in range(0, len(run_ids), at_once):
            results += await asyncio.gather(*map(self._one, run_ids[start : start + at_once]))
            await asyncio.sleep(0)
        return results

    async def _one(self, run_id: str) -> _Result:
        if run_id in self.done:
            return _Result(run_id, self.done[run_id])
        act = self.act
        if run_id in self.before:
            return _Result(run_id, await self.desk.ask(lambda store: store.get_run(run_id)))
        try:
            runs = await perform(
                self.desk, self.caller, act.action, run_id, reason=act.reason, downstream=act.downstream
            )
        except (ActionError, StoreError, EngineFailedError) as error:
            return _Result(run_id, error=error)
        self.done.update((run.run_id, run) for run in runs)
        return _Result(run_id, runs[0])


def _note(request: Request, act: BulkAct, results: Sequence[_Result]) -> None:
    """Give each run its row in the audit log."""
    record = record_of(request.scope)
    if record is not None:
        record.action = act.action.replace("-", "_")
        record.detail = {"bulk": len(results), **({"downstream": True} if act.downstream else {})}
        record.each = [(each.run_id, DONE if each.error is None else result_of(each.error)) for each in results]


def _view(result: _Result, shown: dict[str, Any]) -> dict[str, Any]:
    error = result.error
    return {
        "run_id": result.run_id,
        "ok": error is None,
        "error": "" if error is None else error.what,
        "mend": "" if error is None else error.mend,
        "run": None if result.run is None else shown.get(result.run.run_id),
    }
