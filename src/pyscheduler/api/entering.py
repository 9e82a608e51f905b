"""Coming in by a one-time link: made on the Unix socket, used once by a browser. DESIGN 1 (P8).

The link lets in as the service's own user, who made it: so it is made on the Unix socket alone, where the kernel names
the peer.
"""

from __future__ import annotations

import logging
import os
from datetime import timedelta

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json
from pyscheduler.api.callers import Caller, Role, Via, user_name
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.door import LINK_PROOF, Door
from pyscheduler.api.gates import caller_of
from pyscheduler.api.links import LIFE_S
from pyscheduler.api.pages import page
from pyscheduler.api.signin import address_of
from pyscheduler.api.views import instant
from pyscheduler.errors import Conflict, Forbidden

log = logging.getLogger(__name__)


def router(desk: FrontDesk, door: Door) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["sign-in"], responses=shapes.REFUSALS)

    @routes.get("/enter/{code}", include_in_schema=False)
    async def enter(request: Request, code: str) -> Response:
        if not door.links.use(code, door.monotonic()):
            text, mend = "this link was used already, or it is older than a minute", "run `pysched open` again"
            if door.links.is_news(code):
                await desk.ledger.sign_in_failed("link", address_of(request), f"410 {text}")
            return page(door.pages.refusal(title="You may not come in", text=text, mend=mend), 410)
        name, address = user_name(os.geteuid()), address_of(request)
        agent = request.headers.get("user-agent", "")
        cookie, session = await door.sign_in(name, LINK_PROOF, address=address, agent=agent)
        log.info("%s came in by a link at %s", name, address)
        await desk.ledger.signed_in(Caller(name, Role.ADMIN, Via.LINK, address), session=session.short_id)
        return RedirectResponse("/", 303, {"Set-Cookie": cookie, "Cache-Control": "no-store"})

    @routes.post("/api/links", response_model=shapes.Link)
    async def link(request: Request) -> Json:
        """Make a link that lets one browser in, once, within a minute; on the Unix socket only."""
        _check_local(caller_of(request.scope))
        if door.address is None:
            raise Conflict("there is no TCP listener for a browser to come in by", mend="set `listen`, and restart")
        code = door.links.make(door.monotonic())
        until = door.now() + timedelta(seconds=LIFE_S)
        return Json({"url": f"http://{door.address}/enter/{code}", "expires_at": instant(until)})

    return routes


def _check_local(caller: Caller) -> None:
    if caller.via is not Via.SOCKET:
        raise Forbidden("a link is made on the Unix socket only", mend="run `pysched open` on the scheduler's machine")
