"""Errors as answers: the status of the class, what, and how to mend it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.responses import Response

from pyscheduler import errors
from pyscheduler.api.problems import answer_to
from pyscheduler.errors import ConfigError, PyschedError
from pyscheduler.model.problem import Problem, Severity


def body_of(answer: Response) -> Any:
    return json.loads(bytes(answer.body))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.BadRequest("x"), 400),
        (errors.Forbidden("x"), 403),
        (errors.NotFound("x"), 404),
        (errors.Conflict("x"), 409),
        (errors.Unavailable("x"), 503),
        (errors.StoreUnavailable("x"), 503),
        (errors.StoreDamaged("x"), 503),
        (errors.EngineFailedError("x"), 503),
        (errors.LaunchError("x"), 500),
        (errors.TooLarge("x"), 413),
        (errors.HeadTooLarge("x"), 431),
        (errors.CutShort("x"), 400),
        (errors.TooSlow("x"), 408),
        (errors.WrongType("x"), 415),
    ],
)
def test_each_class_has_its_status(error: PyschedError, status: int) -> None:
    """Who must act decides; 503 asks to come again."""
    answer = answer_to(error)
    assert (answer.status_code, body_of(answer)) == (status, {"error": "x"})
    assert ("retry-after" in answer.headers) == (status == 503)


def test_mend_and_where_stand_beside_it() -> None:
    """Only where there is something to say."""
    found = body_of(answer_to(errors.Conflict("it is held", where="a.yaml:3", mend="release it")))
    assert found == {"error": "it is held", "mend": "release it", "where": "a.yaml:3"}


def test_a_faulty_configuration_lists_every_complaint() -> None:
    """Errors are counted, warnings come along."""
    problems = [
        Problem("a.yaml", 3, 5, "unknown key", "did you mean schedule?", "load"),
        Problem("a.yaml", 9, 1, "never fires", severity=Severity.WARNING),
    ]
    answer = answer_to(ConfigError(problems))
    found = body_of(answer)
    assert (answer.status_code, found["error"]) == (400, "the configuration has 1 error")
    assert found["problems"][0] == {
        "file": "a.yaml",
        "line": 3,
        "column": 5,
        "message": "unknown key",
        "mend": "did you mean schedule?",
        "job": "load",
        "severity": "error",
    }
    assert found["problems"][1]["severity"] == "warning"
