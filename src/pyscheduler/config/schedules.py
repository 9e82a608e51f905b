"""From the `schedule:` key to schedule specifications. Spec: jobs.md 2, 2.2; DESIGN 8 row 14.

One line of text is a cron expression, a macro or `manual`; a mapping has exactly one form (cron, every, at,
business_day, once) and may bound it. Whether it ever fires is asked later, when zone and calendar are known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pyscheduler.config.complaints import Loc, Spot, shown
from pyscheduler.config.schema_job import ScheduleKeys
from pyscheduler.config.values import BadValue
from pyscheduler.config.words import MANUAL, check_every, cron
from pyscheduler.model.job import AtSpec, BusinessDaySpec, EverySpec, OnceSpec, ScheduleSpec

_FORMS: Final = ("cron", "every", "business_day", "once", "at")
"""In this order: `at` stands beside business_day too."""


class _Mixed(Exception):
    """The mapping has no form, or more than one. Carries the key to point at and the words."""

    def __init__(self, key: str | None, what: str, mend: str = "") -> None:
        self.key, self.what, self.mend = key, what, mend
        super().__init__(what)


def schedule_specs(items: list[Any], spot: Spot) -> tuple[list[tuple[int, ScheduleSpec]], bool]:
    """Return the schedules of a job, each with its number in the list, and whether `manual` stands among them.

    `spot` is the job's: complaints point into its `schedule`. An item that is wrong is left out.
    """
    specs: list[tuple[int, ScheduleSpec]] = []
    manual = False
    for number, item in enumerate(items):
        loc: Loc = ("schedule", number)
        if item == MANUAL:
            manual = True
        elif isinstance(item, ScheduleKeys):
            spec = _of_mapping(item, spot, loc)
            if spec is not None:
                specs.append((number, spec))
        else:
            specs.append((number, item))
    return specs, manual


def _of_mapping(keys: ScheduleKeys, spot: Spot, loc: Loc) -> ScheduleSpec | None:
    given = keys.given()
    try:
        return replace(_form(given), **_bounds(given))
    except _Mixed as error:
        spot.error((*loc, error.key) if error.key else loc, error.what, error.mend, at_key=error.key is not None)
    return None


def _form(given: dict[str, Any]) -> ScheduleSpec:
    forms = [form for form in _FORMS if form in given]
    if not forms:
        raise _Mixed(None, "a schedule needs cron, every, at, business_day with at, or once")
    if "between" in given and "every" not in given:
        raise _Mixed("between", "between belongs to every", "add every, or remove it")
    if forms[0] == "business_day" and forms[1:] == ["at"]:
        return BusinessDaySpec(nth=_nth(given["business_day"]), times=_times(given))
    if forms == ["business_day"]:
        raise _Mixed("business_day", "business_day needs at", 'add at: "18:00"')
    if len(forms) > 1:
        raise _Mixed(forms[1], f"{forms[0]} and {forms[1]} stand in one schedule", "make a list of two schedules")
    return _single(forms[0], given)


def _single(form: str, given: dict[str, Any]) -> ScheduleSpec:
    value = given[form]
    if form == "at":
        return AtSpec(times=_times(given))
    if form == "once":
        return OnceSpec(at=value)
    try:
        if form == "cron":
            return cron(value)
        opens, closes = given.get("between") or (None, None)
        spec = EverySpec(every_s=value, opens=opens, closes=closes)
        check_every(spec)
    except BadValue as error:
        raise _Mixed(form, f"{shown(value) if form == 'cron' else 'every'} {error.what}", error.mend) from None
    return spec


def _times(given: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(given["at"]))


def _nth(number: int) -> int:
    if number == 0:
        raise _Mixed("business_day", "business_day 0 is no day", "1 is the first working day of the month, -1 the last")
    return number


def _bounds(given: dict[str, Any]) -> dict[str, Any]:
    start, end = given.get("start"), given.get("end")
    if start is not None and end is not None and start > end:
        raise _Mixed("end", f"end {end} lies before start {start}")
    return {
        "start": start,
        "end": end,
        "jitter_s": given.get("jitter", 0),
        "exclude": tuple(given.get("exclude", ())),
        "days": tuple(sorted(set(given.get("days", ())))),
        "months": tuple(sorted(set(given.get("months", ())))),
    }
