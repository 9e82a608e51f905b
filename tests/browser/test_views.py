"""Looking from every side: days, stretches of time, filters, pages, and what leads from one to the next."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest

from tests.browser.conftest import NARROW, OpenPage, until
from tests.browser.test_places import settled
from tests.browser.world import World


def rows(page: Any) -> list[str]:
    """Return the jobs of the board's rows."""
    found: list[str] = page.locator("#rows tr").evaluate_all("all => all.map((row) => row.dataset.run.split('.')[0])")
    return found


def test_the_board_steps_from_day_to_day(a_world: World, open_page: OpenPage) -> None:
    """Back, back, forward, to a date that is typed, and to today again; what is filtered stays."""
    today = date.fromisoformat(a_world.today)
    page = open_page(a_world, "/?q=quick")
    for steps, label in ((1, "The day before"), (2, "The day before"), (1, "The day after")):
        page.click(f'[aria-label^="{label}"]')
        page.wait_for_url(f"**/?*date={today - timedelta(days=steps)}*")
        assert rows(page) == ["quick"]
        assert "q=quick" in page.url
    page.fill("#date", "2031-05-20")
    page.wait_for_selector("#board:has-text('Nothing matches')")
    page.click("text=Show the whole day")
    page.wait_for_selector("#board:has-text('No runs for')")
    page.click("#stepper >> text=Today")
    page.wait_for_selector('#board [data-run^="load-ledger"]')


def test_the_board_filters_by_tag_and_criticality(a_world: World, open_page: OpenPage) -> None:
    """At once when chosen, together, and undone by one link."""
    page = open_page(a_world, "/")
    page.select_option("#tag", "finance")
    until(page, "document.querySelectorAll('#rows tr').length === 3")
    page.select_option("#criticality", "critical")
    until(page, "document.querySelectorAll('#rows tr').length === 1")
    assert rows(page) == ["load-ledger"]
    page.click("text=show all")
    until(page, "document.querySelectorAll('#rows tr').length > 3")


def test_the_row_somebody_is_at_outlives_a_filter(a_world: World, open_page: OpenPage) -> None:
    """It is the same run's row afterwards: the next key means it."""
    page = open_page(a_world, "/")
    page.keyboard.press("j")
    page.select_option("#tag", "finance")
    until(page, "document.querySelectorAll('#rows tr').length === 3")
    page.wait_for_timeout(300)  # htmx comes back to what it has put in, a moment later
    assert page.get_attribute("#rows tr.current", "data-run") == a_world.runs["load-ledger"]


def test_a_page_is_selected_and_let_go(a_world: World, open_page: OpenPage) -> None:
    page = open_page(a_world, "/")
    page.check("#pick-page")
    assert page.inner_text("#picked") == str(len(rows(page)))
    page.click("#pick-none")
    assert page.locator("#action-bar").is_hidden()
    assert not page.is_checked("#pick-page")


@pytest.mark.parametrize(
    ("day", "hours", "words"),
    [("2026-03-29", 23, "forward 1 h"), ("2026-10-25", 25, "back 1 h"), ("2026-10-26", 24, "")],
)
def test_a_day_has_as_many_hours_as_it_has(
    a_world: World, open_page: OpenPage, day: str, hours: int, words: str
) -> None:
    """Berlin: 23 hours in March, 25 in October; the axis has each, a line says where, and the ghost stands right."""
    page = open_page(a_world, f"/timeline?date={day}&q=nightly&empty=1")
    box = page.locator("#timeline")
    span = box.evaluate("box => (Date.parse(box.dataset.end) - Date.parse(box.dataset.start)) / 3600000")
    assert span == hours
    said = " ".join(page.locator("main .banner.warn").all_inner_texts())
    assert (f"Clocks go {words}" in said and f"this day has {hours} hours" in said) if words else said == ""
    assert page.locator(".axis .change").count() == bool(words)
    ticks = page.locator(".axis .tick").count()
    assert ticks >= hours


def follow(page: Any, link: str) -> None:
    """Click a link, and wait until the page that it leads to is there in the place of this one."""
    with page.expect_navigation():
        page.click(link)


def test_the_timeline_zooms_and_steps(a_world: World, open_page: OpenPage) -> None:
    """Hour, day, week, earlier, later, now: what is looked for stays, and each holds what ran."""
    page = open_page(a_world, "/timeline?q=load-ledger&empty=1")  # its lane is there in hours without a run, too
    bar = f'#timeline a[href="/runs/{a_world.runs["load-ledger"]}"]'
    run = a_world.service.get(f"/api/runs/{a_world.runs['load-ledger']}")
    began, ended = (run["attempts"][end]["started_at" if end == 0 else "ended_at"] for end in (0, -1))

    def is_right() -> bool:
        """Whether the run has its bar if it ran in the hours shown; an hour may have struck since."""
        box = page.locator("#timeline")
        start, end = (datetime.fromisoformat(str(box.get_attribute(f"data-{side}"))) for side in ("start", "end"))
        ran_then = datetime.fromisoformat(began) < end and datetime.fromisoformat(ended) > start
        return bool(page.locator(bar).count() == int(ran_then))

    for zoom in ("Week", "Day", "Hour"):
        page.click(f".segments >> text={zoom}")
        page.wait_for_url(f"**/timeline?*zoom={zoom.lower()}*")
        assert page.locator('.segments [aria-current="true"]').inner_text() == zoom
        assert is_right()
        assert page.locator("#timeline .now").count() >= 1
        follow(page, '[aria-label="Earlier"]')
        assert (page.locator("#timeline").count(), page.locator("#timeline .now").count()) == (1, 0)
        follow(page, '[aria-label="Later"]')
        assert is_right()
        follow(page, '[aria-label="Earlier"]')
        follow(page, "text=Now")
        assert is_right()
        assert page.input_value("#q") == "load-ledger"
    page.goto("/timeline")
    page.click("summary:has-text('What ran, as a table')")
    assert page.locator(f'table a[href="/runs/{a_world.runs["load-ledger"]}"]').is_visible()


