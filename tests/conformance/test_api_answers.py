"""Every route answers in the form it promises, and refuses in the one form of refusals. Spec: jobs.md 13.3 to 13.5."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from pydantic import BaseModel

from pyscheduler.api import shapes
from tests.serving import Served

MISSING = "quick.2020-01-01.1"


def shaped(service: Served, path: str, shape: type[BaseModel]) -> Any:
    """Return the body of a GET, held to its shape: no field more, none less."""
    body = service.get(path)
    shape.model_validate(body)
    return body


@pytest.fixture(scope="module")
def done(service: Served) -> dict[str, str]:
    """Runs of several kinds that have come to rest, by job."""
    runs = {job: service.trigger(job) for job in ("quick", "talks", "merged", "fails", "flaky")}
    for job, state in {"quick": "succeeded", "talks": "succeeded", "merged": "succeeded", "fails": "failed"}.items():
        service.until_state(runs[job], state)
    service.until_state(runs["flaky"], "retry_wait")
    return runs


# --------------------------------------------------------------------------- GET


def test_health(service: Served) -> None:
    """One word, and today in the scheduler's zone."""
    body = shaped(service, "/api/health", shapes.Health)
    assert (body["status"], body["timezone"]) == ("ok", "Europe/Berlin")


def test_jobs(service: Served) -> None:
    """All jobs by name; by tag, by text, by page; as CSV."""
    names = [job["name"] for job in shaped(service, "/api/jobs", shapes.Jobs)["jobs"]]
    assert names == sorted(names)
    assert len(names) == 12
    assert [job["name"] for job in service.get("/api/jobs?tag=fast")["jobs"]] == ["quick"]
    assert [job["name"] for job in service.get("/api/jobs?q=SAYS")["jobs"]] == ["quick"]
    first = shaped(service, "/api/jobs?limit=7", shapes.Jobs)
    rest = shaped(service, f"/api/jobs?limit=7&cursor={first['next_cursor']}", shapes.Jobs)
    assert [job["name"] for page in (first, rest) for job in page["jobs"]] == names
    assert rest["next_cursor"] is None
    rows = list(csv.DictReader(io.StringIO(service.get("/api/jobs?format=csv"))))
    assert [row["name"] for row in rows] == names
    assert rows[names.index("quick")]["tags"] == '["fast","nightly"]'


def test_a_job(service: Served, done: dict[str, str]) -> None:
    """All keys with their defaults, next firings, recent runs; what is in `env` shows its names only."""
    body = shaped(service, "/api/jobs/talks", shapes.JobDetail)
    assert body["definition"]["env"] == {"TOKEN": "***", "PLAIN": "***"}
    assert body["definition"]["kill_grace_seconds"] == 10
    assert body["definition"]["source"] == {"file": str(service.file), "line": 11}
    assert body["schedules"] == ["manual"]
    assert [run["run_id"] for run in body["recent_runs"]] == [done["talks"]]
    nightly = shaped(service, "/api/jobs/nightly", shapes.JobDetail)
    assert len(nightly["next_firings"]) == 5
    assert nightly["next_firings"][0] == nightly["next_firing"]
    assert service.get("/api/jobs/off")["next_firings"] == []


def test_runs(service: Served, done: dict[str, str]) -> None:
    """Newest first, with the latest attempt's times; every filter; pages that together are the whole list."""
    whole = shaped(service, "/api/runs?limit=1000", shapes.Runs)["runs"]
    order = [(run["scheduled_at"], run["run_id"]) for run in whole]
    assert order == sorted(order, key=lambda pair: pair[0], reverse=True)
    found = next(run for run in whole if run["run_id"] == done["quick"])
    assert found["duration_seconds"] >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", found["started_at"])
    ids = [run["run_id"] for run in whole]
    page = shaped(service, "/api/runs?limit=2", shapes.Runs)
    paged = [run["run_id"] for run in page["runs"]]
    while page["next_cursor"] is not None:
        page = shaped(service, f"/api/runs?limit=2&cursor={page['next_cursor']}", shapes.Runs)
        paged += [run["run_id"] for run in page["runs"]]
    assert paged == ids
    assert [run["run_id"] for run in service.get("/api/runs?order=oldest&limit=1000")["runs"]] == ids[::-1]


