"""Jobs, graph, timeline, forecast, logbook, alerts and admin on a real service with a day full of trouble."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import pytest

from tests.browser.world import World, world
from tests.pages import BROWSER, Page, opened


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service with a run in every state."""
    with world(tmp_path_factory.mktemp("places")) as found:
        yield found


def fragment(day: World, path: str, status: int = 200) -> Page:
    answer = day.service.ask("GET", path, headers=BROWSER)
    assert answer.status == status, answer
    return Page(answer.body)


# --------------------------------------------------------------------------- jobs


def test_every_job_is_listed_with_its_last_run(day: World) -> None:
    """By name, each with a link, the state of its newest run, and what it waits for."""
    page = opened(day.service, "/jobs")
    names = [row.one("strong").text for row in page.all("tr") if "data-row" in row.attributes]
    assert names == sorted(names)
    assert {"load-ledger", "hostile", "nightly"} <= set(names)
    states = {badge["data-state"] for badge in page.all("span") if "data-state" in badge.attributes}
    assert {"failed", "blocked", "held", "queued", "running", "retry_wait"} <= states


@pytest.mark.parametrize(
    ("query", "jobs"),
    [
        ("q=LEDGER", ["load-ledger"]),
        ("tag=mail&q=&show=", ["send-statements"]),
        ("show=disabled", []),
        ("q=ann&page=9", ["load-ledger"]),
    ],
)
def test_jobs_are_filtered(day: World, query: str, jobs: list[str]) -> None:
    """By text in name, tags, owner and description; by tag; by what keeps them from running."""
    page = opened(day.service, f"/jobs?{query}")
    assert [row.one("strong").text for row in page.all("tr") if "data-row" in row.attributes] == jobs


def test_a_job_says_when_it_fires_and_what_it_waits_for(day: World) -> None:
    """The next ten firings with their offset; the neighbours with their states of today."""
    page = opened(day.service, "/jobs/nightly")
    firings = page.one("ol", class_="firings").all("time")
    assert len(list(firings)) == 10
    assert "02:30:00+0" in page.text
    page = opened(day.service, "/jobs/close-books")
    around = [item.text for item in page.all("ul", class_="neighbours")]
    assert ["load-ledger" in around[0], "failed" in around[0]] == [True, True]
    assert ["send-statements" in around[1], "blocked" in around[1]] == [True, True]


def test_a_job_says_why_it_has_no_run(day: World) -> None:
    """For any date, a past one too: one answer, with a way out (P7); for one with a run also who is to blame."""
    assert opened(day.service, "/jobs/nightly").one("form", id="why-form")["data-why"] == "/jobs/nightly/why"
    past = fragment(day, "/jobs/nightly/why?run_date=2020-02-04").root.text
    assert "no run" in past
    assert "Tue 2020-02-04" in past
    assert "pysched trigger nightly --run-date 2020-02-04" in past
    blocked = fragment(day, "/jobs/send-statements/why")
    assert [link.text for link in blocked.one("ol", class_="chain").all("a")] == [
        day.latest("close-books"),
        day.runs["load-ledger"],
    ]
    fragment(day, "/jobs/no-such-job/why", 404)
    fragment(day, "/jobs/nightly/why?run_date=tuesday", 400)


def test_a_job_that_does_not_exist_is_not_found(day: World) -> None:
    """With a page that says what there is, whatever the name holds (FC-068)."""
    for name in ("no-such-job", "..%2F..%2Fetc", "a%2Fb", "%F0%9F%90%99", "x" * 300):
        assert "There is no such page" in opened(day.service, f"/jobs/{name}", 404).text


def test_a_trigger_is_previewed(day: World) -> None:
    """Who gets a run, who has one already; a strange date is remarked on; nothing is done."""
    before = day.service.get("/api/runs?job=close-books")["runs"]
    today = fragment(day, "/jobs/load-ledger/preview").root.text
    assert "close-books" in today
    assert "has one" in today
    other = fragment(day, "/jobs/load-ledger/preview?run_date=2031-05-20").root.text
    assert "gets a run, on success of load-ledger" in " ".join(other.split())
    assert "2031" in other
    assert day.service.get("/api/runs?job=close-books")["runs"] == before


