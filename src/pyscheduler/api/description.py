"""The OpenAPI document: what the routes say of themselves, and what everything that stands before them may answer.

A route knows its own answers and refusals. That a body may be too large, a caller unknown or too fast, a list be CSV,
is the same for all and stands here once. The framework's own word for a faulty request (422 with a form of its own) is
taken out: we answer 400, and 422 means a reused key.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from fastapi import FastAPI

Document = dict[str, Any]
_MAKING: Final = threading.Lock()

_REFUSAL: Final = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}}}
_OF_ALL: Final = {
    "401": "Nobody knows who you are",
    "403": "You may not",
    "431": "The head is larger than 16 KiB or has more than 100 headers",
    "503": "Starting, stopping, failed, or too busy",
}
_OF_POSTS: Final = {
    "400": "The body makes no sense",
    "408": "The body did not come within 30 s",
    "413": "The body is larger than 1 MiB",
    "415": "The body is not application/json",
    "422": "The key was used for another request",
    "429": "Too many actions within a short time",
}
_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key gets the same answer for 24 hours, and nothing is done twice",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[\\x21-\\x7e]+$"},
}
_AS_CSV: Final = {"schema": {"type": "string"}}
_AS_BYTES: Final = {"schema": {"type": "string", "contentMediaType": "application/octet-stream"}}
_INVENTED: Final = ("HTTPValidationError", "ValidationError")
"""What the framework adds for its own 422."""
OPEN_TO_ALL: Final = ("/healthz", "/readyz", "/api/health")


def described(app: FastAPI) -> Document:
    """Return the document of an application, made once. It takes long: for a helper thread."""
    with _MAKING:
        if app.openapi_schema is None:
            _complete(app.openapi())
        document = app.openapi_schema
        assert document is not None, "the framework keeps what it has made"
        return document


def _complete(document: Document) -> None:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            _complete_operation(path, method, operation)
    for name in _INVENTED:
        document["components"]["schemas"].pop(name, None)


def _complete_operation(path: str, method: str, operation: Document) -> None:
    responses, names = operation["responses"], {each["name"] for each in operation.get("parameters", ())}
    if "HTTPValidationError" in str(responses.get("422", "")):
        del responses["422"]
    refusals = {} if path in OPEN_TO_ALL else dict(_OF_ALL)
    if method == "post":
        refusals |= _OF_POSTS
        operation.setdefault("parameters", []).append(_KEY)
    for status, meaning in refusals.items():
        responses.setdefault(status, {"description": meaning, **_REFUSAL})
    content = responses["200"].setdefault("content", {})
    if "format" in names:
        content["text/csv"] = _AS_CSV
    if "raw" in names:
        content["application/octet-stream"] = _AS_BYTES
