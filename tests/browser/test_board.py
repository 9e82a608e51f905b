"""The board in a real browser: it follows what happens, answers to the keyboard, acts on many, and fits a phone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.conftest import NARROW, WIDE, OpenPage, until
from tests.browser.looks import faults_of, small_targets, sticks_out
from tests.browser.world import World


def row(page: Any, run: str) -> Any:
    """Return a run's row."""
    return page.locator(f'[data-run="{run}"]')


def test_a_change_is_on_the_screen_without_anybody_asking(own_world: World, open_page: OpenPage) -> None:
    """A run ends, and its row says so where it stood; the counts follow."""
    page = open_page(own_world, "/")
    run = own_world.runs["long-report"]
    assert row(page, run).get_attribute("data-state") == "running"
    page.keyboard.press("j")  # somebody is at work here: rows stay where they are
    place = page.locator("#rows tr").evaluate_all("(rows, id) => rows.findIndex((row) => row.dataset.run === id)", run)
    (own_world.service.home / "go").touch()
    page.wait_for_selector(f'[data-run="{run}"][data-state="succeeded"]')
    rows = page.locator("#rows tr")
    assert rows.evaluate_all("(rows, id) => rows.findIndex((row) => row.dataset.run === id)", run) == place
    until(page, "document.querySelector('[data-count=running]').textContent === '0'")
    page.wait_for_selector("#reorder:not([hidden])")
    page.click("#reorder")
    until(page, "document.querySelector('#rows tr:last-child').dataset.state === 'succeeded'")


def test_what_happens_while_a_page_is_on_its_way_is_not_missed(own_world: World, open_page: OpenPage) -> None:
    """A run changes after its row was read and before the stream is open: the page hears of it all the same."""
    page, run = open_page(own_world, "/jobs"), own_world.runs["noisy"]

    def act_first(route: Any) -> None:
        own_world.act("noisy", "mark-failed")
        route.continue_()

    page.route("**/events?*", act_first, times=1)
    page.goto("/")
    page.wait_for_selector(f'[data-run="{run}"][data-state="failed"]')
    own_world.act("noisy", "mark-success")
    page.wait_for_selector(f'[data-run="{run}"][data-state="succeeded"]')


def test_a_lost_scheduler_is_told_with_its_age_and_forgotten_when_it_is_back(
    own_world: World, open_page: OpenPage
) -> None:
    """After ten silent seconds a banner says how old the page is; it goes when news come again."""
    open_page.expect("net::ERR")  # type: ignore[attr-defined]
    page = open_page(own_world, "/")
    own_world.relay.is_cut = True
    page.wait_for_selector("#stale:not([hidden])", timeout=60_000)
    age = re.search(r"Nothing heard from the scheduler for (\d+)s", page.inner_text("#stale"))
    assert age is not None
    assert int(age[1]) >= 10
    assert page.inner_text("#health").strip() == "not heard"
    own_world.relay.is_cut = False
    page.wait_for_selector("#stale[hidden]", state="attached", timeout=60_000)
    assert page.inner_text("#health").strip() == "well"


def test_everything_goes_by_keyboard(own_world: World, open_page: OpenPage) -> None:
    """Filter, move, select, act with a reason, open, and go elsewhere: no hand leaves the keys."""
    page = open_page(own_world, "/")
    page.keyboard.press("/")
    page.keyboard.type("held-exp")
    until(page, "location.search.includes('q=held-exp') && document.querySelectorAll('#rows tr').length === 1")
    assert "q=held-exp" in page.url
    page.keyboard.press("Escape")
    assert page.input_value("#q") == "held-exp", "leaving the field is not emptying it"
    page.keyboard.press("j")
    page.keyboard.press("h")
    page.wait_for_selector("#ask[open] .preview")
    page.keyboard.type("it is ready now")
    page.keyboard.press("Enter")
    own_world.service.until_state(own_world.runs["held-export"], "succeeded")
    lines = own_world.service.get(f"/api/events?run={own_world.runs['held-export']}&action=release")["events"]
    assert "it is ready now" in str(lines)
    page.wait_for_selector('#rows tr[data-state="succeeded"]')
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/held-export.*")
    page.keyboard.type("gb")
    page.wait_for_url(f"{own_world.url}/")


