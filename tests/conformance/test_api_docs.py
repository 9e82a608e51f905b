"""The manual's page on the API names every route there is, and no other."""

from __future__ import annotations

import re

from tests.serving import ROOT, Served

NOT_FOR_PROGRAMS = {("GET", "/api/openapi.json"), ("POST", "/login"), ("POST", "/logout")}
"""Named in the manual, and not in the description that programs read."""
ROUTE = re.compile(r"`(GET|POST) (/[^`?]*)`")


def test_the_manual_names_every_route(service: Served) -> None:
    """A route that is added is written down with it."""
    page = (ROOT / "docs/reference/api.md").read_text()
    found = service.get("/api/openapi.json")["paths"]
    routes = {(method.upper(), path) for path, methods in found.items() for method in methods}
    written = set(ROUTE.findall(page)) - NOT_FOR_PROGRAMS
    assert written == routes
