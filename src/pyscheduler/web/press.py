"""Where pages are printed: one Jinja environment for all templates, escaping everything, missing nothing silently.

Printing is work for a helper thread: two hundred rows take longer than the loop may be held. Every page leaves with the
same headers: nothing inline is ever run, nothing is kept by a cache, nobody frames it. A template that names what it
was not given fails at once (StrictUndefined).
"""

from __future__ import annotations

from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from pyscheduler.api.desk import FrontDesk
from pyscheduler.model.run import RunState
from pyscheduler.web import assets, words
from pyscheduler.web.frame import Frames

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "font-src 'self'",
    )
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


class Press:
    """Prints the pages of one desk."""

    def __init__(self, desk: FrontDesk) -> None:
        self._desk, self._frames = desk, Frames(desk)
        self._jinja = Environment(
            loader=PackageLoader("pyscheduler.web"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._jinja.globals |= {"asset": assets.address, "look_of": words.look_of, "outcome_look": words.outcome_look}
        self._jinja.globals["states"] = tuple(RunState)
        self._jinja.filters |= {
            "duration": words.duration,
            "size": words.size,
            "plain": words.plain,
            "weekday": words.weekday,
            "sentence": words.sentence,
            "beside": lambda reason, state: words.reason_beside(state, reason),
        }

    @property
    def newest(self) -> str:
        """The id of the newest event that the stream has told."""
        return self._desk.hub.newest

    async def page(
        self, request: HTTPConnection, template: str, here: str = "", *, status: int = 200, **values: Any
    ) -> Response:
        """Return a page, printed on a helper thread. `here` is the navigation's entry that it belongs to.

        A template is given `frame` and `times` beside the values. Raises Unavailable where too many wait already.
        """
        frame = self._frames.frame(request.scope, here)
        given = {"frame": frame, "times": frame.times} | values
        return HTMLResponse(await self._desk.threads(self._print, template, given), status, dict(HEADERS))

    def small_page(self, request: HTTPConnection, template: str, *, status: int, **values: Any) -> Response:
        """Return a page of a few lines, printed here and now: a refusal must not wait behind what it refuses."""
        return HTMLResponse(self.text(request.scope, template, **values), status, dict(HEADERS))

    def text(self, scope: Scope, template: str, **values: Any) -> str:
        """Return a page of a few lines as text, for whoever sends it with headers of their own."""
        frame = self._frames.frame(scope)
        return self._print(template, {"frame": frame, "times": frame.times} | values)

    def _print(self, template: str, values: dict[str, Any]) -> str:
        return self._jinja.get_template(template).render(values)
