"""Texts with holes: `${NAME}` from the environment first, then `{placeholders}` of the run. Spec: jobs.md 1.4, 1.11.

The order is the safety: a value of the environment enters with its braces doubled, so the second pass gives it back
unchanged and can never take a part of it for a placeholder. A template is stored and shown as typed; only `render`,
for one attempt, puts values in. `redact` is the way back, for every text that might carry a value to a person.
Pure: values and variables are arguments.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final, NamedTuple

PLACEHOLDERS: Final = ("job", "run_date", "run_id", "attempt", "scheduled_at", "log_dir", "files")
"""Every placeholder there is. `files` stands only where a direct dependency is a watcher; `watch` has neither it nor
`attempt`."""

_DOLLAR: Final = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_WIDTH: Final = re.compile(r"\d{4}")
_FORMATTER: Final = string.Formatter()
REDACTED_FROM: Final = 4
"""Shorter values are shown: hiding a `1` would hide every 1."""

SAMPLE: Final[Mapping[str, object]] = {
    "job": "job",
    "run_date": date(2027, 5, 20),
    "run_id": "job.2027-05-20.1",
    "attempt": 1,
    "scheduled_at": datetime(2027, 5, 20, 4, 5, tzinfo=UTC),
    "log_dir": "/log",
    "files": "/a",
}
"""One value of each kind: a format spec that fits these fits every run."""


class TemplateError(ValueError):
    """A template that cannot be rendered. `placeholder` names the hole at fault, empty where the text itself is."""

    def __init__(self, what: str, *, mend: str = "", placeholder: str = "") -> None:
        self.what, self.mend, self.placeholder = what, mend, placeholder
        super().__init__(f"{what}; {mend}" if mend else what)


class _Hole(NamedTuple):
    name: str
    spec: str
    conversion: str | None


# --------------------------------------------------------------------------- from the environment


def variables_in(text: str) -> set[str]:
    """Return the names that `text` takes from the environment."""
    return {match[1] for match in _DOLLAR.finditer(text) if match[1]} if "$" in text else set()


def expand(text: str, value_of: Callable[[str], str]) -> str:
    """Return `text` with `${NAME}` replaced by `value_of(NAME)` and `$$` by `$`; `$HOME` and `${X:-y}` stay."""
    if "$" not in text:
        return text
    return _DOLLAR.sub(lambda match: value_of(match[1]) if match[1] else "$", text)


def _expand_for_template(text: str, variables: Mapping[str, str]) -> str:
    def doubled(name: str) -> str:
        try:
            return double_braces(variables[name])
        except KeyError:
            raise TemplateError(f"${{{name}}} is not set", mend=f"set {name} in the scheduler's environment") from None

    return expand(text, doubled)


def double_braces(text: str) -> str:
    """Return `text` so written that the template pass gives it back unchanged."""
    return text.replace("{", "{{").replace("}", "}}")


# --------------------------------------------------------------------------- from the run


def placeholders_in(text: str) -> set[str]:
    """Return the names of the placeholders of a template as typed. Raises TemplateError where it is malformed."""
    if "{" not in text and "}" not in text:
        return set()
    return {hole.name for _, hole in _parts(expand(text, lambda _name: "")) if hole is not None}


def render(text: str, values: Mapping[str, object], variables: Mapping[str, str]) -> str:
    """Return the template filled in for one attempt.

    `values` holds the placeholders (`run_date` a date, `scheduled_at` an aware datetime, `attempt` an int, the rest
    text), `variables` every `${NAME}` of the configuration. Raises TemplateError for a hole it cannot fill.
    """
    return filled(prepared(text, variables), values)


Prepared = tuple[tuple[str, "_Hole | None"], ...]
"""A template taken apart: literal stretches, each with the hole after it."""


def prepared(text: str, variables: Mapping[str, str]) -> Prepared:
    """Return a template taken apart once, to be filled for many attempts. Raises TemplateError."""
    text = _expand_for_template(text, variables)
    if "{" not in text and "}" not in text:
        return ((text, None),)
    return tuple(_parts(text))


def filled(template: Prepared, values: Mapping[str, object]) -> str:
    """Return a prepared template with its holes filled. Raises TemplateError."""
    return "".join([literal if hole is None else literal + _fill(hole, values) for literal, hole in template])


def check_template(text: str, variables: Mapping[str, str]) -> set[str]:
    """Return the placeholders of a template after rendering it with sample values: a wrong format spec shows now.

    Raises TemplateError: malformed, unknown name, a spec that does not fit.
    """
    names = placeholders_in(text)
    if names or "$" in text:
        render(text, SAMPLE, variables)
    return names


def _parts(text: str) -> Iterator[tuple[str, _Hole | None]]:
    """Yield the literal stretches and the hole after each. `text` has its environment values already."""
    try:
        for literal, name, spec, conversion in _FORMATTER.parse(text):
            yield literal, None if name is None else _hole(name, spec or "", conversion or None, text)
    except ValueError as error:
        if isinstance(error, TemplateError):
            raise
        raise TemplateError(
            _malformed(str(error)), mend="write {{ and }} for braces that stand for themselves"
        ) from None


def _malformed(reason: str) -> str:
    if reason.startswith("Single '}'"):
        return "a single } stands alone"
    unclosed = reason.startswith(("Single '{'", "expected '}'"))
    return "a { is never closed" if unclosed else f"malformed placeholder ({reason})"


def _hole(name: str, spec: str, conversion: str | None, text: str) -> _Hole:
    if name not in PLACEHOLDERS:
        raise TemplateError(f"unknown placeholder {{{name[:40]}}}", mend=_known(name, text), placeholder=name)
    if conversion not in (None, "r", "s", "a"):
        raise TemplateError(
            f"{{{name}!{conversion}}} knows no such conversion", mend="use !r, !s or !a", placeholder=name
        )
    if "{" in spec or "}" in spec:
        raise TemplateError(f"the format of {{{name}}} holds braces", mend="write it out", placeholder=name)
    if _WIDTH.search(spec):
        raise TemplateError(f"the format of {{{name}}} holds a number over 999", placeholder=name)
    return _Hole(name, spec, conversion)


def _known(name: str, text: str) -> str:
    if re.search(r"\$\{" + re.escape(name) + r"\}", text):
        return f"for the shell's own ${{{name}}} write ${{{{{name}}}}}"
    known = ", ".join(f"{{{word}}}" for word in PLACEHOLDERS)
    return f"the placeholders are {known}; write {{{{ and }}}} for braces that stand for themselves"


def _fill(hole: _Hole, values: Mapping[str, object]) -> str:
    try:
        value = values[hole.name]
    except KeyError:
        raise TemplateError(f"{{{hole.name}}} has no value here", placeholder=hole.name) from None
    if isinstance(value, datetime):
        value = value.astimezone(UTC)
    try:
        if hole.conversion:
            return format(_FORMATTER.convert_field(value, hole.conversion), hole.spec)
        if isinstance(value, datetime) and not hole.spec:
            return value.strftime("%Y-%m-%dT%H:%M:%SZ")
        return format(value, hole.spec)
    except (ValueError, TypeError) as error:
        raise TemplateError(
            f"the format {hole.spec!r} does not fit {{{hole.name}}}: {error}", placeholder=hole.name
        ) from None


# --------------------------------------------------------------------------- the way back


def redact(text: str, variables: Mapping[str, str]) -> str:
    """Return `text` with every value of `variables` put back as `${NAME}`, longest first, brace-doubled form too.

    Values shorter than four characters are left (spec 1.4).
    """
    hidden = frozenset((name, value) for name, value in variables.items() if len(value) >= REDACTED_FROM)
    if not hidden:
        return text
    pattern, names = _redactor(hidden)
    # One pass, not one a value: a value that is a part of a name must not bite into a `${NAME}` just put back.
    return pattern.sub(lambda match: f"${{{names[match[0]]}}}", text)


@lru_cache(maxsize=8)
def _redactor(hidden: frozenset[tuple[str, str]]) -> tuple[re.Pattern[str], dict[str, str]]:
    names: dict[str, str] = {}
    for name, value in sorted(hidden):
        names.setdefault(value, name)
        names.setdefault(double_braces(value), name)
    forms = sorted(names, key=lambda form: (-len(form), form))
    return re.compile("|".join(re.escape(form) for form in forms)), names
