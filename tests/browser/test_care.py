"""Looking after the scheduler itself: pauses, backfills, what was missed, alerts that reached nobody, versions."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

import pytest

from tests.browser.conftest import OpenPage, until
from tests.browser.test_places import settled
from tests.browser.world import World, world
from tests.receivers import hook

TEXT = """
scheduler: {name: care, timezone: Europe/Berlin, state_dir: state, log_dir: logs}
notifiers:
  ops: {type: webhook, url: "URL", timeout: 30s, retries: {count: 0}}
routes:
  - {match: "alert.#", notify: [ops]}
jobs:
  quick: {command: "true", schedule: manual}
  bad: {command: "exit 3", schedule: manual}
  hourly: {command: "true", schedule: "0 * * * *", catch_up: latest}
"""


@pytest.fixture(scope="module")
def care(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service whose alerts go to a receiver that does not take them at first."""
    with hook(status=500) as receiver:
        text = TEXT.replace("URL", receiver.url)
        with world(tmp_path_factory.mktemp("care"), text, filled=False) as found:
            found.receiver = receiver  # type: ignore[attr-defined]
            yield found


def test_everything_is_paused_and_resumed(care: World, open_page: OpenPage) -> None:
    """What that would stop is said before; every page has a banner as long as it lasts."""
    page = open_page(care, "/admin")
    page.click("summary:has-text('Pause everything')")
    assert "All firings are dropped" in page.inner_text("main")
    page.fill("#pause-reason", "the storage is moved")
    page.click("button:has-text('Pause everything')")
    page.wait_for_selector(".note.hand:has-text('the storage is moved')")
    page.goto("/")
    assert "Everything is paused" in page.inner_text(".banners")
    page.goto("/forecast")
    assert "Everything is paused" in page.inner_text("main")
    page.goto("/admin")
    page.check("main [name=catch_up]")
    page.fill("#resume-reason", "it is moved")
    page.click("button:has-text('Resume')")
    page.wait_for_selector("summary:has-text('Pause everything')")
    line = care.service.get("/api/events?action=resume")["events"][0]
    assert (line["detail"]["reason"], line["detail"]["catch_up"]) == ("it is moved", True)


def test_dates_are_backfilled_as_the_preview_said(care: World, open_page: OpenPage) -> None:
    """The days are named and counted before; afterwards each has a run, and a word says how many."""
    today = date.fromisoformat(care.today)
    page = open_page(care, "/jobs/quick")
    page.click("text=Backfill a range of dates")
    page.fill("#from", str(today - timedelta(days=400)))
    page.fill("#to", str(today - timedelta(days=398)))
    page.wait_for_selector(".preview:has-text('3 runs')")
    page.fill("#backfill-reason", "the feed was empty")
    page.click("button:has-text('Backfill')")
    page.wait_for_selector(".toast:has-text('3 runs were created')")
    for back in (400, 399, 398):
        care.service.until_state(f"quick.{today - timedelta(days=back)}.1", "succeeded")


def test_a_new_version_shows_what_changed(care: World, open_page: OpenPage) -> None:
    """From the list of versions, by the keyboard, to the lines that went and came."""
    text = care.service.file.read_text()
    care.service.write(text + '  newcomer: {command: "true", schedule: "0 4 * * *"}\n')
    page = open_page(care, "/admin")
    page.click("#compare")
    page.wait_for_selector("#comparison:has-text('newcomer')")
    page.select_option("#compare-days", "0")
    page.click("#compare")
    page.wait_for_selector("#comparison:not(:has-text('firings change')):has-text('newcomer')")
    page.click("text=Reload the files")
    page.wait_for_selector(".toast:has-text('Version 2 is in force')")
    page.click("text=Reload the files")
    page.wait_for_selector(".toast:has-text('Nothing had changed')")
    page.click('a[href="/admin/configs/2"]')
    page.wait_for_url("**/admin/configs/2")
    assert "newcomer" in page.inner_text("tr.in")
    assert page.locator("tr.out").count() == 0
    page.click("text=‹ 1")
    page.wait_for_url("**/admin/configs/1")
    assert "The first version there is" in page.inner_text("main")


