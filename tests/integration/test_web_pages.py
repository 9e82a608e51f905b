"""The console's pages on a real service with a day full of trouble: what they show, and what they never let through."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, timedelta

import pytest

from tests.browser.world import World, world
from tests.pages import BROWSER, Page, opened


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service with a run in every state."""
    with world(tmp_path_factory.mktemp("day")) as found:
        yield found


def jobs_on(page: Page) -> list[str]:
    """Return the jobs of a board's rows, in their order."""
    return [row["data-run"].split(".")[0] for row in page.all("tr") if "data-run" in row.attributes]


# --------------------------------------------------------------------------- the board


def test_the_board_shows_the_day_worst_first(day: World) -> None:
    """Every run of the date once, the critical failure on top and what went well at the end."""
    found = jobs_on(opened(day.service, "/"))
    assert found[:4] == ["load-ledger", "hostile", "close-books", "send-statements"]
    assert set(found) == set(day.runs) | {"close-books", "send-statements", "transform-orders"}
    assert len(found) == len(set(found))
    assert set(found[-4:]) == {"extract-orders", "transform-orders", "quick", "noisy"}


def test_a_blocked_run_names_the_culprit_with_a_link(day: World) -> None:
    """Not the neighbour that waits as well, but the run that somebody must look after; the way there is told."""
    row = opened(day.service, "/").one("tr", data_run=day.latest("send-statements"))
    cell = row.one("td", data_label="Waiting for")
    links = [link["href"] for link in cell.all("a")]
    assert links == [f"/runs/{day.runs['load-ledger']}", f"/runs/{day.latest('close-books')}"]
    assert "failed" in cell.text


def test_counts_are_of_the_whole_day_whatever_is_filtered(day: World) -> None:
    """A filter hides rows, never numbers; the address holds all of it."""
    page = opened(day.service, "/?state=failed&state=held&q=&tag=&criticality=")
    assert set(jobs_on(page)) == {"load-ledger", "hostile", "held-export"}
    assert page.one("b", data_count="succeeded").text == "4"
    assert {box["value"] for box in page.all("input", name="state") if "checked" in box.attributes} == {
        "failed",
        "held",
    }


@pytest.mark.parametrize(
    ("query", "jobs"),
    [
        ("criticality=critical", {"load-ledger"}),
        ("tag=mail", {"send-statements"}),
        ("q=LEDGER", {"load-ledger", "close-books", "send-statements"}),
        ("q=not+ready", {"held-export"}),
        ("tag=no-such-tag", set()),
        ("tag=a%3Cb%3E%26c", {"hostile"}),
    ],
)
def test_filters(day: World, query: str, jobs: set[str]) -> None:
    """By criticality, tag, and text in names, tags and reasons."""
    assert set(jobs_on(opened(day.service, f"/?{query}"))) == jobs


def test_another_day_is_one_click_away(day: World) -> None:
    """The stepper leads to the days beside; a day without runs says so, and where to look."""
    before = date.fromisoformat(day.today) - timedelta(days=1)
    page = opened(day.service, f"/?date={before}")
    assert jobs_on(page) == ["quick"]
    assert {button["data-day"] for button in page.all("button") if "data-day" in button.attributes} == {
        str(before - timedelta(days=1)), day.today, "",
    }  # fmt: skip
    assert "No runs for" in opened(day.service, "/?date=2031-05-20").text


@pytest.mark.parametrize("query", ["date=1899-12-31", "date=3000-01-01", "date=20270520", "state=rotten", "colour=red"])
def test_a_board_that_cannot_be_is_refused_as_a_page(day: World, query: str) -> None:
    """A misspelt filter must not mean "everything"; the refusal is a page with a way out."""
    page = opened(day.service, f"/?{query}", 400)
    assert page.one("a", class_="primary")["href"] == "/"
    assert page.one("p", class_="lead").text


def test_rows_are_rendered_alone_for_a_page_that_follows(day: World) -> None:
    """Only those asked for, as the page shows them, with the day's counts; unknown ids are left out."""
    ids = f"{day.runs['load-ledger']},{day.runs['quick']},nothing.{day.today}.9"
    answer = day.service.ask("GET", f"/board/rows?date={day.today}&ids={ids}")
    page = Page(answer.body)
    assert jobs_on(page) == ["load-ledger", "quick"]
    assert page.one("b", data_count="failed").text == "2"


