"""Who is quicker than the page, and what comes later than the next: nothing that was pressed or happened is lost."""

from __future__ import annotations

from typing import Any

import pytest

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


class Late:
    """The first answer to an address, as the scheduler gave it, kept on the way back until `arrive`."""

    def __init__(self, page: Any, url: str) -> None:
        self._page, self._kept = page, list[tuple[Any, Any]]()
        page.route(url, lambda route: self._kept.append((route, route.fetch())), times=1)

    def wait(self) -> None:
        """Wait until it is kept."""
        while not self._kept:
            self._page.wait_for_timeout(20)

    def arrive(self) -> None:
        """Let it come, and the page read it."""
        ((route, answer),) = self._kept
        route.fulfill(response=answer)
        self._page.wait_for_timeout(300)


def test_an_older_answer_never_replaces_a_newer_one_of_a_run(own_world: World, open_page: OpenPage) -> None:
    """Two changes, and the page that shows the first comes after the one that shows the second."""
    run = own_world.runs["noisy"]
    page = open_page(own_world, f"/runs/{run}")
    late = Late(page, f"{own_world.url}/runs/{run}")
    own_world.act("noisy", "mark-failed")
    late.wait()
    own_world.act("noisy", "mark-success", reason="it was right")
    page.wait_for_selector("#logbook:has-text('it was right')")
    late.arrive()
    assert page.get_attribute("#head", "data-state") == "succeeded"


def test_an_older_preview_never_replaces_a_newer_one(own_world: World, open_page: OpenPage) -> None:
    """The box is ticked before the first preview has come: what the box adds stays."""
    follower = own_world.latest("transform-orders")
    page = open_page(own_world, f"/runs/{own_world.runs['extract-orders']}")
    late = Late(page, "**/preview?*downstream=false*")
    page.click('[data-action="rerun"]')
    late.wait()
    page.check("#ask-downstream")
    page.wait_for_selector(f"#ask .preview:has-text('{follower}')")
    late.arrive()
    assert follower in page.inner_text("#ask .preview")


def test_a_look_at_changed_rows_that_fails_is_repeated(own_world: World, open_page: OpenPage) -> None:
    """The stream lives on, so that nothing else would ever put the row right."""
    open_page.expect("503")  # type: ignore[attr-defined]
    page = open_page(own_world, "/")
    page.route("**/board/rows?*", lambda route: route.fulfill(status=503, json={"error": "busy"}), times=1)
    own_world.act("noisy", "mark-failed")
    page.wait_for_selector(f'tr[data-run="{own_world.runs["noisy"]}"][data-state="failed"]')


def test_a_look_at_a_changed_run_that_fails_is_repeated(own_world: World, open_page: OpenPage) -> None:
    """As above, for the run's own page."""
    open_page.expect("503")  # type: ignore[attr-defined]
    run = own_world.trigger("quick")
    own_world.service.until_state(run, "succeeded")
    page = open_page(own_world, f"/runs/{run}")
    refuse = lambda route: route.fulfill(status=503, json={"error": "busy"})  # noqa: E731 - it is short
    page.route(f"{own_world.url}/runs/{run}", refuse, times=1)
    own_world.act("quick", "mark-failed")
    page.wait_for_selector('#head[data-state="failed"]')


def test_what_happens_during_a_slow_look_is_looked_at_too(own_world: World, open_page: OpenPage) -> None:
    """The timeline's look takes longer than its pause: it looks once more for what came meanwhile."""
    page = open_page(own_world, "/timeline?q=hostile")
    late = Late(page, f"{own_world.url}/timeline?q=hostile")
    own_world.act("hostile", "rerun")
    late.wait()
    own_world.service.until_state(own_world.runs["hostile"], "failed")
    run = own_world.service.trigger("hostile")
    own_world.service.until_state(run, "failed")
    page.wait_for_timeout(4000)  # the pause is over, and the look is not
    late.arrive()
    page.wait_for_selector(f'#timeline a[href="/runs/{run}"]', state="attached")


def test_a_busy_page_still_knows_two_keys_that_were_pressed_together(a_world: World, open_page: OpenPage) -> None:
    """It comes to the second one two seconds late; g and b were pressed at once."""
    page = open_page(a_world, "/logbook")
    page.evaluate("""() => {
        const [g, b] = ["g", "b"].map((key) => new KeyboardEvent("keydown", { key, bubbles: true }));
        document.body.dispatchEvent(g);
        const end = performance.now() + 2000;
        while (performance.now() < end);
        document.body.dispatchEvent(b);
    }""")
    page.wait_for_url(f"{a_world.url}/")


PIECES = """async ([run, step, offset]) => {
    const address = document.querySelector("script[src*='js/run.js']").src.replace("run.js", "log.js");
    const { LogView } = await import(address);
    const view = new LogView(run);
    view.stream = "stdout";
    await view.openAt(offset);
    await Promise.all([view[step](), view[step]()]);
    return view.pieces.map(({ from, to }) => [from, to]);
}"""


@pytest.mark.parametrize(("step", "offset"), [("forward", 0), ("back", 500_000)])
def test_a_piece_of_a_log_that_is_asked_for_twice_is_shown_once(
    a_world: World, open_page: OpenPage, step: str, offset: int
) -> None:
    """Scrolling and following both come to the edge before the first answer; a view at its edge may ask for more."""
    run = a_world.runs["noisy"]
    page = open_page(a_world, f"/runs/{run}")
    pieces = page.evaluate(PIECES, [run, step, offset])
    assert len(pieces) >= 2
    assert [end for _, end in pieces[:-1]] == [begin for begin, _ in pieces[1:]]