def test_the_graph_is_focused_by_name_and_by_tag(a_world: World, open_page: OpenPage) -> None:
    """The form, the aside's names, the buttons that zoom, and the way back to all."""
    page = settled(open_page(a_world, "/graph"))
    page.fill("#focus", "close-books")
    page.press("#focus", "Enter")
    page.wait_for_url("**/graph?*focus=close-books*")
    settled(page)
    assert page.locator("#graph .node").count() == 3
    page.click("#graph-aside .names >> text=load-ledger")
    page.wait_for_selector("#graph-aside h2:has-text('load-ledger')")
    width = "document.querySelector('[data-name=load-ledger]').getBoundingClientRect().width"
    before = page.evaluate(width)
    page.click("#graph-in")
    until(page, f"before => {width} > before", before)
    page.click("#graph-out")
    page.click("#graph-fit")
    page.click("#graph-aside [aria-label=Close]")
    assert page.locator("#graph-aside").is_hidden()
    page.click("text=show all")
    settled(page)
    page.select_option("#tag", "mail")
    page.click("main form >> text=Show")
    page.wait_for_url("**/graph?*tag=mail*")
    settled(page)
    assert page.locator("#graph .node").evaluate_all("all => all.map((node) => node.dataset.name)") == [
        "send-statements"
    ]
    page.click("summary:has-text('The same as a list')")
    page.click("#list >> text=send-statements")
    page.wait_for_url("**/jobs/send-statements")


def test_the_logbook_is_searched_filtered_and_turned(a_world: World, open_page: OpenPage) -> None:
    """A reason is found by its words; who and what narrow it; older lines are behind a link; CSV has the same."""
    page = open_page(a_world, "/logbook")
    page.keyboard.press("/")
    page.keyboard.type("other side")
    page.keyboard.press("Enter")
    page.wait_for_url("**/logbook?*q=other+side*")
    assert page.locator("#lines tr").count() == 1
    assert "held-export" in page.inner_text("#lines")
    page.click("text=Clear")
    page.fill("#f-job", "quick")
    page.fill("#f-action", "trigger")
    page.click("main form >> text=Show")
    page.wait_for_url("**/logbook?*action=trigger*")
    assert page.locator("#lines tr").count() == 4
    page.click("#lines a >> nth=0")
    page.wait_for_url("**/runs/quick.*")


@pytest.mark.parametrize("path", ["/forecast?days=7", "/logbook"])
def test_a_list_is_taken_home_as_csv(a_world: World, open_page: OpenPage, path: str) -> None:
    page = open_page(a_world, path)
    with page.expect_download() as waiting:
        page.click("main >> text=CSV")
    assert "," in waiting.value.path().read_text().splitlines()[0]


def test_the_forecast_is_asked_for_any_window(a_world: World, open_page: OpenPage) -> None:
    """From a day on, for a week, of one job: a row each, over the day that has no half past two."""
    page = open_page(a_world, "/forecast")
    page.fill("#start", "2027-03-25")
    page.select_option("#days", "7")
    page.fill("#q", "nightly")
    page.click("main form >> text=Show")
    page.wait_for_url("**/forecast?*days=7*")
    starts = page.locator("tr[data-row] td:first-child").all_inner_texts()
    assert [start.strip() for start in starts] == ["02:30:00+01"] * 3 + ["03:00:00+02"] + ["02:30:00+02"] * 3
    page.fill("#q", "nothing-is-called-that")
    page.click("main form >> text=Show")
    page.wait_for_selector("text=Nothing is expected")


def test_jobs_are_found_by_what_they_say_of_themselves(a_world: World, open_page: OpenPage) -> None:
    """Owner and description count; j and Enter open the first."""
    page = open_page(a_world, "/jobs")
    page.keyboard.press("/")
    page.keyboard.type("postings into")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs?*q=postings+into*")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/load-ledger")


def test_every_place_is_two_keys_away(a_world: World, open_page: OpenPage) -> None:
    """g and a letter, from anywhere to everywhere."""
    page = open_page(a_world, "/logbook")
    places = page.locator("[data-go]").evaluate_all("all => all.map((link) => [link.dataset.go, link.pathname])")
    assert len(places) == 8
    for key, path in places:
        page.keyboard.type(f"g{key}")
        page.wait_for_url(lambda url, path=path: url.removeprefix(a_world.url).split("?")[0] == path)


def test_the_menu_of_a_phone_leads_everywhere(a_world: World, open_page: OpenPage) -> None:
    """Behind one button, each of its entries large enough for a thumb; dark and light are there as well."""
    page = open_page(a_world, "/", size=NARROW, touch=True)
    assert not page.is_visible("#nav a >> nth=0")
    page.tap(".menu-button")
    assert page.get_attribute(".menu-button", "aria-expanded") == "true"
    heights = page.locator("#nav a, #nav button").evaluate_all(
        "all => all.map((each) => each.getBoundingClientRect().height)"
    )
    assert min(heights) >= 40
    page.tap("#nav [data-theme-toggle]")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.tap("#nav >> text=Logbook")
    page.wait_for_url("**/logbook")
