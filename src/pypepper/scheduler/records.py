"""From a job's workflows to what a store can keep of them, and back: pure but for the registry. Spec: pipeline.md 15.

A payload exists only if every task names its executor: functions are never written down. What the tasks returned is
kept beside it, as far as JSON can say it: other values as their `repr`, and all of it within MAX_RESULTS characters,
for the smallest column among the stores holds 64 KiB.
"""

from __future__ import annotations

import json
import reprlib
from typing import Any, Final, NamedTuple

from pypepper.scheduler.executor import executor_registry
from pypepper.scheduler.tag import Tag
from pypepper.scheduler.task import DEFAULT_RETRY_UNTIL_MAX, Task
from pypepper.scheduler.workflow import Workflow

MAX_RESULT: Final = 24_000
"""Characters of one result's JSON; of a longer one only the first MAX_CUT characters of its text are kept."""
MAX_CUT: Final = MAX_RESULT // 12 - 2
"""JSON spends at most twelve characters on one of the text."""
MAX_RESULTS: Final = 48_000
"""Characters of all results of a job; what comes after the bound is kept as CUT."""
CUT: Final = "…"

_AS_THEY_ARE: Final = frozenset({type(None), bool, int})
_SMALL: Final = 10**15

_TEXTS: Final = ("channel_id", "dag_id", "fingerprint", "name", "category")
_PLAIN: Final = (
    "id",
    *_TEXTS,
    "description",
    "executor_id",
    "round_timeout",
    "round_timeout_join",
    "round_times",
    "version",
    "retry_count",
    "retry_delay",
    "retry_until_completed",
    "retry_until_max",
    "optional",
)
_BEYOND: Final = {"retry_backoff": 1, "retry_max_delay": 0, "retry_jitter": 0}
"""Beyond the documents, and written down only where they differ from these."""
_WHOLE: Final = {"round_times": 1, "version": 1, "retry_count": 0, "retry_until_max": DEFAULT_RETRY_UNTIL_MAX}
_SECONDS: Final = {"round_timeout": 0, "round_timeout_join": 0, "retry_delay": 0}


# ---------------------------------------------------------------- to a record


class Kept(NamedTuple):
    """What a record keeps of a job's workflows."""

    payload: dict[str, Any] | None = None
    """What the job can be rebuilt from; None without workflows or with a task that names no executor."""
    results: list[Any] | None = None
    """What the tasks have returned, a list a workflow; None before any task was tried."""
    error: str | None = None
    """The text of the last failure of the last task that had one."""


def kept_of(workflows: list[Any]) -> Kept:
    """Return what is to be kept; a job that has only just begun costs one look at each of its tasks."""
    if not workflows:
        return Kept()
    named, tried, error = True, False, None
    for workflow in workflows:
        tasks = getattr(workflow, "tasks", None)
        named = named and tasks is not None
        for task in tasks or ():
            named = named and bool(task.executor_id)
            tried = tried or task.attempts > 0
            error = task.error or error
    return Kept(_payload(workflows) if named else None, _results(workflows) if tried else None, error)


def _payload(workflows: list[Any]) -> dict[str, Any]:
    return {"workflows": [{"tasks": [_task_payload(task) for task in workflow.tasks]} for workflow in workflows]}


def _task_payload(task: Task) -> dict[str, Any]:
    payload = {name: getattr(task, name) for name in _PLAIN}
    payload["tags"] = [_tag(tag) for tag in task.tags or []]
    beyond = {name: getattr(task, name) for name, usual in _BEYOND.items() if getattr(task, name) != usual}
    return payload | beyond


def _tag(tag: Any) -> dict[str, str]:
    return {"key": tag, "value": ""} if isinstance(tag, str) else {"key": tag.key, "value": tag.value}


def _results(workflows: list[Any]) -> list[Any]:
    left = MAX_RESULTS
    kept: list[list[Any]] = []
    for workflow in workflows:
        kept.append([])
        for task in getattr(workflow, "tasks", ()):
            value, size = storable(task.result)
            left -= size
            kept[-1].append(value if left >= 0 else CUT)
    return kept


def storable(value: Any) -> tuple[Any, int]:
    """Return a value as JSON can say it, a copy, and the characters that takes. However large it is, little is read."""
    if type(value) in _AS_THEY_ARE and -_SMALL < (value or 0) < _SMALL:
        return value, 16
    try:
        text = _json(value)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(_SHORT.repr(value)[:MAX_CUT])
    if len(text) > MAX_RESULT:
        return (value if isinstance(value, str) else text)[:MAX_CUT] + CUT, MAX_RESULT
    return json.loads(text), len(text)


def _json(value: Any) -> str:
    """Return a value's JSON, or of a longer one a beginning that is over the bound."""
    pieces: list[str] = []
    size = 0
    for piece in _ENCODER.iterencode(value):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_RESULT:
            break
    return "".join(pieces)


def _short() -> reprlib.Repr:
    """Return a `repr` that reads a little of anything, and survives an object whose own `__repr__` raises."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = short.maxlong = MAX_CUT
    short.maxlist = short.maxtuple = short.maxdict = short.maxset = short.maxfrozenset = short.maxdeque = 50
    return short


_ENCODER: Final = json.JSONEncoder(allow_nan=False)
_SHORT: Final = _short()


# ---------------------------------------------------------------- and back


def workflows_from(payload: dict[str, Any] | None) -> list[Workflow]:
    """Return the workflows of a payload, ready to run; none without one.

    Raises ValueError for a task whose executor is missing or not registered or whose limits are wrong, KeyError for a
    text that every task must have.
    """
    return [_workflow(entry) for entry in (payload or {}).get("workflows") or []]


def _workflow(entry: dict[str, Any]) -> Workflow:
    workflow = Workflow()
    workflow.add_tasks([_task(saved) for saved in entry.get("tasks") or []])
    return workflow


def _task(saved: dict[str, Any]) -> Task:
    executor_id = saved.get("executor_id")
    if not executor_id:
        raise ValueError("missing executor_id: a task can be rebuilt only with the name of its executor")
    limits: dict[str, Any] = {name: int(saved.get(name) or usual) for name, usual in _WHOLE.items()}
    limits |= {name: _number(saved.get(name) or usual) for name, usual in (_SECONDS | _BEYOND).items()}
    texts: dict[str, Any] = {name: str(saved[name]) for name in _TEXTS}
    task = Task(
        **texts,
        **limits,
        description=str(saved.get("description") or ""),
        tags=[Tag(str(tag.get("key", "")), str(tag.get("value", ""))) for tag in saved.get("tags") or []],
        executor=executor_registry.resolve(str(executor_id)),
        executor_id=str(executor_id),
        retry_until_completed=bool(saved.get("retry_until_completed")),
        optional=bool(saved.get("optional")),
    )
    if saved.get("id"):
        task.id = str(saved["id"])
    return task


def _number(value: Any) -> float:
    """Return seconds with their fraction: a pause of 0.5 stays one (H5)."""
    if isinstance(value, int):
        return value
    number = float(value)
    return int(number) if number.is_integer() else number
