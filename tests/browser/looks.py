"""What is asked of every page and of everything that opens on one: by axe, by a ruler."""

from __future__ import annotations

from typing import Any

LEAST_PX = 39.5
"""40, less what rounding takes."""
TARGETS = "button, select, summary, input:not([type=checkbox]), label.chip, label.hit, a.button, .segments a, #nav a"


def faults_of(page: Any) -> list[tuple[str, str, str]]:
    """Return what axe finds: the rule, the element's beginning, the words."""
    from axe_playwright_python.sync_playwright import Axe

    return [
        (fault["id"], node["html"][:160], node["any"][0]["message"] if node["any"] else "")
        for fault in Axe().run(page).response["violations"]
        for node in fault["nodes"]
    ]


def sticks_out(page: Any) -> int:
    """Return how many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def small_targets(page: Any) -> list[str]:
    """Return the controls in sight that a thumb would miss."""
    found: list[str] = page.locator(TARGETS).evaluate_all(
        """(all, least) => all.map((each) => [each.outerHTML.slice(0, 90), each.getBoundingClientRect()])
        .filter(([, box]) => box.width && box.height && Math.min(box.width, box.height) < least)
        .map(([text, box]) => `${Math.round(box.width)}x${Math.round(box.height)} ${text}`)""",
        LEAST_PX,
    )
    return found
