"""The pages that the door shows before anybody is somebody, in the look of this house."""

from __future__ import annotations

from typing import Final

from starlette.types import Scope

from pyscheduler.web.press import Press

_NOBODY: Final[Scope] = {"type": "http"}


class EntrancePages:
    """What `api.pages.Pages` asks for, printed by the press."""

    def __init__(self, press: Press) -> None:
        self._press = press

    def login(self, *, next_path: str, name: str, message: str) -> str:
        """Return the sign-in form; `message` says what went wrong, empty at first."""
        return self._press.text(_NOBODY, "login.html", next=next_path, name=name, error=message)

    def refusal(self, *, title: str, text: str, mend: str) -> str:
        """Return the page for somebody who may not come in."""
        said = {"error": text, "message": "", "where": "", "mend": mend}
        return self._press.text(_NOBODY, "refusal.html", code=403, title=title, said=said)
