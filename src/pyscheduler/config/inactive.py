"""Parts of the product that the configuration may name and this release does not do yet.

A part that a run would need is an error, so that nobody waits for it in good faith; `allow_inactive` makes it a
warning and the job's runs blocked. A part that only speaks or listens is said once in a warning. When a part becomes
active its line here goes, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pyscheduler.config.complaints import Loc, Spot
from pyscheduler.model.job import JobKind

_ALLOW: Final = "--allow-inactive loads it all the same and blocks what needs it"

_OF_SECTIONS: Final[Mapping[str, str]] = {"agents": "agents"}


class Inactive:
    """What is not active yet, and what has been said about it so far."""

    def __init__(self, *, allow: bool) -> None:
        self._allow = allow
        self._said: set[str] = set()

    def reason(self, kind: JobKind, keys: Mapping[str, Any], spot: Spot) -> str | None:
        """Return why no run of the job can start yet, None where all of it is active; complain on the way."""
        if kind is JobKind.FILE_WATCHER:
            return self._needs("is a watcher, not active yet", "file watchers are not active yet", spot, ("type",))
        for key in ("agent", "agent_tags"):
            if keys.get(key):
                return self._needs("needs an agent, not active yet", "agents are not active yet", spot, (key,))
        return None

    def check_section(self, name: str, spot: Spot) -> None:
        """Warn of a section that has no effect yet. `spot` is the whole file's."""
        if name in _OF_SECTIONS:
            self._mention(_OF_SECTIONS[name], spot, (name,))

    def _mention(self, part: str, spot: Spot, loc: Loc) -> None:
        if part not in self._said:
            self._said.add(part)
            is_are = "are" if part.endswith("s") else "is"
            spot.warning(loc, f"{part} {is_are} not active yet: checked, and without effect", at_key=True)

    def _needs(self, reason: str, what: str, spot: Spot, loc: Loc) -> str:
        if self._allow:
            spot.warning(loc, what, at_key=True)
        else:
            spot.error(loc, what, _ALLOW, at_key=True)
        return reason
