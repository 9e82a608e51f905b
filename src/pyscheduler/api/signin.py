"""The sign-in and the sign-out. Spec: jobs.md 13.1; DESIGN 1 (P8).

A form is answered with a page or a redirect, JSON with JSON. A wrong name and a wrong password are one answer.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from pyscheduler.api import cookies, shapes
from pyscheduler.api.answers import Json
from pyscheduler.api.callers import Caller, Via
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.door import Door, proof_of, safe_next
from pyscheduler.api.gates import caller_of, visitor_of
from pyscheduler.api.intent import fields_of, is_form
from pyscheduler.api.loopback import Wire
from pyscheduler.api.pages import page
from pyscheduler.api.problems import answer_to
from pyscheduler.errors import ActionError, BadRequest, Forbidden, Throttled, Unauthorised
from pyscheduler.model.session import SHORT

log = logging.getLogger(__name__)

WRONG: Final = "the name or the password is wrong"
UNKNOWN: Final = "a name that nobody has"
LONGEST_FIELD: Final = 2000


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody typed to come in."""

    name: str
    password: str
    next_path: str
    is_form: bool


def router(desk: FrontDesk, door: Door) -> APIRouter:
    """Return the routes. The pages are for browsers and not part of the API's description."""
    routes = APIRouter(tags=["sign-in"], responses=shapes.REFUSALS)

    @routes.get("/login", include_in_schema=False)
    async def form(request: Request, next: str = "/") -> Response:  # noqa: A002 - the parameter's name on the wire
        if visitor_of(request.scope) is not None:
            return RedirectResponse(safe_next(next), 303)
        if door.credentials.users is None:
            return door.turn_away(request.scope)
        return page(door.pages.login(next_path=safe_next(next), name="", message=""))

    @routes.post("/login", include_in_schema=False)
    async def login(request: Request) -> Response:
        wish = _wish(request, await request.body())
        try:
            return await _let_in(desk, door, request, wish)
        except (Unauthorised, Throttled) as error:
            return _refused(door, wish, error)

    @routes.post("/logout", include_in_schema=False)
    async def logout(request: Request) -> Response:
        caller = caller_of(request.scope)
        if caller.via in (Via.SESSION, Via.LINK):
            await door.end_sessions(lambda each: each.session_hash == caller.proof, caller.name)
            log.info("%s signed out at %s", caller.name, caller.address)
            await desk.ledger.signed_out(caller, session=caller.proof[:SHORT])
        headers = {"Set-Cookie": cookies.clearing(secure=door.secure_cookies), "Cache-Control": "no-store"}
        if is_form(request.scope):
            return RedirectResponse("/login" if door.credentials.users is not None else "/", 303, headers)
        return Json({"ok": True}, headers=headers)

    return routes


def _wish(request: Request, body: bytes) -> Wish:
    """Return what was typed. Raises BadRequest."""
    by_form = is_form(request.scope)
    found: Any = fields_of(body) if by_form else _json(body)
    texts = [found.get(key, "") for key in ("name", "password", "next")] if isinstance(found, dict) else []
    match texts:
        case [str(name), str(password), str(next_path)] if max(map(len, texts)) <= LONGEST_FIELD:
            return Wish(name, password, safe_next(next_path or "/"), by_form)
    raise BadRequest("a sign-in has `name`, `password` and perhaps `next`, each a text", mend="send a form or JSON")


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


async def _let_in(desk: FrontDesk, door: Door, request: Request, wish: Wish) -> Response:
    """Open a session for who typed the right password. Raises Unauthorised, Throttled, Forbidden."""
    if door.credentials.users is None:
        raise Forbidden("nobody can sign in here", mend="configure users_file")
    address, began_s = address_of(request), door.monotonic()
    wait_s = door.throttle.begin(wish.name, address, began_s)
    if wait_s > 0:
        if door.throttle.is_news(wish.name, address, began_s):
            await desk.ledger.sign_in_failed(_told(door, wish.name), address, "429 too many sign-ins have failed")
        raise Throttled("too many sign-ins have failed", wait_s=wait_s, mend=f"try again in {wait_s:.0f} s")
    user = await door.passwords.check(door.credentials, wish.name, wish.password)
    if user is None:
        name = _told(door, wish.name)
        log.warning("a sign-in as %s failed at %s", name, address)
        await desk.ledger.sign_in_failed(name, address, "401 unauthorised")
        raise Unauthorised(WRONG)
    door.throttle.succeeded(wish.name, address, began_s)
    agent = request.headers.get("user-agent", "")
    cookie, session = await door.sign_in(user.name, proof_of(user), address=address, agent=agent)
    log.info("%s signed in at %s", user.name, address)
    who = Caller(user.name, user.role, Via.SESSION, address, user.teams)
    await desk.ledger.signed_in(who, session=session.short_id)
    headers = {"Set-Cookie": cookie, "Cache-Control": "no-store"}
    if wish.is_form:
        return RedirectResponse(wish.next_path, 303, headers)
    return Json(
        {"user": user.name, "role": user.role.value, "csrf": session.csrf, "next": wish.next_path}, 200, headers
    )


def _told(door: Door, name: str) -> str:
    """Return a typed name only where somebody has it: else it may be a password, typed into the wrong field."""
    return name if door.credentials.user(name) is not None else UNKNOWN


def _refused(door: Door, wish: Wish, error: ActionError) -> Response:
    answer = answer_to(error)
    if not wish.is_form:
        return answer
    kept = {name: value for name, value in answer.headers.items() if name == "retry-after"}
    message = f"{error.what}; {error.mend}" if error.mend else error.what
    html = door.pages.login(next_path=wish.next_path, name=wish.name[:64], message=message)
    return page(html, error.status, kept)


def address_of(request: Request) -> str:
    """Return where a request comes from, as text; empty on the Unix socket."""
    wire: Wire | None = request.scope.get("state", {}).get("wire")
    return "" if wire is None else wire.address
