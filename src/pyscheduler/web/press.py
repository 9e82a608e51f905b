"""Where pages are printed: one Jinja environment for all templates, escaping everything, missing nothing silently.

Printing is work for a helper thread: two hundred rows take longer than the loop may be held. Every page leaves with the
same headers: nothing inline is ever run, nothing is kept by a cache, nobody frames it. A template that names what it
was not given fails at once (StrictUndefined).
"""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.pages import HEADERS
from pyscheduler.model.run import RunState
from pyscheduler.web import assets, words
from pyscheduler.web.frame import Frames
from pyscheduler.web.packing import WORTH_IT, packed, takes_gzip


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

    async def warm_up(self) -> None:
        """Make ready what the board is printed with, on a helper thread: the first to look would wait for that."""
        await self._desk.threads(self._jinja.get_template, "board.html")

    async def page(
        self, request: HTTPConnection, template: str, here: str = "", *, status: int = 200, **values: Any
    ) -> Response:
        """Return a page, printed on a helper thread. `here` is the navigation's entry that it belongs to.

        A template is given `frame` and `times` beside the values. Raises Unavailable where too many wait already.
        """
        given = self._given(request.scope, here) | values
        packs = takes_gzip(request.headers.getlist("accept-encoding"))
        return await self._desk.threads(self._whole, template, given, status, packs=packs)

    def _whole(self, template: str, given: dict[str, Any], status: int, *, packs: bool) -> Response:
        """Print a page down to its bytes. For a helper thread, so that the loop has nothing left to do but send."""
        body, headers = self._print(template, given).encode(), {**HEADERS, "Vary": "Accept-Encoding"}
        if packs and len(body) >= WORTH_IT:
            body, headers["Content-Encoding"] = packed(body), "gzip"
        return HTMLResponse(body, status, headers)

    def small_page(self, request: HTTPConnection, template: str, *, status: int, **values: Any) -> Response:
        """Return a page of a few lines, printed here and now: a refusal must not wait behind what it refuses."""
        return HTMLResponse(self.text(request.scope, template, **values), status, dict(HEADERS))

    def text(self, scope: Scope, template: str, **values: Any) -> str:
        """Return a page of a few lines as text, for whoever sends it with headers of their own."""
        return self._print(template, self._given(scope) | values)

    def _given(self, scope: Scope, here: str = "") -> dict[str, Any]:
        """Return what every template is given."""
        frame = self._frames.frame(scope, here)
        return {"frame": frame, "times": frame.times}

    def _print(self, template: str, values: dict[str, Any]) -> str:
        return self._jinja.get_template(template).render(values)
