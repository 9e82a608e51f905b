"""A board of two hundred rows: the browser leaves out what lies below the window, and who looks for it cannot tell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import NARROW, WIDE, OpenPage, until
from tests.browser.world import World

ROWS = 200
FILL = """count => {
    const rows = document.getElementById('rows'), some = [...rows.children];
    for (let at = 0; rows.children.length < count; at++) {
        const copy = some[at % some.length].cloneNode(true);
        copy.id += `-${at}`;
        copy.dataset.run += `-${at}`;
        rows.append(copy);
    }
}"""
LEFT_OUT = """() => [...document.querySelectorAll('#rows tr')]
    .filter(row => !row.querySelector('.headline').checkVisibility({ contentVisibilityAuto: true })).length"""
IS_IN_SIGHT = """selector => {
    const row = document.querySelector(selector), box = row.getBoundingClientRect();
    return row.querySelector('.headline').checkVisibility({ contentVisibilityAuto: true })
        && box.top >= document.querySelector('.top').offsetHeight && box.bottom <= innerHeight + 1;
}"""
EDGES = """row => [...row.children].map(cell => cell.getBoundingClientRect()).filter(box => box.width)
    .flatMap(box => [box.left, box.right])"""
SPILT = """() => [...document.querySelectorAll('table.board :is(td, th)')]
    .filter(cell => cell.scrollWidth > cell.clientWidth && getComputedStyle(cell).overflowX === 'visible')
    .map(cell => `${cell.innerText}: ${cell.scrollWidth} in ${cell.clientWidth}`)"""

LATE = """() => {
    for (const badge of document.querySelectorAll('#rows .badge')) {
        const late = document.createElement('span');
        late.className = 'flag warn';
        late.textContent = 'late';
        badge.after(late);
    }
}"""
IS_SHOWN = """flag => { const box = flag.getBoundingClientRect(), cell = flag.closest('td').getBoundingClientRect();
    return box.width > 0 && box.right <= cell.right && box.bottom <= cell.bottom; }"""


def long_board(open_page: OpenPage, place: World, size: tuple[int, int]) -> Any:
    """Return a board that is as long as a page of it may be."""
    page = open_page(place, "/", size=size)
    page.evaluate(FILL, ROWS)
    until(page, f"({LEFT_OUT})() > {ROWS // 2}")
    return page


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_row_that_was_left_out_is_there_for_who_goes_to_it(
    a_world: World, open_page: OpenPage, size: tuple[int, int]
) -> None:
    """By key it comes into sight as a whole and has the focus; by the browser's search it is found."""
    page = long_board(open_page, a_world, size)
    page.evaluate("document.querySelector('#rows tr:nth-child(120) .job').textContent = 'needle-in-hay'")
    page.keyboard.press("k")
    until(page, IS_IN_SIGHT, "#rows tr.current")
    assert page.locator("#rows tr.current").evaluate("row => row === row.parentElement.lastElementChild")
    assert page.evaluate("document.activeElement.matches('#rows tr.current .job')")
    for _ in range(40):
        page.keyboard.press("k")
        until(page, IS_IN_SIGHT, "#rows tr.current")
    page.evaluate("scrollTo(0, 0)")
    assert page.evaluate("find('needle-in-hay')")
    until(page, IS_IN_SIGHT, "#rows tr:nth-child(120)")


@pytest.mark.parametrize("size", [WIDE, (1024, 800), (800, 800)])
def test_the_columns_of_all_rows_meet_and_hold_what_is_in_them(
    a_world: World, open_page: OpenPage, size: tuple[int, int]
) -> None:
    """Each row is a grid of its own: head and rows agree on where its columns are, and no cell runs into the next."""
    page = open_page(a_world, "/", size=size)
    head = page.locator("table.board thead tr").evaluate(EDGES)
    edges = page.locator("#rows tr").evaluate_all(f"all => all.map({EDGES})")
    assert all(row == pytest.approx(head, abs=0.1) for row in edges)
    assert head[2::2] == pytest.approx(head[1:-1:2], abs=0.1), "no gap, and no overlap"
    assert page.evaluate(SPILT) == []
    page.evaluate(LATE)
    assert page.locator("#rows .flag.warn").evaluate_all(f"all => all.every({IS_SHOWN})")


@pytest.mark.parametrize("size", [WIDE, (1123, 794), (794, 1123)])
def test_paper_has_every_row(a_world: World, open_page: OpenPage, size: tuple[int, int]) -> None:
    """Nothing is left out in print, and the board is a table there, whose head comes again on each page."""
    page = long_board(open_page, a_world, size)
    page.emulate_media(media="print")
    until(page, f"({LEFT_OUT})() === 0")
    assert page.locator("table.board thead").evaluate("head => getComputedStyle(head).display") == "table-header-group"
    assert page.evaluate(SPILT) == []
