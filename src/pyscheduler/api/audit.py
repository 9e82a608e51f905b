"""The audit log in pages, and proved. For admins: `needs.py` says so. DESIGN 11; format and proof: `store/chain.py`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from pyscheduler.api import shapes
from pyscheduler.api.answers import Json, written
from pyscheduler.api.asking import AuditAsked, VerifyAsked
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.questions import known_of, rows_asked
from pyscheduler.api.told_views import AUDIT_COLUMNS, audit_view, verified_view


def router(desk: FrontDesk) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/api/audit", tags=["audit"], responses=shapes.REFUSALS)

    @routes.get("", response_model=shapes.AuditLog)
    async def audit(asked: Annotated[AuditAsked, Query()]) -> Response:
        """List who did what, newest first, a page at a time."""
        page = await desk.ask(lambda store: store.audit_entries(rows_asked(asked)))
        views = map(audit_view, page.items)
        return await desk.threads(
            written, "audit", views, AUDIT_COLUMNS, form=asked.format, next_cursor=page.next_cursor
        )

    @routes.get("/verify", response_model=shapes.Verification)
    async def verify(asked: Annotated[VerifyAsked, Query()]) -> Json:
        """Walk along the whole chain and say whether it holds; `ok` false names the first row at fault."""
        found = await desk.walks(desk.engine.store.verify_audit, known_of(asked.head))
        return Json(verified_view(found))

    return routes
