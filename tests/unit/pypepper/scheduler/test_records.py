"""Payloads, rebuilt jobs and stored results: pipeline.md 15."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from pypepper.scheduler.executor import Executor, executor_registry
from pypepper.scheduler.job import CANCEL_EVENT_KEY, Job
from pypepper.scheduler.records import CUT, MAX_RESULT, MAX_RESULTS, storable
from pypepper.scheduler.tag import Tag
from pypepper.scheduler.workflow import Workflow
from tests.pipes import job, once, returning, row, status_of, task, work_off, workflow

KEYS = {
    *("id", "channel_id", "dag_id", "fingerprint", "name", "category", "description", "tags", "executor_id"),
    *("round_timeout", "round_timeout_join", "round_times", "version", "retry_count", "retry_delay"),
    *("retry_until_completed", "retry_until_max", "optional"),
}


@pytest.fixture(autouse=True)
def registered() -> None:
    """One executor that rebuilt jobs may name."""
    executor_registry.register("x", Executor)


def named(**more: Any) -> Any:
    return task(Executor(), executor_id="x", **more)


def test_a_payload_needs_every_executors_name() -> None:
    """pipeline.md 15: None without workflows, or with one task that names none (any falsy name is none)."""
    assert job().to_record().payload is None
    assert job(workflow(named(), task(Executor()))).to_record().payload is None
    assert job(named(), workflow(task(Executor(), executor_id=""))).to_record().payload is None
    assert job(named(), workflow(named(), named())).to_record().payload is not None


def test_the_shape_of_a_payload() -> None:
    """pipeline.md 15: exactly these keys, tags as pairs, an empty workflow as an empty list; JSON throughout."""
    made = named(
        tags=[Tag("a", "b")],
        round_timeout=3,
        round_timeout_join=4,
        round_times=2,
        retry_count=5,
        retry_delay=6,
        retry_until_completed=True,
        retry_until_max=7,
        optional=True,
        version=8,
    )
    payload = job(workflow(made), Workflow()).to_record().payload
    assert payload is not None
    assert payload["workflows"][1] == {"tasks": []}
    (saved,) = payload["workflows"][0]["tasks"]
    assert set(saved) == KEYS
    assert saved["tags"] == [{"key": "a", "value": "b"}]
    assert {name: getattr(made, name) for name in KEYS - {"tags"}} == {name: saved[name] for name in KEYS - {"tags"}}
    assert json.loads(json.dumps(payload)) == payload


def test_what_goes_beyond_is_written_only_where_it_is_used() -> None:
    """Beyond the documents: back-off and jitter survive a rebuild, and change no payload that does without them."""
    made = job(named(retry_count=1, retry_delay=0.5, retry_backoff=2, retry_jitter=0.25, retry_max_delay=9))
    payload = made.to_record().payload
    assert payload is not None
    assert set(payload["workflows"][0]["tasks"][0]) == KEYS | {"retry_backoff", "retry_jitter", "retry_max_delay"}
    (rebuilt,) = Job.from_record(made.to_record()).workflows[0].tasks
    assert (rebuilt.retry_backoff, rebuilt.retry_jitter, rebuilt.retry_max_delay) == (2, 0.25, 9)


def test_what_is_restored() -> None:
    """pipeline.md 15 row Restored: the job's fields, and each task with its id."""
    made = job(workflow(named(tags=[Tag("a", "b")], retry_count=2), named()), named())
    made.save()
    made.save()
    record = row(made)
    rebuilt = Job.from_record(record)
    for name in ("id", "category", "channel_id", "created", "updated", "version"):
        assert getattr(rebuilt, name) == getattr(record, name)
    assert [len(flow.tasks) for flow in rebuilt.workflows] == [2, 1]
    first, kept = rebuilt.workflows[0].tasks[0], made.workflows[0].tasks[0]
    assert first.id == kept.id
    assert (first.tags, first.retry_count, first.executor_id) == ([Tag("a", "b")], 2, "x")
    assert rebuilt.to_record() == record


