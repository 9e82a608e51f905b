"""What every shape is, refusals, pages."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """An answer, or a part of one."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Refusal(BaseModel):
    """Why nothing was done, and how to mend it."""

    error: str
    mend: str = ""
    where: str = ""


class ConfigProblem(Shape):
    """One complaint about the configuration; line and column are 1-based, 0 means the file as a whole."""

    file: str
    line: int
    column: int
    message: str
    mend: str
    job: str | None
    severity: str


class BadRequestRefusal(Refusal):
    """The request makes no sense; or the configuration is faulty, and `problems` holds every complaint."""

    problems: list[ConfigProblem] = []


REFUSALS: Final[dict[int | str, dict[str, Any]]] = {
    400: {"model": BadRequestRefusal},
    401: {"model": Refusal},
    403: {"model": Refusal},
    404: {"model": Refusal},
    409: {"model": Refusal},
    429: {"model": Refusal},
    503: {"model": Refusal},
}


class Listed(Shape):
    """A page of a list; `next_cursor` is null at the end, and only there."""

    next_cursor: str | None
