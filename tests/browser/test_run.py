"""A run's page in a real browser: its log of any size, followed, searched and harmless; and it follows the run."""

from __future__ import annotations

import os

from tests.browser.conftest import OpenPage, until
from tests.browser.world import World


def test_a_log_is_text_whatever_it_holds(a_world: World, open_page: OpenPage) -> None:
    """FC-048, FC-068: markup is text, bad bytes are U+FFFD, colours are classes; no policy is broken."""
    page = open_page(a_world, f"/runs/{a_world.runs['hostile']}")
    page.wait_for_selector("#log-window pre")
    text = page.inner_text("#log-window")
    assert "<script>alert(1)</script>" in text
    assert "\ufffd\ufffd bad bytes" in text
    assert page.inner_text("#log-window .ansi-red-fg") == "red"
    orange = page.locator("#log-window span", has_text="orange")
    assert "rgb(255, 135, 0) 35%" in orange.evaluate("span => span.style.color").replace(",", ", ").replace(",  ", ", ")
    assert page.locator("#log-window script").count() == 0


def test_a_failure_shows_what_it_complained_of(a_world: World, open_page: OpenPage) -> None:
    """Standard error of what failed, where it has any; a stream that somebody chooses stays chosen."""
    page = open_page(a_world, f"/runs/{a_world.runs['load-ledger']}")
    until(page, "document.getElementById('log-window').textContent.includes('no space left on device')")
    assert page.input_value("#log-stream") == "stderr"
    page.select_option("#log-stream", "stdout")
    until(page, "document.getElementById('log-window').textContent.includes('reading 4711 rows')")
    page.click("[data-log-attempt]")
    page.wait_for_timeout(300)
    assert page.input_value("#log-stream") == "stdout"


def test_a_running_log_is_followed_and_the_page_follows_the_run(own_world: World, open_page: OpenPage) -> None:
    """What the job says next is there without asking; at its end the page says so, and offers what is possible."""
    run = own_world.runs["long-report"]
    page = open_page(own_world, f"/runs/{run}")
    until(page, "document.getElementById('log-window').textContent.includes('step 3')")
    path = own_world.service.get(f"/api/runs/{run}")["attempts"][0]["stdout_path"]
    with open(path, "a") as log:
        log.write("and one more line\n")
    until(page, "document.getElementById('log-window').textContent.includes('one more line')")
    assert page.locator('[data-action="kill"]').is_visible()
    (own_world.service.home / "go").touch()
    page.wait_for_selector('#head[data-state="succeeded"]')
    assert page.locator('[data-action="rerun"]').is_visible()
    assert page.locator('[data-action="kill"]').count() == 0
    assert page.title().startswith("succeeded")


def test_a_long_log_is_never_here_as_a_whole(a_world: World, open_page: OpenPage) -> None:
    """FC-046: 1.3 MB, and the page holds a window of it; top, end, a line and a search all lead to the right place."""
    page = open_page(a_world, f"/runs/{a_world.runs['noisy']}")
    shown = "document.getElementById('log-window').textContent"
    until(page, f"{shown}.endsWith('200000\\n')")
    assert page.evaluate(f"{shown}.length") < 250_000
    page.click("#log-top")
    until(page, f"{shown}.startsWith('1\\n2\\n3\\n')")
    for _ in range(12):
        page.locator("#log-window").evaluate("box => box.scrollTop = box.scrollHeight")
        page.wait_for_timeout(100)
    assert page.evaluate(f"{shown}.length") < 250_000
    assert page.locator("#log-window pre").count() <= 6
    page.fill("#log-line", "123456")
    page.press("#log-line", "Enter")
    until(page, "document.querySelector('#log-window .hit')?.textContent === '123456'")
    page.fill("#log-search", "^19999[5-9]$")
    page.press("#log-search", "Enter")
    page.wait_for_selector("#log-found >> text=5 lines of 200,000 lines match")
    page.locator("#log-found li button").nth(4).click()
    until(page, "document.querySelector('#log-window .hit')?.textContent === '199999'")
    page.fill("#log-line", "999999")
    page.press("#log-line", "Enter")
    page.wait_for_selector("#log-found >> text=There are only 200,000 lines.")


def test_an_expression_that_never_ends_harms_nobody(a_world: World, open_page: OpenPage) -> None:
    """It runs in a worker of the reader's own browser, which goes with the panel; a wrong one is named."""
    page = open_page(a_world, f"/runs/{a_world.runs['hostile']}")
    page.wait_for_selector("#log-window pre")
    page.fill("#log-search", "(")
    page.press("#log-search", "Enter")
    page.wait_for_selector("#log-found >> text=/nvalid regular expression/")
    page.fill("#log-search", "(.*)*(.*)*(.*)*(.*)*x$")
    page.press("#log-search", "Enter")
    page.wait_for_selector("#log-found >> text=Searching")
    page.click("#log-found >> text=Close")
    assert page.locator("#log-found").is_hidden()
    assert a_world.service.ask("GET", "/api/health").status == 200


def test_streams_and_attempts_are_chosen(own_world: World, open_page: OpenPage) -> None:
    """stderr has a log of its own; after a rerun there are two attempts to look at."""
    run = own_world.runs["load-ledger"]
    page = open_page(own_world, f"/runs/{run}")
    page.select_option("#log-stream", "stderr")
    until(page, "document.getElementById('log-window').textContent.includes('no space left')")
    page.keyboard.press("Escape")
    page.click('[data-action="rerun"]')
    page.click('#ask button[value="yes"]')
    until(page, "document.querySelectorAll('#log-attempt option').length === 2")
    page.select_option("#log-attempt", "1")
    until(page, "document.getElementById('log-window').textContent.includes('4711 rows')")


def test_a_gigabyte_is_opened_at_its_end(a_world: World, open_page: OpenPage) -> None:
    """FC-046: whatever the size, the page fetches a few pieces of it; what is asked for costs its own length."""
    run = a_world.runs["quick"]
    path = a_world.service.get(f"/api/runs/{run}")["attempts"][0]["stdout_path"]
    os.truncate(path, 1 << 30)
    with open(path, "a") as log:
        log.write("\nthe very end\n")
    page = open_page(a_world, f"/runs/{run}")
    until(page, "document.getElementById('log-window').textContent.endsWith('the very end\\n')")
    assert page.evaluate("document.getElementById('log-window').textContent.length") < 250_000
    until(page, "document.getElementById('log-place').textContent.includes('of 1,073,741,838')")
    page.click("#log-top")
    until(page, "document.getElementById('log-window').textContent.startsWith('quick')")


def test_a_job_that_asks_for_a_reason_gets_one(own_world: World, open_page: OpenPage) -> None:
    """Without words nothing is sent; with them it is done, and the logbook has them."""
    run = own_world.trigger("careful", reason="first time")
    own_world.service.until_state(run, "succeeded")
    page = open_page(own_world, f"/runs/{run}")
    page.click('[data-action="rerun"]')
    page.click('#ask button[value="yes"]')
    assert page.locator("#ask").is_visible()
    page.fill("#ask-reason", "the numbers were wrong")
    page.click('#ask button[value="yes"]')
    own_world.service.until(lambda: own_world.service.run(run)["reruns"] == 1)
    assert "the numbers were wrong" in str(own_world.service.get(f"/api/events?run={run}&action=rerun")["events"])