def test_what_is_not_restored() -> None:
    """pipeline.md 15 row Not restored: the machine starts in Unknown; contexts and the event are new."""
    made = job(named())
    made.scheduled()
    rebuilt = Job.from_record(row(made))
    assert rebuilt.status == "Unknown"
    assert rebuilt.to_record().status == "Unknown"
    assert rebuilt.context is not made.context
    assert rebuilt.context.context[CANCEL_EVENT_KEY] is not made.context.context[CANCEL_EVENT_KEY]


@pytest.mark.parametrize("payload", [None, {}, {"workflows": []}, {"workflows": None}])
def test_no_payload_is_no_work(payload: dict[str, Any] | None) -> None:
    """pipeline.md 15 row "No or empty payload": no workflows, and running it completes."""
    rebuilt = Job.from_record(replace(job().to_record(), payload=payload))
    assert rebuilt.workflows == []
    rebuilt.scheduled()
    assert once() is rebuilt
    assert status_of(rebuilt) == ("Completed", "Completed")


def saved_with(**changes: Any) -> Any:
    """Return a record of one task, some of whose saved values are changed; None takes a key away."""
    record = job(named()).to_record()
    assert record.payload is not None
    entry: dict[str, Any] = record.payload["workflows"][0]["tasks"][0]
    for name, value in changes.items():
        entry[name] = value
        if value is None:
            del entry[name]
    return record


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"executor_id": None}, ValueError, "missing executor_id"),
        ({"executor_id": ""}, ValueError, "missing executor_id"),
        ({"executor_id": "y"}, ValueError, "unknown executor_id"),
        ({"channel_id": None}, KeyError, "channel_id"),
        ({"dag_id": None}, KeyError, "dag_id"),
        ({"fingerprint": None}, KeyError, "fingerprint"),
        ({"name": None}, KeyError, "name"),
        ({"category": None}, KeyError, "category"),
        ({"retry_count": -1}, ValueError, "retry_count must be >= 0"),
    ],
)
def test_what_cannot_be_rebuilt(changes: dict[str, Any], kind: type[Exception], words: str) -> None:
    """pipeline.md 15 row Errors, each."""
    with pytest.raises(kind, match=words):
        Job.from_record(saved_with(**changes))


def test_coercions() -> None:
    """pipeline.md 15 row Coercions: texts by str, whole numbers by int, falsy ones to the default."""
    entry = saved_with(name=7, retry_count="3", round_times=0, retry_until_max=0, id=None)
    entry.payload["workflows"][0]["tasks"][0]["category"] = None
    (made,) = Job.from_record(entry).workflows[0].tasks
    assert (made.name, made.category, made.retry_count) == ("7", "None", 3)
    assert (made.round_times, made.retry_until_max) == (1, 1000)
    assert len(made.id) == 36


@pytest.mark.parametrize(("saved", "kept"), [(0.5, 0.5), ("1.5", 1.5), (2.0, 2), (3, 3), (None, 0)])
def test_fractions_of_seconds_survive(saved: Any, kept: float) -> None:
    """H5, done better: a pause of half a second is still one after a rebuild."""
    (made,) = Job.from_record(saved_with(retry_delay=saved, round_timeout=saved)).workflows[0].tasks
    assert (made.retry_delay, made.round_timeout) == (kept, kept)


def test_plain_strings_are_tags() -> None:
    """pipeline.md 15 row Tags (H), done better: a string is a key without a value, and nothing raises."""
    made = job(named(tags=["nightly"]))
    assert made.save()
    (rebuilt,) = Job.from_record(row(made)).workflows[0].tasks
    assert rebuilt.tags == [Tag("nightly", "")]


@pytest.mark.parametrize("durable", ["Unknown", "Initializing", "Scheduled"])
def test_a_rebuilt_job_that_had_not_begun_runs(durable: str) -> None:
    """pipeline.md 15, last table, row 1: scheduled() succeeds, and a worker completes it."""
    made = job(named())
    made.restore_lifecycle(durable, durable)
    made.save()
    rebuilt = Job.from_record(row(made))
    rebuilt.scheduled()
    once()
    assert status_of(rebuilt) == ("Completed", "Completed")


