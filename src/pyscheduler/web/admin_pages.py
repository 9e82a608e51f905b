"""The scheduler itself, for admins: its configuration and what the files would change, sessions, audit, facts.

Sessions and the audit log are fetched by the page from the API, which checks the role once more; what lies in the store
is read here. Spec: jobs.md 15.8.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from pyscheduler.api.callers import Role
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.gates import caller_of
from pyscheduler.api.scheduler import scheduler_view
from pyscheduler.engine.pauses import EVERYTHING
from pyscheduler.errors import Forbidden, NotFound
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.store import Store
from pyscheduler.web.press import Press
from pyscheduler.web.text_diff import FileDiff, compare

VERSIONS: Final = 50
LAST_VERSION: Final = 2**31 - 1
LINES_SHOWN: Final = 5000
"""Lines of a file at most that a page shows whole."""


def router(desk: FrontDesk, press: Press) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/admin")
    async def admin(request: Request) -> Response:
        must_be_admin(request)
        values, versions = await desk.ask(_read)
        held = desk.engine.catch_up_held
        return await press.page(
            request,
            "admin.html",
            "/admin",
            facts=scheduler_view(desk, values),
            versions=versions,
            failure=desk.host.reload_failure,
            warnings=desk.engine.config.warnings,
            held=held,
            preview=await desk.engine.preview_catch_up() if held else None,
            everything=desk.engine.desk.pauses.get(EVERYTHING),
            pauses=[(name, pause) for name, pause in desk.engine.desk.pauses.items() if name != EVERYTHING],
        )

    @routes.get("/admin/configs/{version}")
    async def config(request: Request, version: Annotated[int, Path(ge=1, le=LAST_VERSION)]) -> Response:
        must_be_admin(request)
        now, before = await desk.ask(lambda store: (store.config(version), _before(store, version)))
        if now is None:
            raise NotFound(f"there is no configuration {version}", mend="the admin page lists them")
        files = await desk.threads(differences, before, now)
        texts = [(source.path, *_cut(source.text)) for source in now.sources]
        return await press.page(
            request,
            "config.html",
            "/admin",
            version=now,
            before=before,
            files=files,
            texts=texts,
            in_force=desk.engine.config_version,
        )

    return routes


def must_be_admin(request: Request) -> None:
    """Let admins through. Raises Forbidden for everybody else."""
    caller = caller_of(request.scope)
    if not caller.role.covers(Role.ADMIN):
        raise Forbidden("this page is for admins", mend=f"{caller.name} is {caller.role.value}")


def _read(store: Store) -> tuple[dict[str, str], list[Any]]:
    return store.engine_values(), list(store.config_versions(VERSIONS))


def _before(store: Store, version: int) -> ConfigRecord | None:
    """Return the version before; numbers may have gaps where old ones were pruned."""
    older = store.config_versions(1, before=version)
    return store.config(older[0].version) if older else None


def differences(before: ConfigRecord | None, now: ConfigRecord) -> list[FileDiff]:
    """Return what changed, file by file; files without a change are left out. For a helper thread."""
    old = {source.path: source.text for source in before.sources} if before else {}
    new = {source.path: source.text for source in now.sources}
    names = [*new, *(name for name in old if name not in new)]
    found = (compare(name, old.get(name, ""), new.get(name, "")) for name in names)
    return [each for each in found if each.added or each.removed]


def _cut(text: str) -> tuple[str, bool]:
    """Return the beginning of a text, and whether that is not all."""
    lines = text.splitlines()
    return "\n".join(lines[:LINES_SHOWN]), len(lines) > LINES_SHOWN
