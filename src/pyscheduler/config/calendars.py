"""From the `calendars:` section to working days, every source resolved to dates. Spec: jobs.md 1.7; DESIGN 8 row 15.

Countries and iCalendar files are read once, when loading, for a fixed stretch of years around today: the data of the
library or the file can change beneath a running scheduler without moving a firing until the next load. A calendar
that ends says so, and warns 60 days before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any, Final

from pyscheduler.config.complaints import Spot, shown
from pyscheduler.config.graph import cycles
from pyscheduler.config.holiday_sources import Dates, of_country, of_file
from pyscheduler.config.schema import CalendarKeys
from pyscheduler.config.values import BadValue
from pyscheduler.model.job import CalendarSpec

BUILT_IN: Final = "none"
WARN_BEFORE: Final = timedelta(days=60)
_MON_TO_FRI: Final = frozenset(range(5))


@dataclass(slots=True)
class CalendarDraft:
    """A calendar as written, with its own dates, before the included ones are added."""

    name: str
    spot: Spot
    keys: Mapping[str, Any]
    own: Dates = field(default_factory=Dates)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def includes(self) -> list[str]:
        listed: list[str] = self.keys.get("include", [])
        return listed


def draft_calendar(name: str, keys: CalendarKeys, spot: Spot, folder: str, today: date) -> tuple[CalendarDraft, bool]:
    """Return the calendar with its own dates resolved, and whether nothing was wrong with it."""
    given = keys.given()
    draft, before = CalendarDraft(name, spot, given), spot.complaints.errors
    if "subdiv" in given and "country" not in spot.tree:
        spot.error(("subdiv",), "subdiv belongs to country", "add country", at_key=True)
    draft.own.days.update(given.get("holidays", ()))
    _add(draft, "country", lambda: of_country(given["country"], given.get("subdiv"), today))
    _add(draft, "file", lambda: of_file(given["file"], folder, today))
    if "ends" in given:
        draft.own.ends = given["ends"]
    if not given.get("weekdays", _MON_TO_FRI) and not given.get("extra_days") and "extra_days" not in spot.tree:
        spot.error(("weekdays",), "no day is a working day", "name weekdays or extra_days", at_key=True)
    return draft, spot.complaints.errors == before


def _add(draft: CalendarDraft, key: str, read: Any) -> None:
    if key not in draft.keys:
        return
    try:
        dates: Dates = read()
    except BadValue as error:
        draft.spot.error((key,), f"{shown(draft.keys[key])} {error.what}", error.mend)
        return
    draft.own.add(dates)
    draft.texts.update(dates.texts)
    for remark in dates.remarks:
        draft.spot.warning((key,), remark)


def resolve_calendars(
    drafts: Mapping[str, CalendarDraft],
    broken: Collection[str],
    today: date,
    sketches: Mapping[str, CalendarDraft] = MappingProxyType({}),
) -> dict[str, CalendarSpec]:
    """Return the calendars with the holidays of those they include, transitively.

    `broken` holds the names of calendars that exist but could not be read: nothing is said about naming those.
    `sketches` is what could be read of them: what they include is checked all the same.
    """
    _check_includes({**drafts, **sketches}, broken)
    specs = {}
    for name in sorted(drafts):
        draft = drafts[name]
        dates = Dates()
        for part in _reach(name, drafts):
            dates.add(drafts[part].own)
        if "ends" in draft.keys:
            dates.ends = draft.keys["ends"]
        specs[name] = CalendarSpec(
            name=name,
            weekdays=frozenset(draft.keys.get("weekdays", _MON_TO_FRI)),
            holidays=frozenset(dates.days),
            extra_days=frozenset(draft.keys.get("extra_days", ())),
            ends=dates.ends,
        )
        _warn_of_end(specs[name], draft, today)
    return specs


def _warn_of_end(spec: CalendarSpec, draft: CalendarDraft, today: date) -> None:
    if spec.ends is None or today + WARN_BEFORE <= spec.ends:
        return
    key = next((key for key in ("ends", "file", "country", "include") if key in draft.keys), "holidays")
    verb = "ends" if spec.ends >= today else "ended"
    what = f"the calendar {verb} on {spec.ends}: days after that count as if there were no holidays"
    draft.spot.warning((key,), what, "add the next year's days", at_key=True)


def _check_includes(drafts: Mapping[str, CalendarDraft], broken: Collection[str]) -> None:
    known = [*drafts, BUILT_IN]
    for draft in drafts.values():
        for number, included in enumerate(draft.includes):
            if included not in drafts and included not in broken and included != BUILT_IN:
                hint = draft.spot.complaints.did_you_mean(included, known)
                draft.spot.error(("include", number), f"unknown calendar {shown(included)}", hint)
    for cycle in _cycles(drafts):
        path = " -> ".join((*cycle, cycle[0]))
        drafts[cycle[0]].spot.error(("include",), f"the calendars include each other in a circle: {path}", at_key=True)


def _reach(name: str, drafts: Mapping[str, CalendarDraft]) -> list[str]:
    """Return the calendar and all it includes, each once."""
    reached, pending = dict.fromkeys([name]), [name]
    while pending:
        for included in drafts[pending.pop()].includes:
            if included in drafts and included not in reached:
                reached[included] = None
                pending.append(included)
    return list(reached)


def _cycles(drafts: Mapping[str, CalendarDraft]) -> list[tuple[str, ...]]:
    """Return each circle of includes once, from its smallest name."""
    return cycles({name: [each for each in draft.includes if each in drafts] for name, draft in drafts.items()})
