"""Who may do what: every route, with every kind of credential, on a real service. Spec: jobs.md 13.1.

What is expected is worked out here, from the specification's own words, and from nothing of the program's. A request is
"let through" if whatever it answers is not the gates' word: not 401, not a redirect to the sign-in, not a 403.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pyscheduler.api.app import build_app
from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.door import Door
from pyscheduler.api.gates import Gates
from pyscheduler.model.person import Credentials
from pyscheduler.web import Press, pages
from tests.builders import NOON
from tests.serving import Served, served
from tests.visitors import ROLES, Visitor, port_of, put, token_of, tokens, users

TEXT = """
scheduler:
  {state_dir: state, log_dir: logs, listen: "127.0.0.1:0", api_tokens_file: tokens.yaml, users_file: users.yaml}
jobs:
  quick: {command: "true", schedule: manual}
"""
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")


class Route(NamedTuple):
    """A method and a path with its parameters filled in."""

    method: str
    path: str


def every_route() -> list[Route]:
    """Return every route the application has, hidden ones too, and one more method for each path."""

    async def save(_batch: object) -> None: ...

    host: Any = object()
    door = Door(Credentials(), save=save, now=lambda: NOON, monotonic=lambda: 0.0)
    desk = FrontDesk(host)
    app = build_app(host, desk=desk, door=door, more=pages(desk, Press(desk)))
    door.close()
    assert isinstance(app, Gates)
    found: dict[Route, None] = {}
    inside: Any = app
    while not hasattr(inside, "router"):
        inside = inside._app
    for route in inside.router.routes:
        path = "/".join("x" if part.startswith("{") else part for part in route.path.split("/"))
        for method in (*route.methods, "DELETE"):
            found[Route(method, path)] = None
    found |= {Route("GET", path): None for path in ("/", "/admin", "/api/admin/x", "/static/x", "/nowhere", "/healthz")}
    return sorted(found)


ROUTES = every_route()


def needed(route: Route) -> str | None:
    """Return the role that the specification asks for, None where anybody may."""
    method, path = route
    looks = method in ("GET", "HEAD")
    if (looks and path in ("/api/health", "/healthz", "/readyz")) or (looks and path.startswith("/static/")):
        return None
    if (path == "/login" and method in ("GET", "HEAD", "POST")) or (looks and path.startswith("/enter/")):
        return None
    if path.startswith(("/admin", "/api/admin", "/api/sessions", "/api/links", "/api/audit")):
        return "admin"
    if path.startswith("/api/nodes/") and method in UNSAFE:
        return "admin"
    if path.startswith("/api/configs"):
        return "operator"
    return "viewer" if looks or route == ("POST", "/logout") else "operator"


def covers(role: str, wanted: str | None) -> bool:
    """Whether a role may do what another may."""
    return wanted is None or ROLES.index(role) >= ROLES.index(wanted)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("access")
    put(home, "tokens.yaml", tokens())
    put(home, "users.yaml", users())
    with served(home, TEXT) as found:
        yield found.start()


def sweep(visitor: Callable[[], Visitor], expected: Callable[[Route], set[int] | None], *, but: str = "") -> None:
    """Send every route; `expected` gives the gates' statuses, None where the request must be let through."""
    wrong = []
    guest = visitor()
    for route in ROUTES:
        if route.path == but:
            continue
        # A body that no route can read: whoever is let through does nothing.
        answer = guest.ask(*route, b"[]" if route.method in UNSAFE else None)
        statuses = expected(route)
        is_gate = answer.status in (401, 403) or answer.headers.get("location", "").startswith("/login")
        if (statuses is None and is_gate) or (statuses is not None and answer.status not in statuses):
            wrong.append((route, answer.status, answer.body, statuses))
        if route.path == "/logout":
            guest = visitor()
    assert wrong == []


def test_the_sweep_sees_every_route() -> None:
    """The API's, and those of coming in."""
    assert len(ROUTES) > 60
    for route in (("POST", "/api/runs/x/kill"), ("GET", "/api/jobs/x"), ("POST", "/login"), ("POST", "/api/links")):
        assert route in ROUTES


def test_nobody_gets_no_further_than_what_is_public(service: Served) -> None:
    """401 for everything else, existing or not; no route is told from a path that is none."""
    sweep(lambda: Visitor(port_of(service)), lambda route: None if needed(route) is None else {401})


def test_a_browser_of_nobody_is_sent_to_sign_in(service: Served) -> None:
    """For pages; the API says 401 to it too."""
    page = {"accept": "text/html"}
    visitor = Visitor(port_of(service), **page)
    assert visitor.ask("GET", "/?q=1").headers["location"] == "/login?next=/%3Fq%3D1"
    assert visitor.ask("GET", "/api/runs").status == 401


@pytest.mark.parametrize("value", ["Bearer wrong", "Bearer", "Bearer "])
def test_a_bad_token_is_nobody(service: Served, value: str) -> None:
    """Even with a good session beside it, and even of an admin."""

    def visitor() -> Visitor:
        found = Visitor(port_of(service))
        if value == "Bearer wrong":
            assert found.sign_in("admin").status == 200
        found.headers["Authorization"] = value
        return found

    sweep(visitor, lambda route: None if needed(route) is None else {401}, but="/login")


def test_a_cookie_that_is_none_of_ours_is_nobody(service: Served) -> None:
    """Whatever it holds."""
    bad = {"cookie": "pysched_session=" + "A" * 43, "X_CSRF_Token": "x"}
    sweep(lambda: Visitor(port_of(service), **bad), lambda route: None if needed(route) is None else {401})


@pytest.mark.parametrize("role", ROLES)
def test_a_token_may_what_its_role_may(service: Served, role: str) -> None:
    """403 for what needs more; a link is made on the Unix socket alone, whoever asks."""

    def expected(route: Route) -> set[int] | None:
        if route == ("POST", "/api/links"):
            return {403}
        return None if covers(role, needed(route)) else {403}

    sweep(lambda: Visitor(port_of(service), authorization=f"Bearer {token_of(role)}"), expected)


@pytest.mark.parametrize("role", ROLES)
def test_a_session_may_what_its_user_may(service: Served, role: str) -> None:
    """With the session's own token for whatever is unsafe."""

    def visitor() -> Visitor:
        found = Visitor(port_of(service))
        assert found.sign_in(role).status == 200
        return found

    def expected(route: Route) -> set[int] | None:
        if route == ("POST", "/api/links"):
            return {403}
        return None if covers(role, needed(route)) else {403}

    # The sign-in page sends who has signed in on to the board.
    sweep(visitor, expected, but="/login")


@pytest.mark.parametrize("csrf", ["", "wrong"])
def test_a_session_does_nothing_without_its_own_token(service: Served, csrf: str) -> None:
    """Not even an admin's; looking is free."""

    def visitor() -> Visitor:
        found = Visitor(port_of(service))
        assert found.sign_in("admin").status == 200
        found.csrf = csrf
        return found

    sweep(visitor, lambda route: {403} if route.method in UNSAFE else None, but="/login")


def test_the_unix_socket_is_the_services_own_user(service: Served, tmp_path: Path) -> None:
    """With no credentials at all; a bad token there is nobody's business."""
    for method, path in (("GET", "/api/sessions"), ("POST", "/api/links"), ("POST", "/api/reload")):
        assert service.ask(method, path, None, {"Authorization": "Bearer wrong"}).status == 200