@pytest.mark.parametrize(
    ("query", "jobs"),
    [
        ("job=fails", {"fails"}),
        ("state=failed&state=retry_wait", {"fails", "flaky"}),
        ("tag=fast", {"quick"}),
        ("q=fai", {"fails"}),
        ("trigger=schedule", set()),
        ("since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00%2B02:00", set()),
    ],
)
def test_runs_by(service: Served, done: dict[str, str], query: str, jobs: set[str]) -> None:
    """What is asked for is what is there."""
    assert done
    assert {run["job"] for run in shaped(service, f"/api/runs?{query}", shapes.Runs)["runs"]} == jobs


def test_runs_as_csv(service: Served, done: dict[str, str]) -> None:
    """The same rows, one line each; the next page's cursor is a header."""
    answer = service.ask("GET", "/api/runs?format=csv&limit=2")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.body)))
    assert len(rows) == 2
    assert rows[0]["run_id"] == service.get("/api/runs?limit=1")["runs"][0]["run_id"]
    assert answer.headers["x-next-cursor"] == service.get("/api/runs?limit=2")["next_cursor"]
    assert done


def test_a_run(service: Served, done: dict[str, str]) -> None:
    """The run, its attempts, its logbook from the first line on."""
    body = shaped(service, f"/api/runs/{done['fails']}", shapes.RunDetail)
    assert (body["run"]["state"], body["run"]["reason"]) == ("failed", "exit 3")
    assert [(row["outcome"], row["exit_code"]) for row in body["attempts"]] == [("failed", 3)]
    actions = [event["action"] for event in body["events"]]
    assert actions[:2] == ["trigger", "created"]
    assert {"trigger", "attempt_started", "attempt_ended", "finished"} <= set(actions)


def test_attempts(service: Served, done: dict[str, str]) -> None:
    """The attempts of the runs that match, as JSON and as CSV."""
    body = shaped(service, "/api/attempts?job=fails", shapes.Attempts)
    assert [row["run_id"] for row in body["attempts"]] == [done["fails"]]
    rows = list(csv.DictReader(io.StringIO(service.get("/api/attempts?job=fails&format=csv"))))
    assert [row["exit_code"] for row in rows] == ["3"]


def test_events(service: Served, done: dict[str, str]) -> None:
    """The logbook by run, job, actor, action, time, in pages."""
    body = shaped(service, f"/api/events?run={done['fails']}&order=oldest", shapes.Events)
    assert body["events"][0]["action"] == "trigger"
    actors = {event["actor"] for event in service.get("/api/events?action=trigger")["events"]}
    assert len(actors) == 1
    assert actors != {"scheduler"}
    page = shaped(service, "/api/events?limit=1", shapes.Events)
    assert len(page["events"]) == 1
    assert page["next_cursor"]
    assert service.get("/api/events?until=2020-01-01T00:00:00Z")["events"] == []


def test_forecast(service: Served) -> None:
    """Firings in (from, to], local schedules in UTC; 31 days at most."""
    path = "/api/forecast?from=2027-03-27T12:00:00Z&to=2027-03-29T12:00:00%2B02:00&job=nightly"
    entries = shaped(service, path, shapes.Forecast)["entries"]
    assert [entry["expected_start"] for entry in entries] == ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]
    rows = list(csv.DictReader(io.StringIO(service.get(path + "&format=csv"))))
    assert [row["job"] for row in rows] == ["nightly", "nightly"]
    shaped(service, "/api/forecast", shapes.Forecast)


def test_next_says_the_clock_changes_rule(service: Served) -> None:
    """DESIGN 8 row 4: the firing in the gap runs at its end, and the list says so, local and UTC."""
    body = shaped(service, "/api/next?job=nightly&count=3&after=2027-03-26T12:00:00Z", shapes.Firings)
    firings = body["firings"]
    assert [firing["local"] for firing in firings] == [
        "2027-03-27 02:30:00+01:00",
        "2027-03-28 03:00:00+02:00",
        "2027-03-29 02:30:00+02:00",
    ]
    assert firings[1]["rule"]
    assert firings[0]["rule"] == firings[2]["rule"] == ""
    assert firings[1]["run_date"] == "2027-03-28"


