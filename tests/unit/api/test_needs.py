"""Which role a request needs."""

from __future__ import annotations

import pytest

from pyscheduler.api.callers import Caller
from pyscheduler.api.needs import check, is_public, role_for
from pyscheduler.errors import Forbidden
from pyscheduler.model.person import Role


@pytest.mark.parametrize(
    ("method", "path", "role"),
    [
        ("GET", "/api/health", None),
        ("HEAD", "/healthz", None),
        ("GET", "/static/app.css", None),
        ("POST", "/login", None),
        ("GET", "/enter/abc", None),
        ("GET", "/", Role.VIEWER),
        ("GET", "/events", Role.VIEWER),
        ("GET", "/api/runs", Role.VIEWER),
        ("GET", "/metrics", Role.VIEWER),
        ("POST", "/logout", Role.VIEWER),
        ("POST", "/api/runs/a/hold", Role.OPERATOR),
        ("DELETE", "/api/whatever", Role.OPERATOR),
        ("POST", "/whatever", Role.OPERATOR),
        ("GET", "/api/configs/3", Role.OPERATOR),
        ("GET", "/admin", Role.ADMIN),
        ("POST", "/admin/x", Role.ADMIN),
        ("GET", "/api/admin/x", Role.ADMIN),
        ("GET", "/api/sessions", Role.ADMIN),
        ("POST", "/api/sessions/abc/revoke", Role.ADMIN),
        ("POST", "/api/links", Role.ADMIN),
        ("GET", "/api/audit", Role.ADMIN),
    ],
)
def test_the_table(method: str, path: str, role: Role | None) -> None:
    """Reads need a viewer, everything else an operator, but for what is listed."""
    assert role_for(method, path) is role


@pytest.mark.parametrize(
    "path", ["/api/healthy", "/api/health/", "/static", "/loginx", "/login/", "/enter", "/healthz/x"]
)
def test_what_only_looks_public_is_not(path: str) -> None:
    """A path is public as it stands, not by its beginning."""
    assert not is_public({"method": "GET", "path": path})


@pytest.mark.parametrize("path", ["/api/health", "/static/x", "/healthz"])
def test_what_is_public_is_only_read(path: str) -> None:
    """Nobody posts to it."""
    assert role_for("POST", path) is Role.OPERATOR


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "PROPFIND", "get"])
def test_a_method_that_nobody_listed_is_the_admins(method: str) -> None:
    """What was not thought of is closed."""
    assert role_for(method, "/api/runs") is Role.ADMIN


def test_a_role_covers_those_below_it() -> None:
    """And no refusal leaves open what was missing."""
    asked = {"method": "POST", "path": "/api/reload"}
    check(Caller("ann", Role.OPERATOR), asked)
    check(Caller("ann", Role.ADMIN), asked)
    with pytest.raises(Forbidden) as refused:
        check(Caller("ann", Role.VIEWER), asked)
    assert (refused.value.what, refused.value.mend) == ("forbidden", "this needs the role operator, and ann is viewer")
