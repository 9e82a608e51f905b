"""Kinds of value that belong to one key each: schedules as text, what is retried, limits, alert kinds."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from pyscheduler.config import values
from pyscheduler.config.fields import words
from pyscheduler.config.reading import Unshown, Value
from pyscheduler.config.store_address import store_of
from pyscheduler.config.values import BadValue
from pyscheduler.model.alert import SCHEDULER_KINDS, AlertKind
from pyscheduler.model.job import RETRY_ON_DEFAULT, CronSpec, EverySpec, RebootSpec
from pyscheduler.timetable.schedule import ScheduleError, spec_from_text

MANUAL: Final = "manual"
LEAST_EVERY_S: Final = 60
UNLIMITED: Final = -1
"""The kernel's own number for no limit (RLIM_INFINITY)."""

ALERT_KINDS: Final = tuple(kind.value for kind in AlertKind if kind not in SCHEDULER_KINDS)
"""Kinds that a job raises (spec 15.1)."""


def _schedule(text: str) -> str | CronSpec | EverySpec | RebootSpec:
    if text == MANUAL:
        return MANUAL
    return cron(text)


def cron(text: str) -> CronSpec | EverySpec | RebootSpec:
    """Return the schedule of a cron expression or macro. Raises BadValue that names the field."""
    try:
        spec = spec_from_text(text)
    except ScheduleError as error:
        raise BadValue(f"is no schedule: {error.what}", error.mend) from None
    check_every(spec)
    return spec


def check_every(spec: object) -> None:
    """Raise BadValue for steps shorter than a minute."""
    if isinstance(spec, EverySpec) and spec.every_s < LEAST_EVERY_S:
        raise BadValue(
            "is less than 1m, the least step", "a cron expression of six fields has seconds, as in '*/10 * * * * *'"
        )


def _retry_on(text: str) -> str | int:
    if text in RETRY_ON_DEFAULT:
        return text
    try:
        code = values.parse_int(text)
    except BadValue:
        raise BadValue(f"is neither an exit code nor one of {', '.join(RETRY_ON_DEFAULT)}") from None
    if not 0 <= code <= 255:
        raise BadValue("is no exit code: they run from 0 to 255")
    return code


def _limit(parse: Any) -> Any:
    def read(text: str) -> int:
        return UNLIMITED if text == "unlimited" else int(parse(text))

    return read


def _count(text: str) -> int:
    count = values.parse_int(text)
    if not 0 <= count <= values.MAX_SIZE:
        raise BadValue("is no limit: write a number from 0 up, or unlimited")
    return count


def _seconds(text: str) -> int:
    return _count(text) if text.isdecimal() else values.parse_duration(text)


_LIMIT_JSON: Final[dict[str, Any]] = {"type": ["integer", "string"]}
ScheduleText = Annotated[str | CronSpec | EverySpec | RebootSpec, Value(_schedule, {"type": "string"})]
RetryOnWord = Annotated[
    str | int,
    Value(
        _retry_on,
        {
            "anyOf": [
                {"enum": list(RETRY_ON_DEFAULT)},
                {"type": "integer", "minimum": 0, "maximum": 255},
                {"type": "string", "pattern": "^[0-9]{1,3}$"},
            ]
        },
    ),
]
AlertKindWord = Annotated[str, words({kind: kind for kind in ALERT_KINDS})]
LimitCount = Annotated[int, Value(_limit(_count), _LIMIT_JSON)]
LimitSize = Annotated[int, Value(_limit(values.parse_size), _LIMIT_JSON)]
LimitTime = Annotated[int, Value(_limit(_seconds), _LIMIT_JSON)]

# --------------------------------------------------------------------------- settings and addresses

_URL: Final = re.compile(r"https?://[^\s/?#]+[^\s]*")


def _url(text: str) -> str:
    if not _URL.fullmatch(text) or not text.isprintable():
        raise BadValue(
            "is no http or https address", "write it whole and without blanks, as in https://example.org/hook"
        )
    return str(text)


def _log_retention(text: str) -> int | None:
    return None if text == "keep" else values.parse_duration(text)


Url = Annotated[str, Value(_url, {"type": "string", "examples": ["https://example.org/hook"]})]
HeartbeatUrl = Url
StoreUrl = Annotated[str | None, Unshown(store_of, {"type": "string"})]
LogRetention = Annotated[int | None, Value(_log_retention, {"type": "string"})]
OnLostWord = Annotated[str, words({"rerun": "rerun", "fail": "fail"})]
CronStar = Annotated[str, words({"lone": "lone", "leading": "leading"})]
