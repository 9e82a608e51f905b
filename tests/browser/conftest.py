"""Fixtures for tests in a real browser: Debian's Chromium, driven by Playwright, on a real service.

Where Chromium or Playwright is missing the tests are skipped naming it; in CI (`CI` or `PYSCHED_CI` set) they fail.
Every page fails its test if it logs an error, breaks the content security policy, or throws.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.world import World, world

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS = 60_000
WIDE, NARROW = (1440, 900), (390, 844)

OpenPage = Callable[..., Any]


def until(page: Any, expression: str, arg: object = None) -> None:
    """Wait until an expression, or a function of `arg`, is true in the page.

    Playwright's own way would evaluate a text inside the page, which our policy forbids as it should.
    """
    end = time.monotonic() + PATIENCE_MS / 1000
    while not page.evaluate(expression, arg):
        assert time.monotonic() < end, f"still not so: {expression}"
        page.wait_for_timeout(50)


def _lacking() -> str | None:
    if shutil.which("chromium") is None:
        return "chromium (Debian: apt-get install chromium)"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright (pip install playwright)"
    return None


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Give the browser, to one module: while it lives its loop runs in this thread, and no asynchronous test can."""
    lacking = _lacking()
    if lacking is not None:
        if os.environ.get("CI") or os.environ.get("PYSCHED_CI"):
            pytest.fail(f"{lacking} is missing")
        pytest.skip(f"{lacking} is missing")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
        yield found
        found.close()


@pytest.fixture(scope="session")
def a_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Give a service with a run in every state, shared by tests that only look."""
    with world(tmp_path_factory.mktemp("world")) as found:
        yield found


@pytest.fixture(scope="module")
def own_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Give a service of the module's own with a run in every state, to act on: each test on runs that no other uses."""
    with world(tmp_path_factory.mktemp("world")) as found:
        yield found


@pytest.fixture
def open_page(browser: Any) -> Iterator[OpenPage]:
    """Give a way to open pages: `open_page(world, path, size=WIDE, scheme="light")`. Faults of a page fail the test."""
    contexts: list[Any] = []
    faults: list[str] = []
    is_expected: list[str] = []

    def open_(
        place: World, path: str, *, size: tuple[int, int] = WIDE, scheme: str = "light", touch: bool = False
    ) -> Any:
        context = browser.new_context(
            base_url=place.url,
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            reduced_motion="reduce",
            has_touch=touch,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: faults.append(f"{path}: {error}"))
        page.on(
            "console", lambda message: faults.append(f"{path}: {message.text}") if message.type == "error" else None
        )
        page.goto(path, wait_until="load")
        return page

    open_.expect = is_expected.append  # type: ignore[attr-defined]
    yield open_
    for context in contexts:
        context.close()
    unexpected = [fault for fault in faults if not any(words in fault for words in is_expected)]
    assert not unexpected, unexpected
