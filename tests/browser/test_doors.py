"""Who comes in by a browser and what they then find: names, passwords, roles, teams, links and sessions.

A real service on TCP with a users file, so that the kernel's word for the caller counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import OpenPage, until
from tests.browser.world import World, world
from tests.visitors import LINE, PASSWORD, ROLES, port_of, put, users

TEXT = """
scheduler: {name: doors, state_dir: state, log_dir: logs, listen: "127.0.0.1:0", users_file: users.yaml}
jobs:
  quick: {command: "true", schedule: manual}
  books: {command: "true", schedule: manual, allow: [finance]}
  endless: {command: "sleep 600", schedule: manual}
"""
FINANCE = f"- {{name: fay, password_hash: '{LINE}', role: operator, teams: [finance]}}\n"
PAGES = ("/", "/jobs", "/jobs/quick", "/graph", "/timeline", "/forecast", "/logbook", "/alerts")


def at_the_door(place: World) -> World:
    """Let a world's address be the one that it listens at itself."""
    found = place.service.until(lambda: "listening at" in place.service.said() and port_of(place.service), "a port")
    place.url = f"http://127.0.0.1:{found}"
    return place


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service with a person of each role, and one of a team."""
    home = tmp_path_factory.mktemp("doors")
    put(home, "users.yaml", users(ROLES) + FINANCE)
    with world(home, TEXT, filled=False) as found:
        for job in ("quick", "books"):
            found.service.until_state(found.trigger(job), "succeeded")
        found.service.until_state(found.trigger("endless"), "running")
        yield at_the_door(found)


def sign_in(page: Any, name: str, password: str = PASSWORD) -> Any:
    """Type a name and a password, and go on."""
    page.fill("#login-name", name)
    page.fill("#login-password", password)
    with page.expect_navigation():  # a refusal stands on a page that looks as the one before
        page.click("main button[type=submit]")
    return page


def end_sessions(place: World, name: str) -> None:
    """End somebody's sessions, without a browser."""
    for session in place.service.get("/api/sessions")["sessions"]:
        if session["user"] == name:
            place.service.post(f"/api/sessions/{session['id']}/revoke")


def test_who_is_nobody_signs_in_and_goes_where_they_were_going(house: World, open_page: OpenPage) -> None:
    """From a page, by way of the form, to that page; and out again, after which it asks anew."""
    page = open_page(house, "/jobs?q=quick")
    assert page.url.endswith("/login?next=/jobs%3Fq%3Dquick")
    assert page.locator("nav").count() == 0
    sign_in(page, "operator")
    page.wait_for_url("**/jobs?q=quick")
    assert page.inner_text(".who") == "operator"
    page.click("text=Sign out")
    page.wait_for_url("**/login")
    page.goto("/jobs")
    assert "/login" in page.url
    page.go_back()
    page.reload()
    assert page.locator(".who").count() == 0, "what was seen before is not kept"


def test_a_wrong_password_is_told_and_the_name_is_kept(house: World, open_page: OpenPage) -> None:
    """The same words for a name that nobody has; the right password then works."""
    open_page.expect("401")  # type: ignore[attr-defined]
    page = open_page(house, "/login?next=/graph")
    for name in ("viewer", "nobody-at-all"):
        sign_in(page, name, "not this one")
        page.wait_for_selector("[role=alert]:has-text('the name or the password is wrong')")
        assert page.input_value("#login-name") == name
        assert page.input_value("#login-password") == ""
    sign_in(page, "viewer")
    page.wait_for_url("**/graph")


def test_who_guesses_has_to_wait(tmp_path_factory: pytest.TempPathFactory, open_page: OpenPage) -> None:
    """Five wrong ones, and the right one waits too: the page says how long."""
    open_page.expect("401")  # type: ignore[attr-defined]
    open_page.expect("429")  # type: ignore[attr-defined]
    home = tmp_path_factory.mktemp("guesses")
    put(home, "users.yaml", users(ROLES))
    with world(home, TEXT, filled=False) as found:
        page = open_page(at_the_door(found), "/login")
        for _ in range(5):
            sign_in(page, "admin", "a guess")
            page.wait_for_selector("[role=alert]:has-text('wrong')")
        sign_in(page, "admin")
        page.wait_for_selector("[role=alert]:has-text('too many sign-ins have failed; try again in')")


def test_a_viewer_sees_everything_and_no_button(house: World, open_page: OpenPage) -> None:
    """No page has anything that would change something; the keys that act do nothing; admin is not for them."""
    open_page.expect("403")  # type: ignore[attr-defined]
    page = sign_in(open_page(house, "/login"), "viewer")
    page.wait_for_url(f"{house.url}/")
    for path in (*PAGES, *(f"/runs/{run}" for run in house.runs.values())):
        page.goto(path)
        assert page.locator("main").inner_text()
        selectors = "[data-action], [data-bulk], [data-pick], form[data-post], template[data-offers], button.danger"
        assert page.locator(selectors).count() == 0, path
        assert page.locator('[data-go="m"]').count() == 0
    page.keyboard.press("r")
    page.keyboard.press("h")
    assert page.locator("#ask[open]").count() == 0
    assert page.locator("#help dd:text-is('rerun')").count() == 0
    page.goto("/admin")
    assert "Not for you" in page.inner_text("main")


