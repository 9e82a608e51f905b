"""Fixtures for tests in a real browser: Debian's Chromium, driven by Playwright, on a real service.

Where Chromium or Playwright is missing the tests are skipped naming it; in CI (`CI` or `PYSCHED_CI` set) they fail.
Every page fails its test if it logs an error, breaks the content security policy, or throws.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.browser.world import ZONE, World, world
from tests.hours import MIDNIGHT, clear_of, today

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let a test take as long as some of its facts may: each of them has a minute, and so has a world to be filled."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(300))


def until(page: Any, expression: str, arg: object = None) -> None:
    """Wait until an expression, or a function of `arg`, is true in the page.

    Playwright's own way would evaluate a text inside the page, which our policy forbids as it should.
    """
    end = time.monotonic() + PATIENCE_MS / 1000
    while not _is_so(page, expression, arg):
        assert time.monotonic() < end, f"still not so: {expression}"
        page.wait_for_timeout(50)


def _is_so(page: Any, expression: str, arg: object) -> bool:
    """Return whether an expression is true in the page; at the moment when another page comes nothing is."""
    from playwright.sync_api import Error

    try:
        return bool(page.evaluate(expression, arg))
    except Error as error:
        if "Execution context was destroyed" not in error.message:
            raise
        return False


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
def world_of_today(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], World]]:
    """Give what leads to a service with a run in every state of today: past midnight it is another one."""
    with ExitStack() as stack:
        found: list[World] = []

        def lead() -> World:
            clear_of(MIDNIGHT, zone=ZONE)
            if not found or found[-1].today != str(today(ZONE)):
                found.append(stack.enter_context(world(tmp_path_factory.mktemp("world"))))
            return found[-1]

        yield lead


@pytest.fixture
def a_world(world_of_today: Callable[[], World]) -> World:
    """Give a service with a run in every state, shared by tests that only look."""
    return world_of_today()


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
