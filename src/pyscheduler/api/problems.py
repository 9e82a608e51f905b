"""From the error family to answers: `{"error": TEXT}` with the status of the class, `mend` and `where` beside it.

Whatever goes wrong, the body is JSON and names no secret: what is not of the family becomes `internal error`, its
text goes to the log only. Spec: jobs.md 13.3.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from math import ceil
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from pyscheduler.api.answers import Json
from pyscheduler.errors import ActionError, ConfigError, EngineFailedError, PyschedError, StoreError, TooMany
from pyscheduler.model.problem import Problem, Severity

log = logging.getLogger(__name__)


def answer_to(error: PyschedError) -> Json:
    """Return the answer that an error of the family is."""
    status = status_of(error)
    if isinstance(error, ConfigError):
        errors = [problem for problem in error.problems if problem.severity is Severity.ERROR]
        text = f"the configuration has {len(errors)} error{'' if len(errors) == 1 else 's'}"
        body: dict[str, Any] = {"error": text, "problems": [problem_view(problem) for problem in error.problems]}
    else:
        parts = {"error": error.what, "mend": error.mend, "where": error.where}
        body = {name: text for name, text in parts.items() if text or name == "error"}
    return Json(body, status, _headers(error, status))


def _headers(error: PyschedError, status: int) -> dict[str, str] | None:
    if isinstance(error, TooMany):
        return {"Retry-After": str(max(1, ceil(error.wait_s)))}
    return {503: {"Retry-After": "1"}, 401: {"WWW-Authenticate": "Bearer"}}.get(status)


def status_of(error: PyschedError) -> int:
    """Return the HTTP status for an error: who must act decides."""
    if isinstance(error, ActionError):
        return error.status
    if isinstance(error, ConfigError):
        return 400
    return 503 if isinstance(error, StoreError | EngineFailedError) else 500


def problem_view(problem: Problem) -> dict[str, Any]:
    """Return one complaint about a configuration."""
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "message": problem.message,
        "mend": problem.mend,
        "job": problem.job,
        "severity": problem.severity.value,
    }


# --------------------------------------------------------------------------- handlers for the application


async def on_family(_request: Request, error: Exception) -> Json:
    """Answer with an error of the family."""
    assert isinstance(error, PyschedError)
    if not isinstance(error, ActionError | ConfigError):
        log.warning("a request met: %s", error)
    return answer_to(error)


async def on_http(_request: Request, error: Exception) -> Json:
    """Answer in our words where the framework refuses: unknown path, wrong method."""
    assert isinstance(error, HTTPException)
    if error.status_code == 400:
        return Json({"error": "the body cannot be read: it is no JSON, or nested too deep"}, 400)
    message = None if error.detail == _phrase(error.status_code) else error.detail
    body = {"error": _phrase(error.status_code), "message": message}
    return Json(body, error.status_code, dict(error.headers or {}))


async def on_bad_request(_request: Request, error: Exception) -> Json:
    """Say what is wrong with parameters or body, the first fault of each."""
    assert isinstance(error, RequestValidationError)
    return Json({"error": "; ".join(map(_fault, error.errors()))}, 400)


async def on_overflow(_request: Request, _error: Exception) -> Json:
    """Refuse what lies beyond the years 1 to 9999, in some zone or after some days."""
    return Json({"error": "a date or instant lies beyond the calendar", "mend": "stay a day from its ends"}, 400)


async def on_bug(_request: Request, _error: Exception) -> Json:
    """Say no more of what nobody foresaw than that it happened; the gates write it to the log."""
    return Json({"error": "internal error"}, 500)


def _fault(fault: Mapping[str, Any]) -> str:
    kind, place = fault["type"], [str(part) for part in fault["loc"]]
    name = ".".join(place[1:])
    match kind:
        case "json_invalid":
            return f"the body is no JSON: {fault['ctx']['error']}"
        case "missing" if not name:
            return "the body is missing: it must be a JSON object"
        case "missing":
            return f"{name} is missing"
        case "extra_forbidden":
            what = "field" if place[0] == "body" else "parameter"
            return f"there is no {what} {name}"
        case "model_attributes_type" | "model_type" | "dict_type":
            return f"{name or 'the body'} must be a JSON object"
        case "value_error":
            return f"{name}: {fault['ctx']['error']}"
        case _:
            text = str(fault["msg"])
            return f"{name}: {text[:1].lower()}{text[1:]} (got {_shown(fault.get('input'))})"


def _shown(value: object) -> str:
    """Return a value as typed, short."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 80 else text[:77] + "..."


def _phrase(status: int) -> str:
    from http import HTTPStatus

    return HTTPStatus(status).phrase