def told(place: World, run: str) -> list[str]:
    """Return how the deliveries of a run's alerts stand."""
    alerts = place.service.get(f"/api/runs/{run}")["alerts"]
    return [delivery["status"] for alert in alerts for delivery in alert["deliveries"]]


def test_an_alert_that_reached_nobody_is_sent_again(care: World, open_page: OpenPage) -> None:
    """It stands on top with why; one press, and it is sent and gone from there."""
    receiver: Any = care.receiver  # type: ignore[attr-defined]
    run = care.service.trigger("bad")
    care.service.until(lambda: care.service.get("/api/alerts/dead")["deliveries"], "a delivery is given up")
    page = open_page(care, "/alerts")
    page.wait_for_selector("#dead-box tr:has-text('answered 500')")
    receiver.status = 200
    page.click("button:has-text('Send again')")
    page.wait_for_selector(".toast:has-text('ops tries again')")
    care.service.until(lambda: "sent" in told(care, run), "it is sent")
    assert not care.service.get("/api/alerts/dead")["deliveries"]
    page.reload()
    page.wait_for_selector(f"#alerts tr:has-text('{run}'):has-text('ops: sent')")
    assert page.locator("#dead-box").is_hidden()
    page.select_option("#kind", "lost")
    page.click("#alert-filters button")
    page.wait_for_selector("#alerts:has-text('Nobody had to be told anything')")
    page.goto(f"/runs/{run}")
    page.wait_for_selector("#alert-list:has-text('ops: sent')")


def put_back(place: World) -> None:
    """Put a copy of the store back that is older than its folder knows; make the copy first where there is none."""
    service, copy = place.service, place.service.home / "backup.db"
    service.stop()
    if not copy.exists():
        shutil.copy(service.state / "pysched.db", copy)
        service.start().stop()
    shutil.copy(copy, service.state / "pysched.db")
    for name in ("pysched.db-wal", "pysched.db-shm"):
        with suppress(FileNotFoundError):
            (service.state / name).unlink()
    service.start()


@pytest.mark.timeout(300)  # five starts of a service
def test_what_was_missed_waits_for_a_word(tmp_path_factory: pytest.TempPathFactory, open_page: OpenPage) -> None:
    """After a restore nothing starts by itself: what would run is named, and somebody decides with a reason."""
    with world(tmp_path_factory.mktemp("missed"), TEXT.replace("URL", "http://127.0.0.1:9"), filled=False) as found:
        for field, words, accepted in (
            ("#accept-reason", "Run what was missed", True),
            ("#skip-reason", "Drop it all", False),
        ):
            put_back(found)
            page = open_page(found, "/admin")
            page.wait_for_selector("#held-title:has-text('A catch-up waits for your word')")
            page.fill(field, "looked at the files")
            page.click(f"text={words}")
            page.wait_for_selector("#held-title", state="detached")
            page.wait_for_load_state()
            settled(page)  # what it asks for yet, nobody would answer: the service is stopped now
            assert found.service.get("/api/catch-up")["held"] is False
            (line,) = found.service.get("/api/events?action=catch_up")["events"]
            assert (line["detail"]["accept"], line["detail"]["reason"]) == (accepted, "looked at the files")


def test_a_page_outlives_a_restart(tmp_path_factory: pytest.TempPathFactory, open_page: OpenPage) -> None:
    """The scheduler goes and comes back: the board follows again without anybody's hand."""
    for words in ("net::ERR", "503"):
        open_page.expect(words)  # type: ignore[attr-defined]
    text = TEXT.replace("URL", "http://127.0.0.1:9")
    with world(tmp_path_factory.mktemp("again"), text, filled=False) as found:
        run = found.service.trigger("quick")
        found.service.until_state(run, "succeeded")
        page = open_page(found, "/")
        page.wait_for_selector(f'tr[data-run="{run}"][data-state="succeeded"]')
        found.service.stop()
        found.service.start()
        found.service.post(f"/api/runs/{run}/mark-failed")
        page.wait_for_selector(f'tr[data-run="{run}"][data-state="failed"]', timeout=60_000)
        until(page, "document.getElementById('stale').hidden")
