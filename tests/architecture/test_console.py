"""Everything that the console can do is done by a test in a real browser: nothing new slips in untried.

A deed is a request that changes something: a form's address, an address in a script, an action that is offered for a
run, in each of the places that offer it. The table says which test does it; a deed without a row fails, and so does a
row without a deed or without its test.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

from pyscheduler.web.frame import PLACES
from pyscheduler.web.offers import ALL

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "src/pyscheduler/web"
BROWSER = ROOT / "tests/browser"
TEMPLATES = "".join(path.read_text() for path in sorted((WEB / "templates").glob("*.html")))
SCRIPTS = "".join(path.read_text() for path in sorted((WEB / "static/js").glob("*.js")))

DONE_BY = {
    "/login": "test_doors.py::test_who_is_nobody_signs_in_and_goes_where_they_were_going",
    "/logout": "test_doors.py::test_who_is_nobody_signs_in_and_goes_where_they_were_going",
    "/api/jobs/…/trigger": "test_places.py::test_a_job_is_triggered_with_its_preview_and_a_reason",
    "/api/jobs/…/backfill": "test_care.py::test_dates_are_backfilled_as_the_preview_said",
    "/api/jobs/…/pause": "test_places.py::test_a_job_is_paused_and_resumed",
    "/api/jobs/…/resume": "test_places.py::test_a_job_is_paused_and_resumed",
    "/api/scheduler/pause": "test_care.py::test_everything_is_paused_and_resumed",
    "/api/scheduler/resume": "test_care.py::test_everything_is_paused_and_resumed",
    "/api/catch-up": "test_care.py::test_what_was_missed_waits_for_a_word",
    "/api/reload": "test_places.py::test_admin_compares_and_reloads",
    "/api/sessions/…/revoke": "test_doors.py::test_an_admin_ends_a_session_and_its_browser_is_sent_away",
    "/api/alerts/…/replay": "test_care.py::test_an_alert_that_reached_nobody_is_sent_again",
    "/api/runs/…/…": "test_deeds.py::test_an_action_is_done_from_menu_bar_and_page",
    "/api/runs/bulk": "test_deeds.py::test_an_action_is_done_from_menu_bar_and_page",
    "/api/runs/bulk/preview": "test_deeds.py::test_an_action_is_done_from_menu_bar_and_page",
}


@functools.cache
def bearing(file: str) -> frozenset[str]:
    """Return the names of a module's tests."""
    tree = ast.parse((BROWSER / file).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def deeds() -> set[str]:
    """Return every address that a form or a script of the console posts to, what it puts in written as …"""
    forms = re.findall(r'data-post="([^"]+)"', TEMPLATES)
    forms += re.findall(r'<form method="post" action="([^"]+)"', TEMPLATES)
    scripts = re.findall(r'api\("POST", ["`]([^"`]+)["`]', SCRIPTS)
    assert len(re.findall(r'api\("POST", ', SCRIPTS)) == len(scripts) + 1, "forms.js posts what a form says"
    return {re.sub(r"\{\{.*?\}\}|\$\{.*?\}", "…", address) for address in (*forms, *scripts)}


def test_every_deed_has_its_test() -> None:
    assert deeds() == set(DONE_BY)


@pytest.mark.parametrize("deed", DONE_BY)
def test_the_test_of_a_deed_is_there(deed: str) -> None:
    file, _, name = DONE_BY[deed].partition("::")
    assert name in bearing(file)


def test_every_action_on_a_run_is_in_the_table_of_deeds() -> None:
    """The nine that menus, bar and pages offer, each once with a run that it applies to."""
    names = re.findall(r'^    Deed\("([a-z-]+)"', (BROWSER / "test_deeds.py").read_text(), re.MULTILINE)
    assert sorted(names) == sorted(offer.action for offer in ALL)


def test_every_place_is_looked_at_by_axe() -> None:
    """Each entry of the navigation, and the page of one job, of one version, of one run."""
    looked_at = (BROWSER / "test_places.py").read_text() + (BROWSER / "test_board.py").read_text()
    for path in (*(place.path for place in PLACES), "/jobs/load-ledger", "/admin/configs/1", "/runs/{hostile}"):
        assert f'"{path}"' in looked_at or f'"{path}?' in looked_at, path
