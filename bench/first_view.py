"""How soon does somebody see the board of 10,000 jobs, and how soon a change on it? The issue: 500 ms, and 1 s.

    python -m bench.first_view [--jobs 10000] [--runs 1000000] [--rounds 10] [--state DIR]

A real service on TCP with the store of `bench.board`, Debian's Chromium without a GPU, a window of 1440 × 900. A view
lasts from the navigation's start until the frame after 200 rows stand in the page with their styles; each is told with
nothing in the browser's cache and with what a first view left there. A change is a failed run that is marked as
succeeded by another client: from before the request is sent until the frame after its row says so. One JSON line each.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from datetime import UTC, date, datetime
from pathlib import Path
from statistics import median
from typing import Any

from bench.board import build, text
from bench.measure import create_fsync_ms, emit
from tests.browser.conftest import ARGUMENTS, WIDE
from tests.serving import Served, served
from tests.visitors import port_of

ROWS = 200
NOTE_THE_VIEW = """
const look = () => document.querySelectorAll('#rows tr').length < ROWS ? requestAnimationFrame(look)
  : requestAnimationFrame(() => { window.seenMs = performance.now(); });
requestAnimationFrame(look);
""".replace("ROWS", str(ROWS))
NOTE_THE_CHANGE = """(run) => { window.changed = new Promise((done) => {
  const look = () => document.getElementById(`r-${run}`)?.dataset.state === 'succeeded'
    ? requestAnimationFrame(() => done(Date.now())) : setTimeout(look, 5);
  look();
}); }"""


def view(context: Any, address: str) -> tuple[float, Any]:
    """Return the milliseconds of one view of the board, and its page."""
    page = context.new_page()
    page.add_init_script(NOTE_THE_VIEW)
    page.goto(address)
    while (seen := page.evaluate("window.seenMs ?? null")) is None:
        page.wait_for_timeout(10)
    return float(seen), page


def views(browser: Any, address: str, rounds: int) -> None:
    """Look at the board again and again, each time with another browser's profile and once more with the same."""
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(rounds):
        context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
        for took in (cold, warm):
            ms, page = view(context, address)
            took.append(ms)
            page.close()
        context.close()
    tell("the very first view", cold[:1], 500)
    tell("a first view", cold, 500)
    tell("another view", warm, 500)


def changes(browser: Any, address: str, service: Served, rounds: int) -> None:
    """Let another client mark failed runs of the page, one after the other."""
    _, page = view(browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]}), address)
    failed = page.locator("#rows tr[data-state=failed]").evaluate_all("all => all.map((row) => row.dataset.run)")
    took = []
    for run in failed[:rounds]:
        page.evaluate(NOTE_THE_CHANGE, run)
        began = time.time() * 1000
        service.post(f"/api/runs/{run}/mark-success")
        took.append(page.evaluate("window.changed") - began)
    tell("a change", took, 1000)


def tell(question: str, took: list[float], aim: int) -> None:
    emit(
        bench="first_view",
        question=question,
        median_ms=round(median(took)),
        worst_ms=round(max(took)),
        rounds=len(took),
        aim_ms=aim,
        load=round(os.getloadavg()[0], 1),
    )


def measure(home: Path, rounds: int, last: date) -> None:
    """Serve, look, and say how long it took."""
    from playwright.sync_api import sync_playwright

    with served(home, (home / "pysched.yaml").read_text()) as service, sync_playwright() as playwright:
        service.start()
        address = f"http://127.0.0.1:{port_of(service)}/?date={last}"
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
        views(browser, address, rounds)
        changes(browser, address, service, rounds)
        browser.close()
    emit(bench="first_view", question="the disk", **create_fsync_ms(home))


def main() -> None:
    """Build, serve, look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--state", type=Path, help="a folder that is kept and used again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        home = options.state or Path(passing)
        home.mkdir(parents=True, exist_ok=True)
        os.umask(0o077)
        last = datetime.now(UTC).date()
        if not (home / "state").exists():
            listening = text(options.jobs).replace("max_running: 1", 'max_running: 1, listen: "127.0.0.1:0"')
            (home / "pysched.yaml").write_text(listening)
            build(home / "state", options.jobs, options.runs, last)
        measure(home, options.rounds, last)


if __name__ == "__main__":
    main()