def test_the_next_firing_of_all_jobs_is_one_answer(service: Served) -> None:
    """By name, paged, each as it is told alone; in CSV one line a job."""
    whole = shaped(service, "/api/next?after=2027-03-26T12:00:00Z&limit=1000", shapes.NextOfAll)
    names = [job["name"] for job in service.get("/api/jobs")["jobs"]]
    assert [job["job"] for job in whole["jobs"]] == sorted(names)
    assert whole["next_cursor"] is None
    alone = service.get("/api/next?job=nightly&count=1&after=2027-03-26T12:00:00Z")["firings"]
    assert next(job["firings"] for job in whole["jobs"] if job["job"] == "nightly") == alone
    assert next(job["firings"] for job in whole["jobs"] if job["job"] == "quick") == []
    paged: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = shaped(service, f"/api/next?limit=3&after=2027-03-26T12:00:00Z&cursor={cursor}", shapes.NextOfAll)
        assert len(page["jobs"]) <= 3
        paged += [job["job"] for job in page["jobs"]]
        cursor = page["next_cursor"]
    assert paged == sorted(names)
    rows = list(csv.DictReader(io.StringIO(service.get("/api/next?format=csv&after=2027-03-26T12:00:00Z"))))
    assert [row["job"] for row in rows] == sorted(names)
    assert {row["scheduled_at"] for row in rows if row["job"] == "nightly"} == {"2027-03-27T01:30:00Z"}


def test_why(service: Served, done: dict[str, str]) -> None:
    """By run, by job, by job and date; times in the scheduler's zone."""
    assert shaped(service, f"/api/why?run={done['flaky']}", shapes.Why)["why"]["culprit"] == "retry"
    assert shaped(service, "/api/why?job=downstream", shapes.Why)["why"]["because"]["job"] == "upstream"
    body = shaped(service, "/api/why?job=yearly&run_date=2028-01-01", shapes.Why)
    assert "it fires at 2028-01-01 06:00:00+01:00" in body["why"]["text"]
    assert body["next_firing"].endswith("Z")


def test_scheduler(service: Served) -> None:
    """Version, zone data, configuration, pools with their holders, engine, surroundings."""
    body = shaped(service, "/api/scheduler", shapes.Scheduler)
    assert body["name"] == "house"
    assert body["engine"]["phase"] == "running"
    assert body["config"]["jobs"] == 12
    assert [pool["name"] for pool in body["pools"]] == ["db"]
    assert body["state_dir"] == str(service.state)


def test_catch_up(service: Served) -> None:
    """Nothing is held after an ordinary start; settling nothing is a conflict."""
    assert shaped(service, "/api/catch-up", shapes.CatchUp)["held"] is False
    answer = service.ask("POST", "/api/catch-up", {"decision": "accept"})
    assert (answer.status, answer.body["error"]) == (409, "no catch-up is held")


def test_configuration(service: Served) -> None:
    """Validate and diff read the disk and change nothing."""
    assert shaped(service, "/api/config/validate", shapes.Validation)["ok"] is True
    before = service.file.read_text()
    try:
        service.write(before.replace("30 2 * * *", "0 4 * * *") + '  extra: {command: "true", schedule: manual}\n')
        body = shaped(service, "/api/diff?days=2", shapes.Diff)
        assert (body["same"], body["added"], body["changed"]) == (False, ["extra"], {"nightly": ["schedules"]})
        assert {change["job"] for change in body["firings"]} == {"nightly"}
        assert "moved" in {change["kind"] for change in body["firings"]}  # at the window's ends: added or lost
        service.write("jobs: [")
        faulty = service.ask("GET", "/api/config/validate")
        assert faulty.status == 400
        shapes.BadRequestRefusal.model_validate(faulty.body)
        assert faulty.body["problems"][0]["file"] == str(service.file)
    finally:
        service.write(before)
    assert service.get("/api/scheduler")["config"]["version"] == 1