def test_a_backfill_is_previewed(day: World) -> None:
    """How many runs, and why other dates get none; the answer to the action is the same."""
    today = date.fromisoformat(day.today)
    start = today - timedelta(days=6)
    text = " ".join(fragment(day, f"/jobs/quick/backfill?from={start}&to={today}").root.text.split())
    assert "3 runs of quick" in text
    assert "4 with a run already" in text
    refused = day.service.ask("GET", f"/jobs/quick/backfill?from={today}&to={start}")
    assert (refused.status, "before it starts" in refused.body["error"]) == (400, True)


def test_no_value_of_a_jobs_environment_is_shown(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Names only; what the configuration takes from the environment stays as typed (FC-082)."""
    text = "jobs: {a: {command: 'true', schedule: manual, env: {TOKEN: 'hunter2-typed', KEY: '${PATH}'}}}\n"
    with world(tmp_path_factory.mktemp("secret"), text, filled=False) as place:
        page = opened(place.service, "/jobs/a")
        assert "TOKEN: ***" in page.text
        assert "hunter2-typed" not in page.source


# --------------------------------------------------------------------------- graph


def test_the_graph_has_every_job_and_edge_once(day: World) -> None:
    """Boxes do not touch, an edge leads to a later column, states are those of the date."""
    found = day.service.get("/graph/drawing")
    nodes = {node["name"]: node for node in found["nodes"]}
    assert set(nodes) == {job["name"] for job in day.service.get("/api/jobs")["jobs"]}
    assert nodes["load-ledger"]["state"] == "failed"
    assert nodes["nightly"]["state"] in ("none", "succeeded")
    edges = {(edge["from"], edge["to"]) for edge in found["edges"]}
    assert {("load-ledger", "close-books"), ("close-books", "send-statements")} <= edges
    assert all(nodes[one]["x"] < nodes[other]["x"] for one, other in edges)
    assert day.service.get("/graph/states")["states"]["hostile"]["run"] == day.runs["hostile"]


def test_focus_shows_what_hangs_together(day: World) -> None:
    """All that is waited for and all that waits, however far; an unknown job is not found."""
    found = day.service.get("/graph/drawing?focus=close-books")
    assert {node["name"] for node in found["nodes"]} == {"load-ledger", "close-books", "send-statements"}
    assert day.service.ask("GET", "/graph/drawing?focus=nobody").status == 404
    page = opened(day.service, "/graph?focus=close-books&run_date=&tag=")
    assert "3 jobs around close-books" in page.text


def test_the_graph_is_a_list_too(day: World) -> None:
    """Who cannot see a drawing reads the same: state, whom it waits for, who waits for it."""
    page = opened(day.service, f"/graph?run_date={day.today}&tag=finance")
    rows = {row.one("a").text: row.text for row in page.all("tr") if "data-row" in row.attributes}
    assert set(rows) == {"load-ledger", "close-books", "send-statements"}
    assert "blocked" in rows["send-statements"]
    assert "load-ledger" in rows["close-books"]


# --------------------------------------------------------------------------- timeline and forecast


def test_the_timeline_has_a_bar_for_each_attempt(day: World) -> None:
    """Each leads to its run and says how it ended; what is due and has not begun is there as well."""
    page = opened(day.service, "/timeline")
    titles = [title.text for title in page.all("title")]
    assert any(title.startswith(f"{day.runs['load-ledger']}: failed") for title in titles)
    assert any(title.startswith(f"{day.runs['long-report']}: running") for title in titles)
    assert any(title.startswith(f"{day.runs['held-export']}: held, due") for title in titles)
    assert f"/runs/{day.runs['quick']}" in {link["href"] for link in page.all("a")}


@pytest.mark.parametrize(
    "query",
    [
        "zoom=hour",
        "zoom=week",
        "zoom=day&date=2026-03-29",
        "zoom=hour&at=2026-10-25T00:30:00Z",
        "q=quick&empty=1",
        "q=nothing-is-called-that",
        "date=&q=&zoom=day",
    ],
)
def test_any_stretch_can_be_shown(day: World, query: str) -> None:
    """An hour, a week, a day of 23 hours, an hour that comes twice."""
    page = opened(day.service, f"/timeline?{query}")
    assert "Timeline" in page.text


def test_a_short_day_is_said_to_be_one(day: World) -> None:
    """Berlin, 29 March 2026: 23 hours, and no 02:00."""
    page = opened(day.service, "/timeline?date=2026-03-29&empty=1")
    assert "Clocks go forward 1 h at 2026-03-29 03:00:00+02:00: this day has 23 hours." in page.text


@pytest.mark.parametrize("query", ["date=1960-01-01", "zoom=year", "date=3000-01-01", "page=0"])
def test_a_stretch_that_cannot_be_is_refused(day: World, query: str) -> None:
    """As a page, with 400."""
    opened(day.service, f"/timeline?{query}", 400)


def test_the_forecast_names_what_comes(day: World) -> None:
    """Each firing of the window with its offset, and the same rows as CSV."""
    page = opened(day.service, "/forecast?days=7&q=nightly")
    rows = [row for row in page.all("tr") if "data-row" in row.attributes]
    assert len(rows) in (6, 7)
    assert all("02:30:00" in row.text for row in rows)
    csv = next(link["href"] for link in page.all("a") if "format=csv" in link.attributes.get("href", ""))
    assert day.service.ask("GET", csv).status == 200
    opened(day.service, "/forecast?days=32", 400)


# --------------------------------------------------------------------------- logbook


def lines(page: Page) -> list[str]:
    return [" ".join(row.text.split()) for row in page.all("tr") if "data-line" in row.attributes]


def test_the_logbook_is_searched_in_all_it_says(day: World) -> None:
    """A reason that somebody gave; nothing else matches."""
    found = lines(opened(day.service, "/logbook?q=OTHER+side"))
    assert len(found) == 1
    assert "held-export" in found[0]
    assert "the other side is not ready" in found[0]


def test_the_logbook_is_filtered_and_paged(day: World) -> None:
    """By what and which; older lines behind a cursor, none twice and none lost."""
    held = lines(opened(day.service, "/logbook?action=hold&job=held-export&actor=&since=&until="))
    assert len(held) == 1
    seen: list[str] = []
    path = "/logbook?"
    while path:
        page = opened(day.service, path)
        seen += [row["data-line"] for row in page.all("tr") if "data-line" in row.attributes]
        path = next((link["href"] for link in page.all("a", rel="next")), "")
    assert len(seen) == len(set(seen))
    assert len(seen) >= len(day.service.get("/api/events?limit=1000")["events"])
    opened(day.service, "/logbook?cursor=rotten", 400)


# --------------------------------------------------------------------------- alerts and admin


def test_the_alerts_page_is_there_without_alerts(day: World) -> None:
    """It says that nobody is told."""
    assert "no notifier is configured" in opened(day.service, "/alerts").text


def test_admin_shows_versions_and_what_changed(day: World) -> None:
    """A reload makes a version; its page has the lines that went and came, escaped."""
    service = day.service
    text = service.file.read_text()
    service.write(text.replace("max_running: 6", "max_running: 7") + "  # <b>new</b>\n")
    assert service.post("/api/reload", reason="more room")["changed"]
    version = service.get("/api/scheduler")["config"]["version"]
    opened(service, "/admin").one("a", href=f"/admin/configs/{version}")
    page = opened(service, f"/admin/configs/{version}")
    rows = [*page.all("tr", class_="in"), *page.all("tr", class_="out")]
    changed = {(row["class"], row.one("td", class_="text").text.strip()) for row in rows}
    assert changed == {("out", "max_running: 6"), ("in", "max_running: 7"), ("in", "# <b>new</b>")}
    opened(service, "/admin/configs/999", 404)


def test_a_failed_reload_is_told_with_file_and_line(day: World) -> None:
    """Until one succeeds: where, what, how to mend."""
    service = day.service
    good = service.file.read_text()
    service.write(good + "\nnonsense: 1\n")
    assert service.ask("POST", "/api/reload", body={}).status == 400
    page = opened(service, "/admin")
    assert "The last reload failed" in page.text
    assert "nonsense" in page.one("ul", class_="problems").text
    service.write(good)
    service.post("/api/reload")
    assert "The last reload failed" not in opened(service, "/admin").text


def test_nothing_that_was_typed_becomes_markup(day: World) -> None:
    """Descriptions, tags, reasons, names in addresses: shown as what they are on every page (FC-068)."""
    day.service.post("/api/jobs/hostile/pause", reason="<script>alert(2)</script>")
    try:
        plain = ("/jobs", "/jobs/hostile", "/graph", "/timeline", "/logbook", "/admin")
        for path in (*plain, "/jobs?q=%3Cscript%3E", "/logbook?q=%22%3E%3Cscript%3E"):
            page = opened(day.service, path)
            assert "<script>alert" not in page.source, path
            assert "<img src=x" not in page.source, path
        assert "<img src=x onerror=alert(1)>" in opened(day.service, "/jobs/hostile").text
    finally:
        day.service.post("/api/jobs/hostile/resume")
