"""The kinds of value a key can have: how each is read, and how an editor's JSON Schema describes it.

An editor sees YAML's own typing, so the JSON Schema allows numbers and booleans wherever a text may look like one.
Spec: jobs.md 1.2, 1.3.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from typing import Annotated, Any, Final, TypeVar

from pyscheduler.config import values
from pyscheduler.config.reading import EnvironmentValue, Json, Key, Shown, Typed, Value
from pyscheduler.config.settings import check_zone
from pyscheduler.config.values import BadValue
from pyscheduler.model.job import (
    CatchUp,
    Criticality,
    DependsOn,
    JobKind,
    Leftovers,
    OnUncertain,
    Overlap,
    RunDateRule,
    Window,
)
from pyscheduler.rules.leases import seconds

T = TypeVar("T")

# --------------------------------------------------------------------------- what an editor may accept

_DOLLAR: Final[Json] = {"type": "string", "pattern": r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"}
_SCALAR: Final[Json] = {"type": ["string", "number", "boolean"]}
_NAME: Final = r"^[A-Za-z0-9_\-]{1,64}$"


def _or_variable(*kinds: Json, **more: object) -> Json:
    return {"anyOf": [*kinds, _DOLLAR], **more}


def _spelt(pattern: str, **more: object) -> Json:
    return _or_variable({"type": "string", "pattern": f"^({pattern})$"}, **more)


# --------------------------------------------------------------------------- text and names


def _nonempty(text: str) -> str:
    if not text.strip():
        raise BadValue("is empty")
    return str(text)


def _env_name(text: str) -> str:
    if not text or "=" in text or "\0" in text:
        raise BadValue("is no name of an environment variable", "use letters, digits and _")
    return str(text)


Text = Annotated[str, Value(str, _SCALAR)]
ShownText = Annotated[str, Shown(str, _SCALAR)]
FullText = Annotated[str, Value(_nonempty, _SCALAR)]
Name = Annotated[
    str, Value(values.check_name, _or_variable({"type": ["string", "integer", "boolean"], "pattern": _NAME}))
]
NameKey = Annotated[str, Key(values.check_name, {"type": "string", "pattern": _NAME})]
TextKey = Annotated[str, Key(str, {"type": "string"})]
EnvName = Annotated[str, Value(_env_name, {"type": "string", "pattern": "^[^=]+$"})]
EnvNameKey = Annotated[str, Key(_env_name, {"type": "string", "pattern": "^[^=]+$"})]
Template = Annotated[str, Typed(str, _SCALAR)]
FullTemplate = Annotated[str, Typed(_nonempty, _SCALAR)]
EnvValue = Annotated[str, EnvironmentValue(str, {"type": ["string", "number", "boolean", "null"]})]

# --------------------------------------------------------------------------- numbers


def _bounded(parse: Callable[[str], T], least: float | None, most: float | None) -> Callable[[str], T]:
    def read(text: str) -> T:
        number: Any = parse(text)
        if least is not None and number < least:
            raise BadValue(f"is less than {least:g}, the least allowed")
        if most is not None and number > most:
            raise BadValue(f"is more than {most:g}, the most allowed")
        return number  # type: ignore[no-any-return]  # compared as a number, returned as what it is

    return read


def _bounds(least: float | None, most: float | None) -> Json:
    named = (("minimum", least), ("maximum", most))
    return {name: bound for name, bound in named if bound is not None}


def whole(least: int | None = None, most: int | None = None) -> Value:
    """Return the metadata of a whole number within bounds, both inclusive."""
    kinds = {"type": "integer", **_bounds(least, most)}, {"type": "string", "pattern": r"^[-+]?[0-9]{1,20}$"}
    return Value(_bounded(values.parse_int, least, most), _or_variable(*kinds))


def decimal(least: float | None = None, most: float | None = None) -> Value:
    """Return the metadata of a number within bounds, both inclusive."""
    kinds = {"type": "number", **_bounds(least, most)}, {"type": "string", "pattern": r"^[-+]?[0-9]+(\.[0-9]+)?$"}
    return Value(_bounded(values.parse_float, least, most), _or_variable(*kinds))


Bool = Annotated[bool, Value(values.parse_bool, _or_variable({"type": "boolean"}, {"enum": ["true", "false"]}))]
Count = Annotated[int, whole(0)]
AtLeastOne = Annotated[int, whole(1)]
ExitCode = Annotated[int, whole(0, 255)]
_UMASK: Final[Json] = {"type": "string", "pattern": "^0?[0-7]{3}$"}
Umask = Annotated[
    int,
    Value(
        values.parse_umask,
        _or_variable(_UMASK, {"type": "integer"}, examples=["027"]),
    ),
]
Size = Annotated[
    int,
    Value(
        _bounded(values.parse_size, 1, None), _or_variable({"type": "integer"}, {"type": "string"}, examples=["512M"])
    ),
]

# --------------------------------------------------------------------------- times

_DURATION: Final = r"(?=.)([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?"
_CLOCK: Final = r"([01][0-9]|2[0-3]):[0-5][0-9]"
_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"


def _clock_or_duration(text: str) -> time | float:
    if ":" in text:
        return values.parse_time(text)
    try:
        return float(values.parse_duration(text))
    except BadValue as error:
        raise BadValue("is neither a clock time nor a duration", "write HH:MM or, as in 90m, how long after") from error


def _length(text: str) -> float:
    try:
        return seconds(text, "it")
    except ValueError as error:
        raise BadValue(
            str(error).removeprefix("it ").rstrip("."), "write a length of time, as in 45s or 0.5s"
        ) from None


Length = Annotated[float, Value(_length, {"type": "string", "examples": ["45s", "0.5s"]})]
Duration = Annotated[int, Value(values.parse_duration, _spelt(_DURATION, examples=["90s", "1h30m"]))]
DurationOrZero = Annotated[
    int,
    Value(
        values.parse_duration_or_zero, _or_variable({"type": "string", "pattern": f"^({_DURATION}|0)$"}, {"const": 0})
    ),
]
Clock = Annotated[time, Value(values.parse_time, _spelt(_CLOCK, examples=["07:15"]))]
ClockOrDuration = Annotated[
    time | float, Value(_clock_or_duration, _spelt(f"{_CLOCK}|{_DURATION}", examples=["02:00", "45m"]))
]
Day = Annotated[date, Value(values.parse_date, _spelt(_DATE, examples=["2027-05-20"]))]
Moment = Annotated[
    datetime, Value(values.parse_moment, _spelt(_DATE + "[T ][0-9:]{5,8}", examples=["2027-01-04 06:00"]))
]
Between = Annotated[
    tuple[time, time], Value(values.parse_between, _spelt(f"{_CLOCK} *- *{_CLOCK}", examples=["07:00-19:00"]))
]
Exclusion = Annotated[
    Window, Value(values.parse_window, {"type": "string", "examples": ["22:00-02:00", "2027-12-24..2027-12-26"]})
]
Zone = Annotated[str, Value(check_zone, {"type": "string", "examples": ["Europe/Berlin"]})]
HostPort = Annotated[
    tuple[str, int], Value(values.parse_host_port, _spelt(r"\S+:[0-9]{1,5}", examples=["127.0.0.1:8470"]))
]

NodeAddress = Annotated[
    str,
    Value(
        values.parse_node_address,
        _spelt(r"(https://)?[^\s/]+:[0-9]{1,5}/?", examples=["batch1.internal:8470", "https://batch1.internal:8443"]),
    ),
]

Listen = Annotated[
    tuple[str, int] | None,
    Value(values.parse_listen, _spelt(r"\S+:[0-9]{1,5}|off|none", examples=["127.0.0.1:8470", "[::1]:8470", "off"])),
]

# --------------------------------------------------------------------------- words


def words(known: dict[str, Any], *, any_case: bool = False) -> Value:
    """Return the metadata of a text that is one of a few words, each with its meaning."""

    def read(text: str) -> object:
        word = text.lower() if any_case else text
        if word not in known:
            raise BadValue(f"is none of {', '.join(known)}", word=word, among=known)
        return known[word]

    spellings = [
        spelling for word in known for spelling in ((word, word.capitalize(), word.upper()) if any_case else (word,))
    ]
    return Value(read, _or_variable({"enum": spellings}))


def _of(enum: Any) -> dict[str, Any]:
    return {str(member.value): member for member in enum}


WEEKDAYS: Final = {name: number for number, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))}
KindWord = Annotated[JobKind, words(_of(JobKind))]
OverlapWord = Annotated[Overlap, words(_of(Overlap))]
CatchUpWord = Annotated[CatchUp, words(_of(CatchUp))]
RunDateWord = Annotated[RunDateRule, words(_of(RunDateRule))]
DependsOnWord = Annotated[DependsOn, words(_of(DependsOn))]
LeftoversWord = Annotated[Leftovers, words(_of(Leftovers))]
OnUncertainWord = Annotated[OnUncertain, words(_of(OnUncertain))]
CriticalityWord = Annotated[Criticality, words({member.word: member for member in Criticality}, any_case=True)]
Weekday = Annotated[int, words(WEEKDAYS)]
Month = Annotated[int, whole(1, 12)]
