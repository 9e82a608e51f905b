"""Cases from the field that a console must stand: huge logs, cut characters, odd names, jobs that quietly never run."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import OpenPage, until
from tests.browser.test_places import settled
from tests.browser.world import World, world

NAMES = ("-rf", "--help", "__proto__", "constructor", "A", "a", "0", "x" * 64)
TEXT = (
    """
scheduler: {name: field, state_dir: state, log_dir: logs, max_running: 20}
jobs:
  floods: {command: "seq 1 5000000; until [ -e go ]; do sleep 0.1; done; echo the end", schedule: manual}
  euros:
    command: |
      yes '€€' | head -c 1400000; head -c 1000000 /dev/urandom
      printf '\\nbefore\\n\\377\\376\\303\\n\\342\\202 cut\\ndone\\n'
    schedule: manual
  broken:
    command: |
      printf 'one \\033[\\303\\251 two\\nthree \\033(\\nfour \\033[31mred\\033[0m '
      printf '\\033]8;;\\302\\240 five\\nsix \\302\\233 seven\\033['
    schedule: manual
  hangs: {command: "sleep 600", schedule: manual, overlap: skip}
"""
    + "".join(f'  "{name}": {{command: "echo I am {name}", schedule: manual}}\n' for name in NAMES)
    + '  after: {command: "true", depends_on: [__proto__, constructor]}\n'
)
SHOWN = "document.getElementById('log-window').textContent"
KEPT = 250_000
"""Characters that the page holds of a log, at most."""


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("field"), TEXT, filled=False) as found:
        yield found


def resident_bytes(pid: int) -> int:
    """Return what a process holds in memory."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def test_fc_046_a_flood_is_followed_by_three_pages_and_hurts_nobody(field: World, open_page: OpenPage) -> None:
    """39 MB as fast as they come: each page holds a window of it, other pages answer, the service does not grow."""
    service = field.service
    service.get("/api/health")
    before = resident_bytes(service.pid)
    slowest, over = [0.0], threading.Event()

    def ask() -> None:
        while not over.is_set():
            began = time.monotonic()
            assert service.ask("GET", "/jobs", headers={"Accept": "text/html"}).status == 200
            slowest[0] = max(slowest[0], time.monotonic() - began)

    run = service.trigger("floods")
    service.until_state(run, "running")
    asking = threading.Thread(target=ask)
    asking.start()
    try:
        pages = [open_page(field, f"/runs/{run}") for _ in range(3)]
        (service.home / "go").touch()
        for page in pages:
            until(page, f"{SHOWN}.endsWith('5000000\\nthe end\\n')")
            assert page.evaluate(f"{SHOWN}.length") < KEPT
            assert page.locator("#log-download").get_attribute("href")
    finally:
        over.set()
        asking.join()
    service.until_state(run, "succeeded")
    assert resident_bytes(service.pid) - before < 30_000_000
    assert slowest[0] < 20, "nobody waited for the log"


FURTHER = """before => {
  const box = document.getElementById("log-window");
  box.scrollTop = box.scrollHeight; // again and again: a scroll that comes while the window moves is one with it
  return document.getElementById("log-place").innerText !== before;
}"""


def test_fc_048_a_character_is_never_cut_by_a_page_of_the_log(field: World, open_page: OpenPage) -> None:
    """However the window is moved, 1.4 MB of euro signs show no mark of a bad byte; what is bad is one mark each."""
    run = field.service.trigger("euros")
    field.service.until_state(run, "succeeded")
    page = open_page(field, f"/runs/{run}")
    until(page, f"{SHOWN}.endsWith('\\nbefore\\n\\ufffd\\ufffd\\ufffd\\n\\ufffd cut\\ndone\\n')")
    page.click("#log-top")
    until(page, f"{SHOWN}.startsWith('€€\\n')")
    for _ in range(8):
        before = page.inner_text("#log-place")
        until(page, FURTHER, before)
        assert page.evaluate(f"{SHOWN}.includes('\\ufffd')") is False
        assert page.evaluate(f"{SHOWN}.length") < KEPT


def test_fc_048_no_broken_escape_code_swallows_what_follows(field: World, open_page: OpenPage) -> None:
    """Codes that end nowhere, name no alphabet or are no codes at all: each line of the log is there to be read."""
    run = field.service.trigger("broken")
    field.service.until_state(run, "succeeded")
    page = open_page(field, f"/runs/{run}")
    until(page, f"{SHOWN}.endsWith('seven\\u241b[')")
    shown = page.evaluate(SHOWN)
    words = [line.split()[0] for line in shown.splitlines()], [line.split()[-1] for line in shown.splitlines()]
    assert words == (["one", "three", "four", "six"], ["two", "\u241b(", "five", "seven\u241b["])
    assert page.locator("#log-window .ansi-red-fg").inner_text() == "red"


def test_fc_068_whatever_name_is_allowed_works_on_every_page(field: World, open_page: OpenPage) -> None:
    """Opened, triggered, its log read, found, paused, resumed, drawn; `A` and `a` are two; no metric has a name."""
    page = open_page(field, "/jobs")
    for name in NAMES:
        page.goto("/jobs")
        page.locator("a[data-open]").filter(has=page.get_by_text(name, exact=True)).click()
        page.wait_for_url(f"**/jobs/{name}")
        page.click("text=Trigger now")
        page.wait_for_url(f"**/runs/{name}.*")
        page.wait_for_selector('#head[data-state="succeeded"]')
        until(page, f"{SHOWN} === {f'I am {name}' + chr(10)!r}")
    for name in ("__proto__", "-rf"):
        page.goto(f"/jobs/{name}")
        page.click("summary:has-text('Pause')")
        page.click("text=Pause this job")
        page.click("button:has-text('Resume')")
        page.wait_for_selector("summary:has-text('Pause')")
    page.goto("/")
    runs = page.locator("#rows tr").evaluate_all("all => all.map((row) => row.dataset.run.split('.')[0])")
    assert set(NAMES) <= set(runs)
    page.keyboard.press("Control+k")
    page.keyboard.type("__proto__")
    page.wait_for_selector('#palette [data-href="/jobs/__proto__"]')
    page.goto("/graph?focus=__proto__")
    settled(page)
    assert sorted(drawn(page)) == ["__proto__", "after"]
    page.goto("/graph")
    settled(page)
    assert {*NAMES, "after"} <= set(drawn(page))
    page.goto("/timeline")
    lanes = page.locator(".lane-name a").evaluate_all("all => all.map((link) => link.textContent)")
    assert set(NAMES) <= set(lanes)
    metrics = field.service.ask("GET", "/metrics").body
    assert not [name for name in NAMES if f'"{name}"' in metrics]


def drawn(page: Any) -> list[str]:
    """Return the names of the boxes of the graph."""
    found: list[str] = page.locator("#graph .node").evaluate_all("all => all.map((node) => node.dataset.name)")
    return found


def test_fc_072_runs_that_are_dropped_behind_a_hung_one_are_counted(field: World, open_page: OpenPage) -> None:
    """Everything looks green, for nothing ever fails: the job's page says how many in a row were not run, and why."""
    run = field.service.trigger("hangs")
    field.service.until_state(run, "running")
    for _ in range(5):
        field.service.trigger("hangs")
    page = open_page(field, "/jobs/hangs")
    assert "Not run 5 the latest in a row" in " ".join(page.inner_text(".numbers").split())
    assert page.locator("#runs td:has-text('skipped: overlap')").count() == 5
    assert len(list((field.service.home / "logs").rglob("hangs*.out"))) == 1, "a run that is dropped has no log file"
