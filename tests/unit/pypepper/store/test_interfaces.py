"""The record that every store keeps, and what a store of a program's own must have. Spec: pipeline.md 12."""

from __future__ import annotations

import copy
import pickle
from dataclasses import MISSING, FrozenInstanceError, asdict, fields, replace
from typing import Any

import pytest

from pypepper.scheduler.store.interfaces import IJobStore, JobRecord

ALL: dict[str, Any] = {
    "id": "a", "category": "k", "channel_id": "c", "status": "Failed", "created": "b", "updated": "u",
    "workflow_count": 2, "version": 4, "payload": {"p": 1}, "results": [1], "error": "e",
}  # fmt: skip
LEFT_OUT = {"workflow_count": 0, "version": 1, "payload": None, "results": None, "error": None}
SHORT = JobRecord("a", "k", "c", "Failed", "b", "u")


def test_fields_in_their_order() -> None:
    """pipeline.md 12.1: by position or by name, in the documents' order; `results` and `error` are ours and last."""
    made = JobRecord(*ALL.values())
    assert made == JobRecord(**ALL)
    assert asdict(made) == vars(made) == ALL
    assert [field.name for field in fields(made)] == list(ALL)


def test_what_may_be_left_out() -> None:
    """pipeline.md 12.1: no workflow, version 1, no payload; and whoever asks the class reads the same."""
    assert asdict(SHORT) == {**ALL, **LEFT_OUT}
    assert {field.name: field.default for field in fields(JobRecord) if field.default is not MISSING} == LEFT_OUT


def test_a_record_is_frozen_and_equal_by_value() -> None:
    """pipeline.md 12.1: a frozen dataclass; a changed copy is another record."""
    with pytest.raises(FrozenInstanceError):
        SHORT.status = "Completed"  # type: ignore[misc]
    assert JobRecord("a", "k", "c", "Failed", "b", "u") == SHORT
    for name, value in ALL.items():
        changed: dict[str, Any] = {name: f"{value}!" if isinstance(value, str) else value}
        assert replace(SHORT, **changed) != SHORT
    assert asdict(SHORT) == {**ALL, **LEFT_OUT}


def test_a_record_travels() -> None:
    """Between processes and as a copy it stays what it is."""
    made = JobRecord(**ALL)
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made


@pytest.mark.parametrize("lacking", ["put", "get", "list", "delete", "clear"])
def test_a_store_has_five_answers(lacking: str) -> None:
    """pipeline.md 12.2: each is asked of a store of a program's own; `close` it may leave out."""
    answers = {name: lambda *_given: None for name in ("put", "get", "list", "delete", "clear")}
    whole = type("Whole", (IJobStore,), answers)
    whole().close()
    with pytest.raises(TypeError, match=lacking):
        type("Torso", (IJobStore,), {name: answer for name, answer in answers.items() if name != lacking})()
