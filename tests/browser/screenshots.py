"""A picture of every page, wide and narrow, light and dark: `make screenshots`.

The pages are those of a real service with a day full of trouble. Look at each as a designer would, and write down what
you find in docs/PLAN.md. A page that scrolls sideways is named, and makes the exit code 1.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.browser.conftest import ARGUMENTS, NARROW, WIDE
from tests.browser.world import World, world

SETTLE_MS = 700
HEIGHT = "Math.max(innerHeight, document.documentElement.scrollHeight)"
LOGIN = """
scheduler: {name: night-house, state_dir: state, log_dir: logs, users_file: users.yaml, listen: "127.0.0.1:0"}
jobs: {nightly: {command: "true", schedule: "30 2 * * *"}}
"""


def pages(place: World) -> Iterator[tuple[str, str, str]]:
    """Yield the name of a picture, its path, and what is done before it is taken (keys, one after the other)."""
    yield "board", "/", ""
    yield "board-filtered", "/?state=failed&state=blocked", ""
    yield "board-empty", "/?date=2031-05-20", ""
    yield "board-selection", "/", "j x j x"
    yield "board-action", "/", "j r"
    yield "palette", "/", "Control+k"
    yield "help", "/", "?"
    for job in ("load-ledger", "hostile", "long-report", "noisy"):
        yield f"run-{job}", f"/runs/{place.runs[job]}", ""
    yield "run-send-statements", f"/runs/{place.latest('send-statements')}", ""
    yield "not-found", "/nowhere", ""
    yield "jobs", "/jobs", ""
    yield "job", "/jobs/load-ledger", ""
    yield "graph", "/graph", ""
    yield "timeline", "/timeline", ""
    yield "forecast", "/forecast", ""
    yield "logbook", "/logbook", ""
    yield "alerts", "/alerts", ""
    yield "admin", "/admin", ""


def shoot(browser: Any, place: World, target: Path, name: str, path: str, keys: str) -> list[str]:
    """Take the four pictures of one page; returns what is wrong with it."""
    wrong = []
    for size, width in ((WIDE, "1440"), (NARROW, "390")):
        for scheme in ("light", "dark"):
            context = browser.new_context(
                base_url=place.url,
                viewport={"width": size[0], "height": size[1]},
                color_scheme=scheme,
                reduced_motion="reduce",
                has_touch=size is NARROW,
            )
            page = context.new_page()
            page.goto(path)
            page.wait_for_timeout(SETTLE_MS)
            for key in keys.split():
                page.keyboard.press(key)
                page.wait_for_timeout(SETTLE_MS if key == keys.split()[-1] else 100)
            over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            wrong += [f"{name} at {width}: {over} pixels stick out"] if over > 0 else []
            if not keys:  # a window of the whole page: rows below a smaller one are left out
                page.set_viewport_size({"width": size[0], "height": page.evaluate(HEIGHT)})
                page.wait_for_timeout(SETTLE_MS)
            page.screenshot(path=target / f"{name}-{width}-{scheme}.png", full_page=not keys)
            context.close()
    return wrong


def main() -> int:
    """Take all pictures; returns 1 where a page scrolls sideways."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots")
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    target.mkdir(parents=True, exist_ok=True)
    from playwright.sync_api import sync_playwright

    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
        with world(Path(home)) as place:
            for name, path, keys in pages(place):
                if only in name:
                    wrong += shoot(browser, place, target, name, path, keys)
        if only in "login":
            wrong += _login(browser, target)
        browser.close()
    print("\n".join(wrong) or f"every page fits; look at them in {target}")
    return int(bool(wrong))


def _login(browser: Any, target: Path) -> list[str]:
    """Take the pictures of the sign-in page: over TCP, where the kernel's word for the caller counts for nothing."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "users.yaml").write_text("[]\n")
        (home / "users.yaml").chmod(0o600)
        with world(home, LOGIN, filled=False) as place:
            heard = place.service.until(lambda: re.search(r"127\.0\.0\.1:\d+", place.service.said()), "an address")
            place.url = f"http://{heard[0]}"
            return shoot(browser, place, target, "login", "/login", "")


if __name__ == "__main__":
    sys.exit(main())
