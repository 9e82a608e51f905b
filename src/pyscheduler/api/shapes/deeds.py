"""What actions on many runs answer, and what previews say."""

from __future__ import annotations

from datetime import date

from pyscheduler.api.shapes.base import Listed, Shape
from pyscheduler.api.shapes.runs import Run
from pyscheduler.engine.rehearsal import What
from pyscheduler.model.run import RunState


class BulkResult(Shape):
    """What became of one run; where it was refused `error` says why and `mend` what does apply."""

    run_id: str
    ok: bool
    error: str
    mend: str
    run: Run | None


class Bulk(Listed):
    """One result for each run, in the order asked; `done` counts those that were acted upon."""

    results: list[BulkResult]
    done: int
    matched: int


class PreviewResult(Shape):
    """Whether the action applies to a run."""

    run_id: str
    ok: bool
    error: str
    mend: str


class PreviewEffect(Shape):
    """A run that would change; `before` null means that it would be created."""

    run_id: str
    job: str
    run_date: date
    before: RunState | None
    after: RunState
    what: What
    reason: str


class Preview(Shape):
    """What an action would do: `counts` by `what`; `delayed` are runs that were ready and would wait again."""

    action: str
    counts: dict[What, int]
    delayed: int
    effects: list[PreviewEffect]
    has_more: bool
    results: list[PreviewResult]