def test_the_description_names_every_route(service: Served) -> None:
    """OpenAPI: paths, parameters, and the shape of every answer."""
    found = service.get("/api/openapi.json")
    assert "/api/runs/{run_id}/force-start" in found["paths"]
    route = found["paths"]["/api/runs"]["get"]
    assert {each["name"] for each in route["parameters"]} >= {"job", "state", "cursor", "limit", "format"}
    schema = route["responses"]["200"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/Runs"}
    assert "409" in found["paths"]["/api/jobs/{name}/trigger"]["post"]["responses"]


# --------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/api/jobs/nobody", 404, "there is no job nobody"),
        (f"/api/runs/{MISSING}", 404, f"there is no run {MISSING}"),
        ("/api/runs/not-a-run", 404, "there is no run not-a-run"),
        (f"/api/runs/{MISSING}/log", 404, f"there is no run {MISSING}"),
        ("/api/nothing", 404, "Not Found"),
        ("/nothing", 404, "Not Found"),
        ("/api/runs?limit=0", 400, 'limit: input should be greater than or equal to 1 (got "0")'),
        ("/api/runs?limit=1001", 400, 'limit: input should be less than or equal to 1000 (got "1001")'),
        ("/api/runs?limit=ten", 400, "limit: input should be a valid integer"),
        ("/api/runs?jobs=x", 400, "there is no parameter jobs"),
        ("/api/runs?run_date=2027-13-01", 400, "run_date: '2027-13-01' is no date; write it like 2027-05-20"),
        ("/api/runs?run_date=20270501", 400, "run_date: '20270501' is no date"),
        ("/api/runs?state=done", 400, "state.0: input should be 'scheduled'"),
        ("/api/runs?cursor=nonsense", 400, "'nonsense' is no cursor of this list"),
        ("/api/runs?tag=nowhere", 400, "no job has the tag nowhere"),
        ("/api/runs?job=a%2Fb", 400, "job: 'a/b' can be no job"),
        ("/api/events?since=2027-05-20T04:05:00", 400, "is no instant with a zone"),
        ("/api/forecast?from=2027-01-01T00:00:00Z&to=2027-03-01T00:00:00Z", 400, "spans more than 31 days"),
        ("/api/forecast?from=2027-01-02T00:00:00Z&to=2027-01-01T00:00:00Z", 400, "ends before it begins"),
        ("/api/forecast?job=nobody", 404, "there is no job nobody"),
        ("/api/next?count=3", 400, "count goes with job="),
        ("/api/next?limit=1001", 400, "limit: "),
        ("/api/next?job=nightly&limit=3", 400, "limit and cursor page through all jobs"),
        ("/api/next?job=nobody", 404, "there is no job nobody"),
        ("/api/next?job=nightly&count=101", 400, "count: "),
        ("/api/why", 400, "give either job="),
        ("/api/why?job=quick&run=quick.2027-01-01.1", 400, "give either job="),
        ("/api/why?run=quick.2027-01-01.1&run_date=2027-01-01", 400, "run_date goes with job="),
        ("/api/why?job=nobody", 404, "there is no job nobody"),
        ("/api/diff?days=400", 400, "days: "),
    ],
)
def test_what_cannot_be_asked(service: Served, path: str, status: int, said: str) -> None:
    """Unknown names are 404, nonsense is 400, and both say what and mostly how to mend it."""
    answer = service.ask("GET", path)
    assert answer.status == status, answer
    assert said in answer.body["error"]
    assert set(answer.body) <= {"error", "mend", "where", "message"}


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [("DELETE", "/api/jobs/quick", "GET"), ("GET", "/api/jobs/quick/trigger", "POST"), ("POST", "/api/runs", "GET")],
)
def test_a_wrong_method_names_the_right_one(service: Served, method: str, path: str, allow: str) -> None:
    """405 with Allow, in the one form of refusals."""
    answer = service.ask(method, path)
    assert (answer.status, answer.headers["allow"]) == (405, allow)
    assert answer.body == {"error": "Method Not Allowed", "message": None}


def test_a_forecast_of_too_many_firings_is_refused(service: Served) -> None:
    """P6: an answer has a bound; the refusal says how to stay within it."""
    text = service.file.read_text()
    every_second = '{cron: "* * * * * *", start: 2090-01-01}'
    try:
        service.write(f'{text}  ticks: {{command: "true", schedule: {every_second}}}\n')
        service.post("/api/reload")
        answer = service.ask("GET", "/api/forecast?from=2090-01-01T00:00:00Z&to=2090-01-20T00:00:00Z")
        assert (answer.status, answer.body["error"]) == (400, "more than 100,000 firings lie in the window")
    finally:
        service.write(text)
        service.post("/api/reload")