def test_a_selection_of_all_that_matches(day: World) -> None:
    """The ids for the bulk actions, worst first, by the filters of the page."""
    found = day.service.get("/board/ids?state=blocked")
    assert found == {"ids": [day.latest("close-books"), day.latest("send-statements")], "matching": 2}


def test_a_change_is_on_the_board_at_once(day: World) -> None:
    """The sheet of a day hears of every run: no row is older than the store."""
    run = day.service.trigger("quick")
    day.service.until_state(run, "succeeded")
    assert run in {row["data-run"] for row in opened(day.service, "/").all("tr") if "data-run" in row.attributes}


# --------------------------------------------------------------------------- a run


def test_a_run_tells_why_and_what_would_change_it(day: World) -> None:
    """The chain of blame down to the root, each with its own page, and the way out."""
    page = opened(day.service, f"/runs/{day.latest('send-statements')}")
    why = page.one("section", id="why")
    assert day.runs["load-ledger"] in why.text
    assert "what would change it" in why.text
    assert f"/runs/{day.runs['load-ledger']}" in {link["href"] for link in why.all("a")}


def test_a_run_shows_its_attempts_and_what_may_be_done(day: World) -> None:
    """Exit code, CPU time, memory; the buttons of its state and no others."""
    page = opened(day.service, f"/runs/{day.runs['load-ledger']}")
    cells = {cell["data-label"]: " ".join(cell.text.split()) for cell in page.one("section", id="attempts").all("td")}
    assert cells["Exit"] == "3"
    assert cells["Outcome"].startswith("failed")
    assert re.fullmatch(r"[\d.]+ [KM]iB", cells["Memory"])
    assert {b["data-action"] for b in page.all("button") if "data-action" in b.attributes} == {"rerun", "mark-success"}
    assert "Loads the day's postings into the ledger" in page.text


def test_a_run_knows_its_neighbours(day: World) -> None:
    """Upstream and downstream with their states, each a link."""
    page = opened(day.service, f"/runs/{day.latest('close-books')}")
    up, down = page.one("section", id="upstream"), page.one("section", id="downstream")
    assert "load-ledger" in up.text
    assert "failed" in up.text
    assert "send-statements" in down.text
    assert "blocked" in down.text


def test_a_day_before_memory_has_neighbours_too(day: World) -> None:
    """Old days are read from the store: a run of last year still names what it depends on."""
    run = day.service.trigger("extract-orders", run_date="2026-01-05")
    day.service.until_state(run, "succeeded")
    day.service.until(lambda: day.service.get("/api/runs?job=transform-orders&run_date=2026-01-05")["runs"])
    page = opened(day.service, f"/runs/{run}")
    assert "transform-orders" in page.one("section", id="downstream").text


def test_an_older_definition_is_the_text_it_was(day: World) -> None:
    """After a reload the page still shows what the run was started with, from the recorded text."""
    text = day.service.file.read_text()
    run = day.service.trigger("quick")
    day.service.until_state(run, "succeeded")
    try:
        day.service.write(text.replace('"echo quick"', '"echo quicker"'))
        assert day.service.post("/api/reload")["changed"]
        definition = opened(day.service, f"/runs/{run}").one("section", id="definition")
        assert "echo quick" in definition.one("pre").text
        assert "quicker" not in definition.text
        assert "2 is in force" in definition.text
    finally:
        day.service.write(text)
        day.service.post("/api/reload")


def test_no_value_of_the_environment_is_ever_shown(tmp_path_factory: pytest.TempPathFactory) -> None:
    """FC-082: what `env` holds is `***` on the run's page, as everywhere."""
    text = """
scheduler: {state_dir: state, log_dir: logs}
jobs:
  secretive: {command: "true", schedule: manual, env: {TOKEN: "s3cr-value", PLAIN: x}}
"""
    with world(tmp_path_factory.mktemp("secret"), text, filled=False) as found:
        run = found.trigger("secretive")
        found.service.until_state(run, "succeeded")
        for path in ("/", f"/runs/{run}", "/palette?q=sec"):
            assert "s3cr-value" not in found.service.ask("GET", path, headers=BROWSER).body
        assert "***" in found.service.ask("GET", f"/runs/{run}", headers=BROWSER).body


