"""Who is quicker than the page: what is pressed before its programs or its data have come is never lost."""

from __future__ import annotations

from typing import Any

from tests.browser.conftest import OpenPage, until
from tests.browser.world import World


class Held:
    """Requests that are kept on the way until `let_go`."""

    def __init__(self, page: Any, pattern: str) -> None:
        self._page, self._waiting, self._pass = page, list[Any](), False
        page.route(pattern, self._take)

    def _take(self, route: Any) -> None:
        if self._pass:
            route.continue_()
        else:
            self._waiting.append(route)

    def wait(self) -> None:
        """Wait until something is kept."""
        while not self._waiting:
            self._page.wait_for_timeout(20)

    def let_go(self) -> None:
        """Let everything pass, now and from now on."""
        self._pass = True
        for route in self._waiting:
            route.continue_()


def test_a_search_before_the_log_is_open_waits_for_it(a_world: World, open_page: OpenPage) -> None:
    """Which stream is shown is not known yet; it used to be asked for a stream named `undefined`."""
    page = open_page(a_world, "/")
    held = Held(page, "**/log?*")
    page.goto(f"/runs/{a_world.runs['noisy']}")
    held.wait()
    page.fill("#log-search", "7777")
    page.press("#log-search", "Enter")
    held.let_go()
    page.wait_for_selector("#log-found >> text=match")


def test_a_form_before_its_program_sends_nothing(own_world: World, open_page: OpenPage) -> None:
    """Enter does nothing yet, the button cannot be pressed; when the page is ready both do what they say, once."""
    page = open_page(own_world, "/")
    held = Held(page, "**/job.js*")
    page.goto("/jobs/quick", wait_until="commit")
    held.wait()
    page.press("#trigger-reason", "Enter")
    button = page.get_by_role("button", name="Trigger now")
    assert button.evaluate("each => getComputedStyle(each).pointerEvents") == "none"
    before = len(own_world.service.get("/api/runs?job=quick")["runs"])
    held.let_go()
    until(page, "!document.documentElement.classList.contains('loading')")
    button.click()
    page.wait_for_url("**/runs/quick.*")
    assert len(own_world.service.get("/api/runs?job=quick")["runs"]) == before + 1
