"""Every action on runs, driven wherever the console offers it: a row's menu, the bar of a selection, the run's page.

The runs are real, and each stands where its action applies. What is asserted is the store's word, never the page's:
the state that the run came to, and the line of the logbook with who did it and why.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest

from pyscheduler.model.run import RunState
from pyscheduler.web.offers import OFFERS
from tests.browser.conftest import OpenPage, until
from tests.browser.world import World, world

TEXT = """
scheduler: {name: hands, timezone: Europe/Berlin, state_dir: state, log_dir: logs, max_running: 30}
pools: {shut: 1}
jobs:
  keeper: {command: "sleep 600", schedule: manual, pools: {shut: 1}}
  in-line: {command: "true", schedule: manual, pools: {shut: 1}, overlap: allow}
  never: {command: "true", schedule: manual}
  waiter: {command: "true", depends_on: [never], overlap: allow}
  endless: {command: "sleep 600", schedule: manual, overlap: allow}
  bad: {command: "exit 3", schedule: manual, overlap: allow}
  good: {command: "true", schedule: manual, overlap: allow}
  first: {command: "true", schedule: manual}
  second: {command: "true", depends_on: [first]}
  watched: {command: "true", schedule: manual, require_reason: true}
"""


class Deed(NamedTuple):
    """An action as the API names it, a job whose run it applies to once in `begins`, and where that run then ends."""

    action: str
    job: str
    begins: str
    ends: str
    event: str = ""

    @property
    def line(self) -> str:
        """The logbook's word."""
        return self.event or self.action.replace("-", "_")


DEEDS = (
    Deed("rerun", "bad", "failed", "failed"),
    Deed("hold", "in-line", "queued", "held"),
    Deed("release", "in-line", "held", "queued"),
    Deed("force-start", "waiter", "waiting", "succeeded"),
    Deed("skip", "in-line", "queued", "skipped"),
    Deed("cancel", "in-line", "queued", "cancelled"),
    Deed("kill", "endless", "running", "failed"),
    Deed("mark-success", "bad", "failed", "succeeded"),
    Deed("mark-failed", "good", "succeeded", "failed"),
)


