"""How long are frames while a graph of two thousand jobs is moved and zoomed? The issue: 100 ms at p95.

    python bench/graph_frames.py [--jobs 2000] [--seconds 4]

A real service, Debian's Chromium without a GPU, a window of 1440 × 900. The drawing is dragged, zoomed in and out by
the wheel, and walked by the keyboard, each for some seconds, from far away and near by; the page notes the time between
two frames. One JSON line for each kind of moving, one for the layout, and one for the first drawing.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.measure import emit
from pyscheduler.web.graph_layout import Link, lay_out
from tests.browser.conftest import ARGUMENTS
from tests.browser.world import world

WATCH = """() => {
  window.frames_ = []; let last = performance.now();
  const look = (now) => {
    window.frames_.push(now - last); last = now; window.watching_ = requestAnimationFrame(look);
  };
  window.watching_ = requestAnimationFrame(look);
}"""
TAKE = "() => { cancelAnimationFrame(window.watching_); return window.frames_.slice(2); }"


def a_graph(jobs: int) -> list[tuple[str, list[str]]]:
    """Return jobs with what they wait for: chains, joins and forks as they grow in a company, from a seed."""
    chance = random.Random(7)
    names = [f"job-{number:04}" for number in range(jobs)]
    return [
        (name, sorted({names[chance.randrange(max(0, at - 40), at)] for _ in range(chance.choice((0, 1, 1, 2, 3)))}))
        if at % 20
        else (name, [])
        for at, name in enumerate(names)
    ]


def p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))] if values else 0.0


def drag(page: Any, seconds: float) -> None:
    page.mouse.move(700, 450)
    page.mouse.down()
    until, step = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        step += 1
        page.mouse.move(700 + 300 * ((step % 40) / 20 - 1), 450 + 150 * ((step % 26) / 13 - 1))
    page.mouse.up()


def wheel(page: Any, seconds: float) -> None:
    page.mouse.move(700, 450)
    until, step = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        step += 1
        page.mouse.wheel(0, -90 if step % 60 < 30 else 90)


def keys(page: Any, seconds: float) -> None:
    page.focus("#graph")
    until, step = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        step += 1
        page.keyboard.press(("ArrowRight", "ArrowDown", "ArrowRight", "ArrowUp")[step % 4])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jobs", type=int, default=2000)
    arguments.add_argument("--seconds", type=float, default=4.0)
    asked = arguments.parse_args()
    graph = a_graph(asked.jobs)
    links = [Link(upstream, name) for name, upstreams in graph for upstream in upstreams]
    took = []
    for _ in range(5):
        began = time.perf_counter()
        lay_out([name for name, _ in graph], links)
        took.append(1000 * (time.perf_counter() - began))
    emit(bench="graph_frames", what="layout", jobs=asked.jobs, edges=len(links), median_ms=round(median(took), 1))
    lines = "".join(f'  {name}: {{command: "true", schedule: manual, depends_on: [{", ".join(before)}]}}\n' if before
                    else f'  {name}: {{command: "true", schedule: manual}}\n' for name, before in graph)  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, world(Path(folder), f"jobs:\n{lines}", filled=False) as place:
        watch(place.url, asked.seconds)


def watch(url: str, seconds: float) -> None:
    """Move the drawing about, and tell how long frames were."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        began = time.perf_counter()
        page.goto(f"{url}/graph", wait_until="load")
        page.wait_for_selector("#graph-wait", state="detached")
        emit(bench="graph_frames", what="first drawing", ms=round(1000 * (time.perf_counter() - began)))
        moves = [("far, dragged", drag), ("wheel in and out", wheel), ("near, dragged", drag), ("near, by keys", keys)]
        for name, move in moves:
            if name.startswith("near"):
                page.click("#graph-fit")
                page.focus("#graph")
                page.keyboard.press("ArrowRight")
            page.evaluate(WATCH)
            move(page, seconds)
            frames = page.evaluate(TAKE)
            emit(
                bench="graph_frames",
                what=name,
                frames=len(frames),
                median_ms=round(median(frames), 1),
                p95_ms=round(p95(frames), 1),
                worst_ms=round(max(frames), 1),
            )
        browser.close()


if __name__ == "__main__":
    main()