# --------------------------------------------------------------------------- what comes from outside


def test_nothing_that_was_typed_becomes_markup(day: World) -> None:
    """FC-068: tags, descriptions and reasons with markup in them are text, in attributes too."""
    for path in ("/", f"/runs/{day.runs['hostile']}"):
        page = opened(day.service, path)
        assert not page.all("img")
        assert not page.all("b", text="a")
        assert "a<b>&c" in page.text
    day.act("held-export", "release", reason='"><script>alert(1)</script>\u202e')
    day.service.until_state(day.runs["held-export"], "succeeded")
    run = day.service.trigger("pooled-second", reason='"><script>alert(2)</script>')
    day.service.post(f"/api/runs/{run}/hold", reason="\u202egnp.exe\x07")
    page = opened(day.service, f"/runs/{run}")
    assert r"\u202egnp.exe\x07" in page.text
    assert "\u202e" not in page.source
    assert '"><script>alert(2)</script>' in page.text
    assert r"\u202egnp.exe\x07" in opened(day.service, "/").one("tr", data_run=run).text


@pytest.mark.parametrize(
    "name", ["a%2Fb.2027-05-20.1", "..", "%2e%2e", "etl%2050%25.2027-05-20.1", "x%3Fy=1%23z", "%F0%9F%90%99"]
)
def test_a_run_that_cannot_be_is_not_found(day: World, name: str) -> None:
    """FC-068: whatever a path holds, it is a name and never a way."""
    page = opened(day.service, f"/runs/{name}", 404)
    assert "404" in page.text


def test_a_page_that_is_not_there_says_so_in_the_house(day: World) -> None:
    """A browser gets a page with a way back, a program its JSON."""
    page = opened(day.service, "/nowhere/at/all", 404)
    assert page.one("a", class_="primary")["href"] == "/"
    assert day.service.ask("GET", "/nowhere/at/all").body["error"] == "Not Found"
    api = day.service.ask("GET", "/api/nowhere", headers=BROWSER)
    assert api.body["error"] == "Not Found"
    assert day.service.ask("GET", f"/api/runs/{day.runs['quick']}/hold").status == 405


def test_static_files_are_kept_for_a_year_and_none_other_is_served(day: World) -> None:
    """An address with our digest is for ever; another digest gets the file of now, unkept; no path leads out."""
    page = opened(day.service, "/")
    address = page.one("link", rel="stylesheet")["href"]
    answer = day.service.ask("GET", address)
    assert "immutable" in answer.headers["cache-control"]
    again = day.service.ask("GET", address, headers={"If-None-Match": answer.headers["etag"]})
    assert again.status == 304
    old = re.sub(r"/static/\w+/", "/static/000000000000/", address)
    assert day.service.ask("GET", old).headers["cache-control"] == "no-cache"
    for path in ("../__init__.py", "..%2f__init__.py", "%2e%2e/%2e%2e/web/__init__.py", "css/../../words.py", "css"):
        assert day.service.ask("GET", f"/static/000000000000/{path}").status == 404


# --------------------------------------------------------------------------- finding


def test_the_palette_finds_pages_jobs_and_runs(day: World) -> None:
    """By a few letters; nothing is said to be nothing."""
    answer = Page(day.service.ask("GET", "/palette?q=load").body)
    assert [item["data-href"] for item in answer.all("li")] == ["/jobs/load-ledger", f"/runs/{day.runs['load-ledger']}"]
    assert "Nothing is called that" in Page(day.service.ask("GET", "/palette?q=%3Cb%3E").body).text
    assert len(Page(day.service.ask("GET", "/palette?q=").body).all("li")) == 8


def test_the_frame_says_who_and_where(day: World) -> None:
    """Scheduler, zone, a clock with its offset, who looks, and which page this is."""
    page = opened(day.service, "/")
    assert page.one("span", class_="brand-name").text == "night-house"
    assert page.one("html")["data-zone"] == "Europe/Berlin"
    assert re.search(r"\d\d:\d\d:\d\d\+0[12]", page.one("time", id="clock").text)
    assert page.one("a", aria_current="page").text == "Board"
    config = json.loads(page.one("meta", name="htmx-config")["content"])
    assert config["includeIndicatorStyles"] is False
    assert config["allowEval"] is False