@pytest.mark.parametrize("durable", ["InProgress", "Failed", "Completed", "Cancelled"])
def test_a_rebuilt_job_that_had_begun(durable: str) -> None:
    """pipeline.md 15, last table, rows 2 to 4: scheduled() raises and it is queued all the same.

    An InProgress one is run again (H7, see the guide), the others follow their row without any work.
    """
    ran: list[int] = []
    executor_registry.register("count", lambda: _Counting(ran))
    made = job(task(Executor(), executor_id="count"))
    made.restore_lifecycle(durable, durable)
    made.save()
    rebuilt = Job.from_record(row(made))
    with pytest.raises(RuntimeError, match="Scheduled persist skipped after enqueue"):
        rebuilt.scheduled()
    work_off()
    if durable == "InProgress":
        assert (status_of(rebuilt), ran) == (("Completed", "Completed"), [1])
    else:
        assert (status_of(rebuilt), ran) == ((durable, durable), [])


class _Counting(Executor):
    def __init__(self, ran: list[int]) -> None:
        self.ran = ran

    def execute(self, task: Any, context: Any = None) -> None:
        self.ran.append(1)


class _Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_an_object_that_cannot_be_told_stops_no_save() -> None:
    """A `__repr__` that raises is the object's own trouble."""
    assert "_Broken instance" in storable(_Broken())[0]


def test_little_is_read_of_a_large_result() -> None:
    """Promise P6: a save stays short, whatever a task has returned."""
    read = 0

    class Counting(list[int]):
        def __iter__(self) -> Any:
            nonlocal read
            for n in range(10**9):
                read += 1
                yield n

    kept, _ = storable(Counting([1]))
    assert kept.endswith(CUT)
    assert read < 24_000


class _Odd:
    def __repr__(self) -> str:
        return "<odd>"


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (None, None),
        (True, True),
        (7, 7),
        (10**20, 10**20),
        (-(10**16), -(10**16)),
        (1.5, 1.5),
        ("text", "text"),
        ([1, {"a": None}], [1, {"a": None}]),
        ((1, 2), [1, 2]),
        ({1: 2}, {"1": 2}),
        (math.nan, "nan"),
        (_Odd(), "<odd>"),
        ([_Odd()], "[<odd>]"),
        (b"x", "b'x'"),
    ],
)
def test_results_are_kept_as_json_can_say_them(value: Any, kept: Any) -> None:
    """Beyond the documents: what JSON cannot say becomes its repr."""
    assert storable(value)[0] == kept


def test_a_result_is_a_copy() -> None:
    """What the program does to its object later does not reach a row."""
    value = {"a": [1]}
    made = job(returning(value))
    made.workflows[0].run()
    record = made.to_record()
    value["a"].append(2)
    assert record.results == [[{"a": [1]}]]


def test_results_have_a_bound() -> None:
    """Promise P6: one result and all of them, whatever alphabet they are in, fit the smallest column of the stores."""
    assert storable("x" * 7_000)[0] == "x" * 7_000
    for long in ("x" * 50_000, "\x00" * 50_000, "🌶" * 50_000, ["é" * 50_000], [_Odd()] * 50_000):
        kept, size = storable(long)
        assert len(json.dumps(kept)) <= size <= MAX_RESULT
        assert isinstance(kept, str)
    assert storable("x" * 50_000)[0].endswith(CUT)
    made = job(*[returning("y" * 20_000) for _ in range(5)])
    for flow in made.workflows:
        flow.run()
    results = made.to_record().results
    assert results is not None
    assert [len(value) for (value,) in results] == [20_000, 20_000, 1, 1, 1]
    assert len(json.dumps(results)) < MAX_RESULTS + 100


def test_a_nested_loop_is_kept_as_text() -> None:
    """What refers to itself cannot be said in JSON, and does not stop a save."""
    value: list[Any] = []
    value.append(value)
    assert storable(value)[0] == "[[[[[[[...]]]]]]]"


def test_a_workflow_of_the_programs_own_is_kept_without_its_insides() -> None:
    """pipeline.md 15: no payload for what has no tasks to name."""

    class Mine:
        def run(self) -> list[Any]:
            return []

    made = job()
    made.workflows = [Mine()]
    record = made.to_record()
    assert (record.payload, record.results, record.workflow_count) == (None, None, 1)
