"""What stands around every page: whose scheduler this is, how it goes, what time it is there, who looks, where to go.

A frame can be made while no engine runs: then it says so, and keeps the name and zone that it knew last.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from starlette.types import Scope

from pyscheduler.api.callers import Caller, Role, Via
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.host import Phase
from pyscheduler.api.intent import masked
from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.pauses import EVERYTHING
from pyscheduler.errors import Unavailable
from pyscheduler.timetable.zone import zone
from pyscheduler.web.words import Times


class Place(NamedTuple):
    """One entry of the navigation: its key for `g KEY`, where it leads, and whom it is for."""

    name: str
    path: str
    key: str
    role: Role = Role.VIEWER


PLACES: Final = (
    Place("Board", "/", "b"),
    Place("Graph", "/graph", "g"),
    Place("Timeline", "/timeline", "t"),
    Place("Forecast", "/forecast", "f"),
    Place("Logbook", "/logbook", "l"),
    Place("Jobs", "/jobs", "j"),
    Place("Alerts", "/alerts", "a"),
    Place("Admin", "/admin", "m", Role.ADMIN),
)
STRANGER: Final = Caller("", Role.VIEWER)
"""Who is seen where nobody has been identified: a page of refusal still needs a frame."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of one page."""

    scheduler: str
    timezone: str
    now: datetime
    times: Times
    phase: Phase
    trouble: str
    paused: bool
    caller: Caller
    places: tuple[Place, ...]
    here: str
    newest: str
    """The id of the newest event when the page was asked for; empty where nobody noted it."""
    csrf: str
    """The session's token as this one page carries it; empty where there is none."""

    @property
    def may_act(self) -> bool:
        """Whether buttons that change something are shown."""
        return self.caller.role.covers(Role.OPERATOR)

    @property
    def may_administer(self) -> bool:
        """Whether what concerns the scheduler itself is shown."""
        return self.caller.role.covers(Role.ADMIN)

    @property
    def has_session(self) -> bool:
        """Whether there is something to sign out of."""
        return self.caller.via in (Via.SESSION, Via.LINK)


class Frames:
    """Makes frames for one desk."""

    def __init__(self, desk: FrontDesk) -> None:
        self._desk, self._clock = desk, SystemClock()
        self._name, self._timezone = "pysched", "UTC"

    def frame(self, scope: Scope, here: str = "") -> Frame:
        """Return the frame for a request; `here` is the path of the navigation's entry that the page belongs to."""
        standing, paused, now = self._desk.host.standing, False, self._clock.now()
        try:
            engine = self._desk.engine
        except Unavailable:
            pass  # the frame says how the scheduler stands, and the page's own content that it is not there
        else:
            settings, now = engine.config.settings, engine.clock.now()
            self._name, self._timezone = settings.name, settings.timezone
            paused = engine.desk.pauses.get(EVERYTHING) is not None
        caller: Caller = scope.get("state", {}).get("caller") or STRANGER
        zone_ = ZoneInfo(self._timezone)
        return Frame(
            scheduler=self._name,
            timezone=self._timezone,
            now=now,
            times=Times(zone_, zone(self._timezone).today(now)),
            phase=standing.phase,
            trouble=standing.trouble,
            paused=paused,
            caller=caller,
            places=() if caller is STRANGER else tuple(place for place in PLACES if caller.role.covers(place.role)),
            here=here,
            newest=scope.get("state", {}).get("newest", ""),
            csrf=masked(caller.csrf, secrets.token_bytes(len(caller.csrf))),
        )
