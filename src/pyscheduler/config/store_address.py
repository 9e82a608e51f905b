"""The address of a store on a server: `postgresql+psycopg://USER:${PASSWORD}@HOST:PORT/DATABASE?…`. Spec: DESIGN 6.

A password stands in the environment, never in the file, whose text is kept and shown. Where `${NAME}` is the password,
its value is quoted as an address wants it, so that it may hold any character; a variable that holds the whole address
is taken as it is. What is wrong with an address is said without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, urlsplit

from pyscheduler.config.values import BadValue
from pyscheduler.config.variables import Variables

_MEND: Final = "write sqlite, or postgresql+psycopg://USER:${NAME}@HOST/DATABASE"
_TYPED: Final = re.compile(r"(?P<before>[a-z+]+://[^:@/?#]*:)(?P<password>.*)(?P<after>@[^@]*)", re.DOTALL)
_SCHEMES: Final = ("postgresql", "postgresql+psycopg")
_VARIABLE: Final = re.compile(r"(\$\{[A-Za-z_][A-Za-z0-9_]*\})+")


def store_url(typed: str, expand: Callable[[str], str]) -> str | None:
    """Return the address that a text means, None for the file in state_dir. Raises BadValue.

    `expand` fills in `${NAME}`.
    """
    if typed == "sqlite":
        return None
    parts = _TYPED.fullmatch(typed)
    if parts is None:
        text = expand(typed)
        return None if text == "sqlite" else _checked(text)
    if not _VARIABLE.fullmatch(parts["password"]):
        what = "holds a password, and the text of this file is kept and shown"
        raise BadValue(what, "write ${NAME} for it, and set NAME in the scheduler's environment")
    return _checked(expand(parts["before"]) + quote(expand(parts["password"]), safe="") + expand(parts["after"]))


def store_of(typed: str, variables: Variables) -> str | None:
    """Return `store_url` with the variables of one reading."""
    return store_url(typed, variables.expand)


def _checked(text: str) -> str:
    try:
        parsed = urlsplit(text)
        _ = parsed.port
    except ValueError:
        raise BadValue("is no store", _MEND) from None
    if parsed.scheme not in _SCHEMES or not text.isprintable() or " " in text:
        raise BadValue("is no store", _MEND)
    if len(parsed.path) < 2 or "/" in parsed.path[1:]:
        raise BadValue("names no database", _MEND)
    return text
