"""Every action: what it does, who is named for it, when it is refused. Spec: jobs.md 11 and 13.4."""

from __future__ import annotations

import getpass
from typing import Any

import pytest

from pyscheduler.api import shapes
from tests.serving import Answer, Served

MISSING = "quick.2020-01-01.1"
DEEDS = ("hold", "release", "kill", "force-start", "skip", "cancel", "mark-success", "mark-failed", "rerun")


def act(service: Served, run_id: str, deed: str, **body: object) -> Answer:
    """Send one action."""
    return service.ask("POST", f"/api/runs/{run_id}/{deed}", body)


def after(service: Served, run_id: str, deed: str, **body: object) -> Any:
    """Return the run after an action that must succeed."""
    answer = act(service, run_id, deed, **body)
    assert answer.status == 200, answer
    shapes.OneRun.model_validate(answer.body)
    return answer.body["run"]


def line(service: Served, run_id: str, action: str) -> dict[str, Any]:
    """Return the one logbook line of an action on a run."""
    (found,) = service.get(f"/api/events?run={run_id}&action={action}")["events"]
    return dict(found)


@pytest.fixture
def waiting(service: Served) -> str:
    """A run that waits behind another of its job, which is ended with the test's end."""
    if not service.get("/api/runs?job=patient&state=running")["runs"]:
        service.until_state(service.trigger("patient"), "running")
    return service.trigger("patient")


# --------------------------------------------------------------------------- jobs


def test_trigger(service: Served) -> None:
    """A run that is due now, for any date; the caller's user and reason stand in the logbook."""
    answer = service.ask("POST", "/api/jobs/quick/trigger", {"run_date": "2031-02-03", "reason": "audit"})
    shapes.Triggered.model_validate(answer.body)
    run = answer.body["run"]
    assert (run["run_id"], run["trigger"]) == ("quick.2031-02-03.1", "manual")
    assert answer.body["remark"].startswith("2031-02-03 is ")
    told = line(service, run["run_id"], "trigger")
    assert (told["actor"], told["detail"]["reason"]) == (getpass.getuser(), "audit")
    service.until_state(run["run_id"], "succeeded")


def test_an_empty_body_will_do(service: Served) -> None:
    """What has no parameters needs no body, as long as it says that it is JSON."""
    answer = service.ask("POST", "/api/jobs/quick/trigger")
    assert answer.status == 200
    service.until_state(answer.body["run"]["run_id"], "succeeded")


def test_backfill(service: Served) -> None:
    """One run a date that has none; a second time there is nothing left to do."""
    body = service.post("/api/jobs/nightly/backfill", **{"from": "2026-05-04", "to": "2026-05-06"})
    shapes.Runs.model_validate(body)
    assert [run["run_date"] for run in body["runs"]] == ["2026-05-04", "2026-05-05", "2026-05-06"]
    again = service.post("/api/jobs/nightly/backfill", **{"from": "2026-05-04", "to": "2026-05-06"})
    assert again["runs"] == []


def test_pause_and_resume_a_job(service: Served) -> None:
    """Who paused it, since when, why; twice is a conflict; resumed it is as before."""
    body = service.post("/api/jobs/yearly/pause", reason="no money")
    shapes.OneJob.model_validate(body)
    assert (body["job"]["paused"]["job"], body["job"]["paused"]["reason"]) == ("yearly", "no money")
    again = service.ask("POST", "/api/jobs/yearly/pause", {})
    assert again.status == 409
    assert "is already paused" in again.body["error"]
    assert service.post("/api/jobs/yearly/resume", catch_up=True)["job"]["paused"] is None
    assert service.ask("POST", "/api/jobs/yearly/resume", {}).status == 409


def test_pause_and_resume_everything(service: Served) -> None:
    """The scheduler as a whole: queued runs stay where they are until it goes on."""
    body = service.post("/api/scheduler/pause", reason="upgrade")
    shapes.Paused.model_validate(body)
    assert [pause["job"] for pause in body["pauses"]] == [None]
    run_id = service.trigger("quick")
    assert service.state_of(run_id) == "queued"
    assert service.get("/api/jobs/quick")["paused"]["job"] is None
    assert service.post("/api/scheduler/resume")["pauses"] == []
    service.until_state(run_id, "succeeded")


# --------------------------------------------------------------------------- runs


def test_hold_and_release(service: Served, waiting: str) -> None:
    """Held by whom; released it is decided anew."""
    held = after(service, waiting, "hold", reason="wait")
    assert (held["state"], held["held_from"]) == ("held", "waiting")
    assert line(service, waiting, "hold")["detail"] == {"before": "waiting", "after": "held", "reason": "wait"}
    assert after(service, waiting, "release")["state"] == "waiting"


def test_force_start(service: Served, waiting: str) -> None:
    """Past overlap; what it started can be killed, and not rerun before it has ended."""
    assert after(service, waiting, "force-start")["state"] in ("queued", "running")
    service.until_state(waiting, "running")
    refused = act(service, waiting, "rerun")
    assert (refused.status, refused.body["mend"]) == (
        409,
        f"let it end, or pysched kill {waiting} ends it; then it can be rerun",
    )
    assert after(service, waiting, "kill", reason="stuck")["state"] == "running"
    ended = service.until_state(waiting, "failed")
    assert ended["reason"] == f"killed by {getpass.getuser()}"
    assert act(service, waiting, "kill").status == 409


