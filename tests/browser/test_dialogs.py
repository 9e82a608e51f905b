"""What opens over a page: menus, dialogs, panels. No fault that axe can find, no sideways scroll, targets of 40 pixels.

Each is opened as somebody would open it, wide and narrow, dark and light.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.conftest import NARROW, WIDE, OpenPage, until
from tests.browser.looks import faults_of, small_targets, sticks_out
from tests.browser.test_places import settled
from tests.browser.world import World

Opened = tuple[str, Callable[[Any], object]]


def of_the_board() -> Iterator[Opened]:
    """Yield what opens over the board, and how; each leaves the page as it found it."""
    yield "the help", lambda page: page.keyboard.press("?")
    yield "the palette", lambda page: (page.keyboard.press("Control+k"), page.wait_for_selector("#palette [data-href]"))
    yield (
        "the palette, nothing found",
        lambda page: (
            page.keyboard.press("Control+k"),
            page.keyboard.type("no such thing at all"),
            page.wait_for_selector("#palette-list:not(:has([data-href]))"),
        ),
    )
    yield (
        "saved views",
        lambda page: (page.click(".views summary"), page.fill("#view-name", "mine"), page.click("[data-save]")),
    )
    yield "a row's menu", lambda page: page.click("#rows tr:first-child .menu summary")
    yield "a preview", lambda page: (menu(page, "rerun"), page.wait_for_selector("#ask .preview"))
    yield "a selection", lambda page: [page.locator("[data-pick]").nth(at).check() for at in (0, 1)]
    yield "a preview of many", lambda page: (page.click('[data-bulk="skip"]'), page.wait_for_selector("#ask .preview"))
    yield (
        "results of many",
        lambda page: (
            page.click('[data-bulk="release"]'),
            page.wait_for_selector("#ask .preview"),
            page.click('#ask button[value="yes"]'),
            page.wait_for_selector("#ask .results"),
        ),
    )


def menu(page: Any, action: str) -> object:
    page.click("#rows tr:first-child .menu summary")
    return page.click(f'#rows tr:first-child [data-action="{action}"]')


def is_sound(page: Any, what: str, *, touch: bool) -> None:
    """Assert that what is open can be read, and on a phone hit, by everybody."""
    assert (what, faults_of(page)) == (what, [])
    assert (what, sticks_out(page)) == (what, 0)
    if touch:
        assert (what, small_targets(page)) == (what, [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_what_opens_over_the_board(a_world: World, open_page: OpenPage, size: tuple[int, int], scheme: str) -> None:
    """Help, palette, views, a row's menu, previews, a selection, and the results of an action that applied to none."""
    touch = size == NARROW
    page = open_page(a_world, "/?state=failed&state=blocked", size=size, scheme=scheme, touch=touch)
    for what, open_it in of_the_board():
        open_it(page)
        is_sound(page, what, touch=touch)
        if "selection" not in what:
            page.keyboard.press("Escape")
            until(page, "!document.querySelector('dialog[open], details[open]')")
    assert page.inner_text("#picked") != "0", "a dialog that is closed leaves the selection as it was"
    if touch:
        page.tap(".menu-button")
        is_sound(page, "the menu", touch=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_what_opens_on_other_pages(a_world: World, open_page: OpenPage, size: tuple[int, int], scheme: str) -> None:
    """What a search found, forms with their previews, lists that are folded, a comparison, a job of the graph."""
    touch = size == NARROW
    page = open_page(a_world, f"/runs/{a_world.runs['noisy']}", size=size, scheme=scheme, touch=touch)
    page.fill("#log-search", "7777")
    page.press("#log-search", "Enter")
    page.wait_for_selector("#log-found >> text=match")
    is_sound(page, "what was found in a log", touch=touch)

    page.goto("/jobs/extract-orders")
    for summary in page.locator("main summary").all():
        summary.click()
    page.fill("#from", a_world.today)
    page.fill("#to", a_world.today)
    page.wait_for_selector(".preview:has-text('No date of this range needs a run')")
    is_sound(page, "a job's forms", touch=touch)

    page.goto("/graph")
    settled(page)
    page.click("summary:has-text('The same as a list')")
    page.focus("#graph")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#graph-aside h2")
    is_sound(page, "a job of the graph", touch=touch)

    page.goto("/timeline")
    page.click("summary:has-text('What ran, as a table')")
    is_sound(page, "the timeline as a table", touch=touch)

    settled(page.goto("/admin") and page)
    page.click("summary:has-text('Pause everything')")
    page.click("#compare")
    page.wait_for_selector("#comparison p, #comparison dl")
    is_sound(page, "admin's forms", touch=touch)


def test_every_state_has_its_own_shape_and_word(a_world: World, open_page: OpenPage) -> None:
    """Who sees no colours tells states apart as well: on the chips, in the rows, in the graph."""
    page = open_page(a_world, "/")
    drawn_and_said = (
        "all => all.map((each) => [each.querySelector('use').getAttribute('href'), each.textContent.trim()])"
    )
    chips = [
        (shape, word.rstrip("0123456789").strip())
        for shape, word in page.locator("#chips .chip").evaluate_all(drawn_and_said)
    ]
    assert len(chips) == 11
    assert len({shape for shape, _ in chips}) == len({word for _, word in chips}) == 11
    marks = page.locator("symbol[id^=m-]").evaluate_all("all => all.map((mark) => [`#${mark.id}`, mark.innerHTML])")
    assert {shape for shape, _ in chips} <= {name for name, _ in marks}
    assert len({drawn for name, drawn in marks if name in dict(chips)}) == 11, "no two are drawn alike"
    rows = page.locator("#rows .badge").evaluate_all(drawn_and_said)
    assert {tuple(badge) for badge in rows} <= {tuple(chip) for chip in chips}