def test_a_name_is_read_before_a_criticality(a_world: World, open_page: OpenPage) -> None:
    """No name is cut at 1440; where room is short the word goes as a whole, and the mark stands for it."""
    page = open_page(a_world, "/")
    cut = "[...document.querySelectorAll('#rows .job')].filter(name => name.scrollWidth > name.clientWidth).length"
    assert page.evaluate(cut) == 0
    line = page.locator("#rows tr", has_text="load-ledger").locator(".job-line").first
    shown = "line => { const mark = line.querySelector('.crit'); return [mark.clientWidth, mark.scrollWidth]; }"
    full, _ = line.evaluate(shown)
    name = line.locator(".job").evaluate("name => name.clientWidth")
    line.evaluate("(line, width) => { line.style.width = `${width}px`; }", name + 70)
    alone, _ = line.evaluate(shown)
    assert 0 < alone < full
    assert line.locator(".job").evaluate("name => name.scrollWidth <= name.clientWidth")
    word = """line => {
        const mark = line.querySelector('.crit');
        const text = document.createRange();
        text.selectNodeContents(mark);
        return text.getBoundingClientRect().top >= mark.getBoundingClientRect().bottom;
    }"""
    assert line.evaluate(word), "the word is below what is shown, no part of it is left"


def test_a_board_of_today_goes_on_to_tomorrow(a_world: World, open_page: OpenPage) -> None:
    """A board on a wall: past midnight it shows the new day by itself; a board with a date stays."""
    for path, goes_on in (("/", True), (f"/?date={a_world.today}", False)):
        page = open_page(a_world, "about:blank")
        page.clock.install()
        page.goto(path)
        page.evaluate("document.body.dataset.old = 'yes'")
        page.clock.fast_forward("24:00:10")
        page.clock.run_for(20_000)
        if goes_on:
            page.wait_for_selector("body:not([data-old])")
        else:
            page.wait_for_timeout(500)
            assert page.evaluate("document.body.dataset.old") == "yes"


def test_many_runs_are_acted_on_with_one_result_each(own_world: World, open_page: OpenPage) -> None:
    """Select, see what will happen, give a reason; those that could not are named with why."""
    page = open_page(own_world, "/")
    for job in ("load-ledger", "hostile", "flaky-feed"):
        row(page, own_world.runs[job]).locator("[data-pick]").check()
    assert page.inner_text("#picked") == "3"
    page.click('[data-bulk="rerun"]')
    page.wait_for_selector("#ask .preview")
    assert own_world.runs["flaky-feed"] in page.inner_text("#ask .preview")
    page.fill("#ask-reason", "disk was full")
    page.click('#ask button[value="yes"]')
    page.wait_for_selector("#ask .results")
    assert "2 done, 1 not" in page.inner_text("#ask h2")
    for job in ("load-ledger", "hostile"):
        assert own_world.service.run(own_world.runs[job])["reruns"] == 1
    assert page.inner_text("#picked") == "1", "what was refused is still selected, what was done is not"


def test_many_runs_are_rerun_with_what_depends_on_them(own_world: World, open_page: OpenPage) -> None:
    """The box is there for many as it is for one, and the preview answers to it."""
    for job in ("load-ledger", "hostile"):  # the test before has rerun them
        own_world.service.until_state(own_world.runs[job], "failed")
    page = open_page(own_world, "/")
    for job in ("load-ledger", "hostile"):
        row(page, own_world.runs[job]).locator("[data-pick]").check()
    page.click('[data-bulk="rerun"]')
    page.wait_for_selector("#ask .preview")
    with page.expect_response("**/api/runs/bulk/preview") as answered:
        page.check("#ask-downstream")
    assert answered.value.request.post_data_json["downstream"] is True
    with page.expect_response("**/api/runs/bulk") as done:
        page.click('#ask button[value="yes"]')
    assert done.value.request.post_data_json["downstream"] is True
    until(page, "document.getElementById('action-bar').hidden")


def test_a_menu_says_what_the_job_would_refuse(a_world: World, open_page: OpenPage) -> None:
    """Rows are printed alike for all; whose teams a job does not allow finds the buttons disabled, with the reason."""
    page = open_page(a_world, "/")
    run_id = a_world.runs["load-ledger"]
    allows = "([id, teams]) => { document.body.dataset.teams = teams;"
    allows += " document.querySelector(`[data-run='${id}']`).dataset.allow = 'finance'; }"
    page.evaluate(allows, [run_id, "audit"])
    row(page, run_id).locator("summary").click()
    button = row(page, run_id).locator('[data-action="rerun"]')
    assert button.is_disabled()
    note = page.locator(f"[id='{button.get_attribute('aria-describedby')}']")
    assert note.inner_text() == button.get_attribute("title") == "You may not act on this job: it allows finance"
    row(page, run_id).locator("summary").click()
    other = a_world.runs["hostile"]
    page.evaluate(allows, [other, "audit finance"])
    row(page, other).locator("summary").click()
    assert row(page, other).locator('[data-action="rerun"]').is_enabled()