def test_skip_cancel_and_marks(service: Served, waiting: str) -> None:
    """Each brings an open run to its end, and a mark may change an end."""
    assert after(service, waiting, "skip")["state"] == "skipped"
    assert after(service, waiting, "mark-failed")["state"] == "failed"
    assert after(service, waiting, "mark-success")["state"] == "succeeded"
    other = service.trigger("patient")
    assert after(service, other, "cancel", reason="not today")["state"] == "cancelled"


def test_rerun_with_what_depends_on_it(service: Served) -> None:
    """An ended run is opened again, with `downstream` what depends on it too, the asked-for run first."""
    upstream = service.trigger("upstream", run_date="2031-05-05")
    downstream = "downstream.2031-05-05.1"
    service.until_state(downstream, "succeeded")
    body = service.post(f"/api/runs/{upstream}/rerun", downstream=True)
    shapes.Runs.model_validate(body)
    assert [run["run_id"] for run in body["runs"]] == [upstream, downstream]
    service.until(lambda: service.run(downstream)["attempt"] == 2)
    assert service.until_state(downstream, "succeeded")["reruns"] == 1


def test_pool_holders_are_named(service: Served) -> None:
    """The scheduler's page says who holds what."""
    first, second = service.trigger("pooled"), service.trigger("pooled")
    service.until_state(first, "running")
    (pool,) = service.get("/api/scheduler")["pools"]
    assert (pool["size"], pool["in_use"]) == (1, 1)
    assert pool["holders"] == [{"run_id": first, "slots": 1}]
    assert service.get(f"/api/why?run={second}")["why"]["culprit"] == "pool"
    (service.home / "go-pooled").touch()
    service.until_state(second, "succeeded")


# --------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("deed", DEEDS)
def test_a_run_that_is_not_there(service: Served, deed: str) -> None:
    """404 for each action, with the way to those that are."""
    answer = act(service, MISSING, deed)
    assert (answer.status, answer.body["error"]) == (404, f"there is no run {MISSING}")
    assert answer.body["mend"] == "`pysched runs` lists them"
    assert act(service, "not-a-run", deed).status == 404


@pytest.mark.parametrize("deed", [deed for deed in DEEDS if not deed.startswith(("mark", "rerun"))])
def test_an_ended_run_is_in_the_wrong_state(service: Served, deed: str) -> None:
    """409 names the state and what does apply."""
    run_id = "quick.2031-03-03.1"
    if service.ask("GET", f"/api/runs/{run_id}").status == 404:
        service.trigger("quick", run_date="2031-03-03")
    service.until_state(run_id, "succeeded")
    answer = act(service, run_id, deed)
    assert answer.status == 409
    assert answer.body["error"] == f"{run_id} is succeeded, so {deed} does not apply"
    assert answer.body["mend"]


@pytest.mark.parametrize("path", ["trigger", "pause", "resume", "backfill"])
def test_a_job_that_is_not_there(service: Served, path: str) -> None:
    """404 for each action on jobs."""
    body = {"from": "2027-01-01", "to": "2027-01-02"} if path == "backfill" else {}
    answer = service.ask("POST", f"/api/jobs/nobody/{path}", body)
    assert (answer.status, answer.body["error"]) == (404, "there is no job nobody")


def test_a_disabled_job_is_a_conflict(service: Served) -> None:
    """409 says where it is disabled."""
    answer = service.ask("POST", "/api/jobs/off/trigger", {})
    assert answer.status == 409
    assert answer.body["where"].startswith(f"{service.file}:")


def test_an_unknown_action_is_404(service: Served) -> None:
    """Spec 13.4: unknown actions are not found."""
    assert act(service, MISSING, "explode").status == 404


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("jobs/quick/trigger", {"run_dat": "2027-01-01"}, "there is no field run_dat"),
        ("jobs/quick/trigger", {"run_date": "1.1.2027"}, "run_date: '1.1.2027' is no date; write it like 2027-05-20"),
        ("jobs/quick/trigger", {"run_date": 20270101}, "run_date: "),
        ("jobs/quick/trigger", {"reason": "x" * 1001}, "reason: string should have at most 1000 characters"),
        ("jobs/quick/trigger", {"reason": ["x"]}, "reason: input should be a valid string"),
        ("jobs/quick/trigger", [], "the body must be a JSON object"),
        ("jobs/quick/trigger", "text", "the body must be a JSON object"),
        ("jobs/quick/trigger", b"{", "the body is no JSON"),
        ("jobs/quick/trigger", b"\xff\xfe", "the body"),
        ("jobs/quick/trigger", b"[" * 5000 + b"]" * 5000, "nested"),
        ("jobs/nightly/backfill", {}, "from is missing; to is missing"),
        ("jobs/nightly/backfill", {"from": "2027-01-02", "to": "2027-01-01"}, "before it starts"),
        ("jobs/nightly/backfill", {"from": "2027-01-01", "to": "2029-01-01"}, "a backfill takes 366"),
        ("jobs/nightly/resume", {"catch_up": "yes"}, "catch_up: input should be a valid boolean"),
        ("runs/x.2027-01-01.1/rerun", {"downstream": 1}, "downstream: input should be a valid boolean"),
        ("runs/x.2027-01-01.1/hold", {"downstream": True}, "there is no field downstream"),
        ("catch-up", {"decision": "maybe"}, "decision: input should be 'accept' or 'skip'"),
        ("catch-up", None, "the body is missing"),
    ],
)
def test_a_body_that_makes_no_sense(service: Served, path: str, body: object, said: str) -> None:
    """400 for each, and nothing was done."""
    answer = service.ask("POST", f"/api/{path}", body)
    assert answer.status == 400, answer
    assert said in answer.body["error"]