def test_an_operator_acts_and_finds_no_admin(house: World, open_page: OpenPage) -> None:
    """Buttons, and the deed under their own name; what concerns the scheduler itself is not theirs to see."""
    open_page.expect("403")  # type: ignore[attr-defined]
    page = sign_in(open_page(house, "/login?next=/runs/" + house.runs["quick"]), "operator")
    page.click('[data-action="rerun"]')
    page.wait_for_selector("#ask[open] .preview")
    page.fill("#ask-reason", "once more")
    page.click('#ask button[value="yes"]')
    events = f"/api/events?run={house.runs['quick']}&action=rerun"
    (line,) = house.service.until(lambda: house.service.get(events)["events"], "it is rerun")
    assert (line["actor"], line["detail"]["reason"]) == ("operator", "once more")
    page.goto("/admin")
    assert "Not for you" in page.inner_text("main")
    page.goto("/admin/configs/1")
    assert "Not for you" in page.inner_text("main")


def test_an_operator_of_another_team_is_refused_by_name(house: World, open_page: OpenPage) -> None:
    """On the run's and the job's page the buttons say so; in a selection beside one that may be done the answer does.

    fay of the team may.
    """
    open_page.expect("403")  # type: ignore[attr-defined]
    house.service.until_state(house.runs["quick"], "succeeded")  # the test before has rerun it
    page = sign_in(open_page(house, "/login?next=/runs/" + house.runs["books"]), "operator")
    page.wait_for_selector("#may-not:has-text('operator may not act on books: it allows finance')")
    assert page.locator('[data-action="rerun"]').is_disabled()
    before = house.service.run(house.runs["books"])["reruns"]

    page.goto("/")
    for job in ("books", "quick"):
        page.locator(f'tr[data-run="{house.runs[job]}"] [data-pick]').check()
    page.click('[data-bulk="rerun"]')
    page.wait_for_selector("#ask[open] .preview")
    page.click('#ask button[value="yes"]')
    page.wait_for_selector("#ask li.bad:has-text('operator may not act on books')")
    assert "1 done, 1 not" in page.inner_text("#ask h2")
    assert house.service.run(house.runs["books"])["reruns"] == before

    page.goto("/jobs/books")
    page.wait_for_selector("#may-not:has-text('operator may not act on books')")
    assert page.get_by_role("button", name="Trigger now").is_disabled()

    page = sign_in(open_page(house, "/login?next=/jobs/books"), "fay")
    page.click("text=Trigger now")
    page.wait_for_url("**/runs/books.*")


def test_a_link_lets_one_browser_in_once(house: World, open_page: OpenPage) -> None:
    """What `pysched open` prints leads to the board; the same link shows a page with a way on, and nothing more."""
    open_page.expect("410")  # type: ignore[attr-defined]
    path = "/enter/" + house.service.post("/api/links")["url"].rpartition("/")[2]
    page = open_page(house, path)
    page.wait_for_url(f"{house.url}/")
    assert page.locator("#rows tr").count() >= 3
    other = open_page(house, path)
    assert other.locator("#rows").count() == 0
    assert "pysched open" in other.inner_text("main")
    page.click("text=Sign out")
    page.wait_for_url("**/login")


def test_an_admin_ends_a_session_and_its_browser_is_sent_away(house: World, open_page: OpenPage) -> None:
    """Two clicks; the page that was open stops, and asks who they are as soon as they do anything."""
    open_page.expect("401")  # type: ignore[attr-defined]
    end_sessions(house, "viewer")
    guest = sign_in(open_page(house, "/login?next=/jobs"), "viewer")
    guest.wait_for_url("**/jobs")
    page = sign_in(open_page(house, "/login?next=/admin"), "admin")
    page.wait_for_selector("#sessions tr:has-text('this one')")
    end = page.locator("#sessions tr:has-text('viewer') button")
    end.click()
    assert end.inner_text() == "Really end it?"
    end.click()
    page.wait_for_selector(".toast:has-text('The session of viewer is over')")
    page.wait_for_selector("#sessions tr:has-text('viewer')", state="detached")
    guest.goto("/logbook")
    assert "/login?next=/logbook" in guest.url


def test_a_page_whose_session_is_over_asks_to_sign_in_and_comes_back(house: World, open_page: OpenPage) -> None:
    """Its stream has ended and it may look at nothing more: it does not stand there as if it were news."""
    open_page.expect("401")  # type: ignore[attr-defined]
    page = sign_in(open_page(house, "/login?next=/runs/" + house.runs["quick"]), "operator")
    page.wait_for_selector('[data-action="rerun"]')
    end_sessions(house, "operator")
    page.wait_for_url("**/login?next=**", timeout=60_000)
    sign_in(page, "operator")
    page.wait_for_url(f"**/runs/{house.runs['quick']}")


def test_the_audit_log_is_searched_and_its_chain_verified(house: World, open_page: OpenPage) -> None:
    """Who came, what they did and from where; one press says whether a row was ever changed."""
    page = sign_in(open_page(house, "/login?next=/admin"), "admin")
    page.wait_for_selector("#audit tr:has-text('admin'):has-text('from 127.0.0.1')")
    page.fill("#audit-action", "sign_in")
    page.fill("#audit-actor", "admin")
    page.click("#audit-filters button")
    until(page, "[...document.querySelectorAll('#audit tbody tr')].every((row) => row.textContent.includes('admin'))")
    assert "sign in" in page.inner_text("#audit tbody")
    page.click("#verify")
    page.wait_for_selector("#verified:has-text('the chain holds')")
