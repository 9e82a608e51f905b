"""What role each request needs: the one table, walked top down, and what nobody listed only an admin may.

Reads need a viewer, everything else an operator, but for what stands above that rule. Paths are compared as the
router sees them, decoded, so there is no second spelling of one. Spec: jobs.md 13.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pyscheduler.api.callers import Caller
from pyscheduler.errors import Forbidden
from pyscheduler.model.person import Role

READS: Final = frozenset({"GET", "HEAD"})
WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
ANY: Final = READS | WRITES | {"OPTIONS"}


class Need(NamedTuple):
    """A rule. `path` is exact, or with `/` at its end everything below it; `role` None lets anybody in."""

    path: str
    methods: frozenset[str]
    role: Role | None


TABLE: Final = (
    Need("/api/health", READS, None),
    Need("/healthz", READS, None),
    Need("/readyz", READS, None),
    Need("/static/", READS, None),
    Need("/login", READS | {"POST"}, None),
    Need("/enter/", READS, None),
    Need("/logout", frozenset({"POST"}), Role.VIEWER),
    Need("/admin", ANY, Role.ADMIN),
    Need("/admin/", ANY, Role.ADMIN),
    Need("/api/admin/", ANY, Role.ADMIN),
    Need("/api/audit", ANY, Role.ADMIN),
    Need("/api/audit/", ANY, Role.ADMIN),
    Need("/api/nodes/", WRITES, Role.ADMIN),
    Need("/api/sessions", ANY, Role.ADMIN),
    Need("/api/sessions/", ANY, Role.ADMIN),
    Need("/api/links", ANY, Role.ADMIN),
    # A configuration's text, of any version, may hold what a viewer need not see.
    Need("/api/configs", ANY, Role.OPERATOR),
    Need("/api/configs/", ANY, Role.OPERATOR),
    Need("/api/", WRITES, Role.OPERATOR),
    Need("/", READS | {"OPTIONS"}, Role.VIEWER),
    Need("/", ANY, Role.OPERATOR),
)


def role_for(method: str, path: str) -> Role | None:
    """Return the least role that may send this, None where anybody may."""
    for need in TABLE:
        below = need.path.endswith("/") and path.startswith(need.path)
        if method in need.methods and (below or path == need.path):
            return need.role
    return Role.ADMIN


def is_public(scope: Mapping[str, Any]) -> bool:
    """Whether anybody may send this request."""
    return role_for(scope["method"], scope["path"]) is None


def check(caller: Caller, scope: Mapping[str, Any]) -> None:
    """Let a caller pass who may send this. Raises Forbidden."""
    needed = role_for(scope["method"], scope["path"])
    if needed is not None and not caller.role.covers(needed):
        mend = f"this needs the role {needed.value}, and {caller.name} is {caller.role.value}"
        raise Forbidden("forbidden", mend=mend)