@pytest.fixture(scope="module")
def hands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service with a pool that is taken, so that runs stand in line."""
    with world(tmp_path_factory.mktemp("hands"), TEXT, filled=False) as found:
        found.service.until_state(found.trigger("keeper"), "running")
        yield found


def prepared(place: World, deed: Deed) -> str:
    """Return a run that the deed applies to."""
    run = place.service.trigger(deed.job)
    if deed.begins == "held":
        place.service.post(f"/api/runs/{run}/hold")
    place.service.until_state(run, deed.begins)
    return run


def said_yes(page: Any, reason: str) -> None:
    """Wait for the preview, give a reason, and confirm."""
    page.wait_for_selector("#ask[open] .preview")
    page.fill("#ask-reason", reason)
    page.click('#ask button[value="yes"]')


def is_done(place: World, deed: Deed, run: str, reason: str) -> None:
    """Assert that the run came where the deed leads, and that the logbook has it once with its reason."""

    def lines() -> Any:
        return place.service.get(f"/api/events?run={run}&action={deed.line}")["events"]

    place.service.until(lines, f"{deed.action} of {run} is in the logbook")
    place.service.until_state(run, deed.ends)
    by_hand = [line for line in lines() if line["detail"].get("reason") == reason]
    assert len(by_hand) == 1, lines()
    assert by_hand[0]["actor"] != "scheduler"


def offered(where: Any) -> list[str]:
    """Return the actions of a menu or a page, as it orders them."""
    found: list[str] = where.locator("[data-action]").evaluate_all("all => all.map((each) => each.dataset.action)")
    return found


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.action)
def test_an_action_is_done_from_menu_bar_and_page(hands: World, open_page: OpenPage, deed: Deed) -> None:
    """Each with its preview and a reason, to one run or to a selection; each of them offers what the state allows."""
    by_menu, by_page, *selected = (prepared(hands, deed) for _ in range(4))
    page = open_page(hands, "/")
    row = page.locator(f'tr[data-run="{by_menu}"]')
    row.locator("summary").click()
    row.locator(".sheet-menu").wait_for()  # it is made when it is opened
    in_menu = offered(row)
    row.locator(f'[data-action="{deed.action}"]').click()
    said_yes(page, f"{deed.action} by the menu")
    is_done(hands, deed, by_menu, f"{deed.action} by the menu")
    page.wait_for_selector(f'tr[data-run="{by_menu}"][data-state="{deed.ends}"]')

    for run in selected:
        page.locator(f'tr[data-run="{run}"] [data-pick]').check()
    page.click(f'[data-bulk="{deed.action}"]')
    said_yes(page, f"{deed.action} by the bar")
    page.wait_for_selector(".toast:has-text('2 runs, all done')")
    for run in selected:
        is_done(hands, deed, run, f"{deed.action} by the bar")

    page.goto(f"/runs/{by_page}")
    assert offered(page.locator("#head")) == in_menu == [offer.action for offer in OFFERS[RunState(deed.begins)]]
    page.click(f'#head [data-action="{deed.action}"]')
    said_yes(page, f"{deed.action} by the page")
    is_done(hands, deed, by_page, f"{deed.action} by the page")
    page.wait_for_selector(f'#head[data-state="{deed.ends}"]')


def test_nothing_happens_before_the_second_step(hands: World, open_page: OpenPage) -> None:
    """ "Not now" and Escape do nothing at all; the run goes on, and nothing of it is in the logbook."""
    run = prepared(hands, DEEDS[6])
    page = open_page(hands, f"/runs/{run}")
    for key in ("Escape", "Enter"):
        page.click('[data-action="kill"]')
        page.wait_for_selector("#ask[open] .preview")
        page.focus('#ask button[value="no"]')
        page.keyboard.press(key)
        assert page.locator("#ask[open]").count() == 0
    assert hands.service.state_of(run) == "running"
    assert hands.service.get(f"/api/events?run={run}&action=kill")["events"] == []
    page.click('[data-action="kill"]')
    said_yes(page, "runs on the wrong day")
    page.wait_for_selector('#head[data-state="failed"]')
    assert "killed by" in page.inner_text("#head")


def is_rerun(place: World, run: str) -> bool:
    return bool(place.service.run(run)["reruns"] == 1)


def test_a_rerun_takes_along_what_depends_on_it_when_told_to(hands: World, open_page: OpenPage) -> None:
    """The preview names the followers as soon as the box is ticked, and each runs again."""
    first = hands.service.trigger("first")
    hands.service.until_state(first, "succeeded")
    second = hands.service.until(lambda: hands.service.get("/api/runs?job=second")["runs"], "second has a run")[0]
    hands.service.until_state(second["run_id"], "succeeded")
    page = open_page(hands, f"/runs/{first}")
    page.click('[data-action="rerun"]')
    page.wait_for_selector("#ask .preview")
    assert second["run_id"] not in page.inner_text("#ask .preview")
    page.check("#ask-downstream")
    page.wait_for_selector(f"#ask .preview:has-text('{second['run_id']}')")
    page.click('#ask button[value="yes"]')
    for run in (first, second["run_id"]):
        hands.service.until(partial(is_rerun, hands, run), f"{run} is rerun")
        hands.service.until_state(run, "succeeded")


def test_what_came_too_late_is_told_with_why(hands: World, open_page: OpenPage) -> None:
    """The run moved while somebody read the preview: nothing is done, and what does apply is said."""
    open_page.expect("409")  # type: ignore[attr-defined]
    run = prepared(hands, Deed("hold", "in-line", "queued", "held"))
    page = open_page(hands, f"/runs/{run}")
    page.click('[data-action="hold"]')
    page.wait_for_selector("#ask[open] .preview")
    hands.service.post(f"/api/runs/{run}/skip")
    page.click('#ask button[value="yes"]')
    page.wait_for_selector(".toast.bad")
    assert hands.service.state_of(run) == "skipped"


@pytest.mark.parametrize("path", ["/", "/jobs/watched"])
def test_a_list_of_runs_asks_for_the_reason_that_the_job_wants(hands: World, open_page: OpenPage, path: str) -> None:
    """By r on its row: without words nothing is sent, whichever list the row stands in."""
    run = hands.service.trigger("watched", reason="to have one")
    hands.service.until_state(run, "succeeded")
    page = open_page(hands, path)
    row = page.locator(f'tr[data-run="{run}"]')
    row.dispatch_event("pointerdown")
    page.keyboard.press("r")
    page.wait_for_selector("#ask[open] .preview")
    assert page.locator("#ask-reason").evaluate("field => field.required")
    page.fill("#ask-reason", "because of the rate")
    page.click('#ask button[value="yes"]')
    hands.service.until(lambda: hands.service.run(run)["reruns"] == 1, "it is rerun")
    hands.service.until_state(run, "succeeded")


def test_triggering_asks_for_the_reason_that_the_job_wants(hands: World, open_page: OpenPage) -> None:
    """The forms of its page say so before anything is sent."""
    page = open_page(hands, "/jobs/watched")
    before = hands.service.get("/api/runs?job=watched")["runs"]
    page.click("text=Trigger now")
    assert page.locator("#trigger-reason:invalid").count() == 1
    assert hands.service.get("/api/runs?job=watched")["runs"] == before
    page.fill("#trigger-reason", "the third time")
    page.click("text=Trigger now")
    page.wait_for_url("**/runs/watched.*")


@pytest.mark.parametrize("key", ["h", "r"])
def test_keys_act_on_a_selection(hands: World, open_page: OpenPage, key: str) -> None:
    """x selects rows, and r or h then means all of them."""
    deed = {"h": DEEDS[1], "r": DEEDS[0]}[key]
    runs = [prepared(hands, deed), prepared(hands, deed)]
    page = open_page(hands, "/")
    for run in runs:
        page.locator(f'tr[data-run="{run}"]').dispatch_event("pointerdown")
        page.keyboard.press("x")
    until(page, "document.getElementById('picked').textContent === '2'")
    page.keyboard.press(key)
    said_yes(page, f"{deed.action} by keys")
    for run in runs:
        is_done(hands, deed, run, f"{deed.action} by keys")
