"""The sessions of browsers, for admins: who is signed in, and ending it. Spec: jobs.md 13.1."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json
from pyscheduler.api.callers import Via
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.door import LINK_PROOF, Door
from pyscheduler.api.gates import caller_of
from pyscheduler.api.views import View, instant
from pyscheduler.model.session import Session


def router(_desk: FrontDesk, door: Door) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/sessions", tags=["sign-in"], responses=shapes.REFUSALS)

    @routes.get("", response_model=shapes.Sessions)
    async def sessions(request: Request) -> Json:
        """List the sessions that can be used, newest first."""
        own = caller_of(request.scope).proof
        return Json({"sessions": [_view(each, own) for each in door.sessions.live()]})

    @routes.post("/{session_id}/revoke", response_model=shapes.Sessions)
    async def revoke(request: Request, session_id: str) -> Json:
        """End one session at once; the browser has to sign in again."""
        session, caller = door.sessions.named(session_id), caller_of(request.scope)
        ended = await door.end_sessions(lambda each: each.session_hash == session.session_hash, caller.name)
        return Json({"sessions": [_view(each, caller.proof) for each in ended]})

    return routes


def _view(session: Session, own: str) -> View:
    found: dict[str, Any] = {
        "id": session.short_id,
        "user": session.user,
        "via": (Via.LINK if session.proof == LINK_PROOF else Via.SESSION).value,
        "created_at": instant(session.created_at),
        "seen_at": instant(session.seen_at),
        "expires_at": instant(session.expires_at),
        "revoked_at": instant(session.revoked_at),
        "address": session.address,
        "agent": session.agent,
        "is_yours": session.session_hash == own,
    }
    return found
