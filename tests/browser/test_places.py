"""Jobs, graph, timeline, forecast, logbook, alerts and admin in a real browser."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import NARROW, WIDE, OpenPage, until
from tests.browser.looks import faults_of, small_targets, sticks_out
from tests.browser.world import World

PLACES = (
    "/jobs",
    "/jobs/load-ledger",
    "/jobs/nightly",
    "/jobs?q=nothing-is-called-that",
    "/graph",
    "/graph?focus=close-books",
    "/timeline",
    "/timeline?zoom=week&empty=1",
    "/forecast?days=7",
    "/logbook",
    "/alerts",
    "/admin",
    "/admin/configs/1",
)
BOX = "document.querySelector('[data-name=close-books]').getBoundingClientRect()"


def settled(page: Any) -> Any:
    """Return the page once what it fetches is there; a graph is drawn a frame after it has come."""
    until(page, "!document.querySelector('.loading, #graph-wait, #graph > g:not([transform])')")
    return page


def chosen(page: Any) -> str:
    return str(page.inner_text("#graph-aside h2 a"))


def test_a_job_is_triggered_with_its_preview_and_a_reason(own_world: World, open_page: OpenPage) -> None:
    """What will follow is shown before; then the new run is open, and the logbook knows why."""
    page = open_page(own_world, "/jobs/extract-orders")
    page.wait_for_selector(".preview:has-text('transform-orders')")
    page.fill("#run_date", "2031-05-20")
    page.wait_for_selector(".preview:has-text('gets a run')")
    page.fill("#trigger-reason", "the day was forgotten")
    page.click("text=Trigger now")
    page.wait_for_url("**/runs/extract-orders.2031-05-20.1")
    lines = own_world.service.get("/api/events?run=extract-orders.2031-05-20.1&action=trigger")["events"]
    assert lines[0]["detail"]["reason"] == "the day was forgotten"


def test_a_refusal_stays_beside_the_form(own_world: World, open_page: OpenPage) -> None:
    """What was wrong and how to mend it; nothing was done."""
    open_page.expect("400")  # type: ignore[attr-defined]
    page = open_page(own_world, "/jobs/quick")
    page.click("text=Backfill a range of dates")
    page.fill("#from", own_world.today)
    page.fill("#to", "2020-01-01")
    page.wait_for_selector(".preview:has-text('before it starts')")
    page.click("button:has-text('Backfill')")
    page.wait_for_selector("[role=alert]:has-text('swap the two dates')")


def test_a_job_is_paused_and_resumed(own_world: World, open_page: OpenPage) -> None:
    """By whom and why is on the page as long as it lasts."""
    page = open_page(own_world, "/jobs/quick")
    page.click("summary:has-text('Pause')")
    page.fill("#pause-reason", "the disk is changed")
    page.click("text=Pause this job")
    page.wait_for_selector(".banner.hand:has-text('the disk is changed')")
    page.click("button:has-text('Resume')")
    page.wait_for_selector(".banner.hand", state="hidden")
    assert own_world.service.get("/api/jobs/quick")["paused"] is None


def test_the_graph_goes_by_keyboard(a_world: World, open_page: OpenPage) -> None:
    """From job to job by arrows, one opened by Enter, only its surroundings by f."""
    page = settled(open_page(a_world, "/graph"))
    page.focus("#graph")
    page.keyboard.press("ArrowRight")
    for _ in range(40):
        if chosen(page) == "load-ledger":
            break
        page.keyboard.press("ArrowDown")
    assert chosen(page) == "load-ledger"
    assert "load-ledger: failed" in page.inner_text("#graph-said")
    page.keyboard.press("ArrowRight")
    assert chosen(page) == "close-books"
    page.wait_for_selector("#graph-aside:has-text('load-ledger')")
    page.keyboard.press("f")
    page.wait_for_url("**/graph?focus=close-books")
    settled(page)
    assert page.locator("#graph .node").count() == 3
    page.focus("#graph")
    page.keyboard.press("Enter")
    page.wait_for_url("**/jobs/close-books")


def test_the_graph_goes_by_pointer(a_world: World, open_page: OpenPage) -> None:
    """A click tells why, the wheel comes nearer to what is under it, dragging moves all."""
    page = settled(open_page(a_world, "/graph"))
    node = page.locator('#graph .node[data-name="close-books"]')
    node.click()
    page.wait_for_selector("#graph-aside:has-text('load-ledger')")
    before = node.bounding_box()
    page.mouse.move(before["x"] + 5, before["y"] + 5)
    page.mouse.wheel(0, -300)
    until(page, f"width => {BOX}.width > width + 20", before["width"])
    near = node.bounding_box()
    assert abs(near["x"] + 5 * near["width"] / before["width"] - before["x"] - 5) < 3
    page.mouse.down()
    page.mouse.move(near["x"] + 105, near["y"] + 45, steps=4)
    page.mouse.up()
    until(page, f"x => {BOX}.x > x + 60", near["x"])


def test_the_graph_follows(own_world: World, open_page: OpenPage) -> None:
    """A run ends, and its box says so."""
    page = settled(open_page(own_world, "/graph?focus=long-report"))
    page.wait_for_selector('.node[data-name="long-report"]:has-text("running")')
    (own_world.service.home / "go").touch()
    page.wait_for_selector('.node[data-name="long-report"]:has-text("succeeded")')


def test_the_timeline_goes_by_keyboard(a_world: World, open_page: OpenPage) -> None:
    """j to a lane, arrows along its bars, Enter opens the run."""
    page = open_page(a_world, "/timeline?q=load-ledger")
    page.keyboard.press("j")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{a_world.runs['load-ledger']}")


def test_the_logbook_follows(own_world: World, open_page: OpenPage) -> None:
    """What happens now comes in on top."""
    page = open_page(own_world, "/logbook")
    own_world.act("held-export", "release", reason="the other side answers")
    page.wait_for_selector("#lines tr:has-text('the other side answers')")


def test_admin_compares_and_reloads(own_world: World, open_page: OpenPage) -> None:
    """What the files would change is said before; a mistake in them is named with its line, and nothing changes."""
    open_page.expect("400")  # type: ignore[attr-defined]
    good = own_world.service.file.read_text()
    own_world.service.write(good + '  brand-new: {command: "true", schedule: "0 4 * * *"}\n')
    page = settled(open_page(own_world, "/admin"))
    page.click("#compare")
    page.wait_for_selector("#comparison:has-text('brand-new')")
    own_world.service.write(good + "\nnonsense: 1\n")
    page.click("text=Reload the files")
    page.wait_for_selector("#reload-problems li:has-text('nonsense')")
    own_world.service.write(good + '  brand-new: {command: "true", schedule: "0 4 * * *"}\n')
    page.fill("#reload-reason", "a new job")
    page.click("text=Reload the files")
    page.wait_for_selector(".toast:has-text('Version 2 is in force')")
    assert "brand-new" in {job["name"] for job in own_world.service.get("/api/jobs")["jobs"]}


@pytest.mark.parametrize("path", PLACES)
def test_a_phone_needs_no_sideways_scroll_and_hits_what_it_aims_at(
    a_world: World, open_page: OpenPage, path: str
) -> None:
    """390 pixels: nothing sticks out, and what is tapped is at least 40 pixels high or wide."""
    open_page.expect("404")  # type: ignore[attr-defined]
    page = settled(open_page(a_world, path, size=NARROW, touch=True))
    assert sticks_out(page) == 0
    assert small_targets(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PLACES)
def test_axe_finds_no_fault(a_world: World, open_page: OpenPage, path: str, scheme: str) -> None:
    """WCAG 2.2 AA as far as axe can tell, wide and narrow, dark and light."""
    open_page.expect("404")  # type: ignore[attr-defined]
    for size in (WIDE, NARROW):
        page = settled(open_page(a_world, path, size=size, scheme=scheme))
        assert faults_of(page) == []