def test_shift_selects_a_range_and_all_that_match(a_world: World, open_page: OpenPage) -> None:
    """As in a file manager; "all that match" goes beyond the page."""
    page = open_page(a_world, "/")
    picks = page.locator("[data-pick]")
    picks.nth(1).click()
    picks.nth(4).click(modifiers=["Shift"])
    assert page.inner_text("#picked") == "4"
    page.click("#pick-all")
    until(page, "Number(document.getElementById('picked').textContent) > 4")
    assert page.inner_text("#picked") == page.get_attribute("#board", "data-matching")
    page.keyboard.press("Escape")
    assert page.locator("#action-bar").is_hidden()


def test_chips_filter_and_live_in_the_address(a_world: World, open_page: OpenPage) -> None:
    """What is on the screen can be sent to somebody: the address holds it, and the back key undoes it."""
    page = open_page(a_world, "/")
    before = page.locator("#rows tr").count()
    page.click("label:has(#chip-failed)")
    until(page, "[...document.querySelectorAll('#rows tr')].every((row) => row.dataset.state === 'failed')")
    assert "state=failed" in page.url
    page.reload()
    assert page.locator("#rows tr").count() == 2
    page.go_back()
    until(page, "(count) => document.querySelectorAll('#rows tr').length === count", before)


def test_a_view_can_be_kept_by_name(a_world: World, open_page: OpenPage) -> None:
    """Kept in this browser, without its date; forgotten with one click."""
    page = open_page(a_world, "/?state=blocked&date=2026-01-05")
    page.click(".views summary")
    page.fill("#view-name", "stuck <b>things</b>")
    page.click("[data-save]")
    link = page.locator("#views a")
    assert link.inner_text() == "stuck <b>things</b>"
    assert link.get_attribute("href") == "/?state=blocked"
    page.click("[data-drop]")
    assert link.count() == 0


def test_the_palette_goes_anywhere(a_world: World, open_page: OpenPage) -> None:
    page = open_page(a_world, "/")
    page.keyboard.press("Control+k")
    page.keyboard.type("hostile.")
    page.wait_for_selector('#palette [aria-selected="true"][data-href^="/runs/hostile"]')
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/hostile.*")


def test_the_help_tells_the_keys(a_world: World, open_page: OpenPage) -> None:
    page = open_page(a_world, "/")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#help").is_hidden()


def test_dark_and_light_are_chosen_once(a_world: World, open_page: OpenPage) -> None:
    """The choice outlives the page; without one the system's counts."""
    page = open_page(a_world, "/", scheme="light")
    page.click(".top-right [data-theme-toggle]")
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == "dark"


@pytest.mark.parametrize("path", ["/", "/runs/{hostile}", "/runs/{long-report}", "/nowhere"])
def test_a_phone_needs_no_sideways_scroll_and_hits_what_it_aims_at(
    a_world: World, open_page: OpenPage, path: str
) -> None:
    """390 pixels: nothing sticks out, and what is tapped is at least 40 pixels high or wide."""
    open_page.expect("404")  # type: ignore[attr-defined]
    page = open_page(a_world, _path(a_world, path), size=NARROW, touch=True)
    assert sticks_out(page) == 0
    assert small_targets(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "path", ["/", "/runs/{hostile}", "/runs/{load-ledger}", "/?q=nothing-is-called-that", "/nowhere"]
)
def test_axe_finds_no_fault(a_world: World, open_page: OpenPage, path: str, scheme: str) -> None:
    """WCAG 2.2 AA as far as axe can tell, wide and narrow, dark and light."""
    open_page.expect("404")  # type: ignore[attr-defined]
    for size in (WIDE, NARROW):
        page = open_page(a_world, _path(a_world, path), size=size, scheme=scheme)
        assert faults_of(page) == []


def _path(place: World, path: str) -> str:
    """Return a path with the run that is named in it by its job."""
    job = path.partition("{")[2].rstrip("}")
    return path.replace(f"{{{job}}}", place.runs[job]) if job else path
