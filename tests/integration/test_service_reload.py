"""Reloads of a running service: all or nothing, any number at once, each firing exactly once. Field case FC-078."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.serving import Answer, Served, served

TEXT = """
scheduler: {state_dir: state, log_dir: logs, max_running: 4}
jobs:
  every-second: {command: "true", schedule: "* * * * * *", overlap: allow, catch_up: all}
  patient: {command: "until [ -e go ]; do sleep 0.1; done; echo {job}", schedule: manual}
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, TEXT) as found:
        yield found.start()


def test_a_faulty_text_changes_nothing_and_is_shown(service: Served) -> None:
    """FC-078 5: refused with every problem at its place; the old configuration stays in force, loudly."""
    service.write(TEXT.replace("  patient", "\tpatient").replace("overlap: allow", "overlap: perhaps"))
    answer = service.ask("POST", "/api/reload", {})
    assert answer.status == 400
    assert answer.body["problems"]
    assert answer.body["problems"][0]["line"] >= 4
    shown = service.get("/api/scheduler")["config"]
    assert shown["version"] == 1
    assert shown["reload_failure"]["problems"] == answer.body["problems"]
    assert "refused: the configuration before it stays in force" in service.said()
    service.until_state(service.run("every-second." + next_second(service))["run_id"], "succeeded")
    service.write(TEXT + "  added: {command: 'true', schedule: manual}\n")
    done = service.post("/api/reload", reason="mended")
    assert (done["changed"], done["version"]) == (True, 2)
    assert service.get("/api/scheduler")["config"]["reload_failure"] is None
    (line,) = service.get("/api/events?action=reload")["events"]
    assert (line["detail"]["before"], line["detail"]["after"], line["detail"]["reason"]) == (1, 2, "mended")


def next_second(service: Served) -> str:
    """Return the rest of the id of a run that is still to come; it may be the first one of another day."""

    def newest() -> str:
        page = service.get("/api/runs?job=every-second&limit=1")["runs"]
        return page[0]["run_id"].removeprefix("every-second.") if page else ""

    before = newest()
    return str(service.until(lambda: (now := newest()) != before and now, "one more"))


def test_the_same_text_again_is_no_change(service: Served) -> None:
    """Spec 11: the same digest has no effect and no line."""
    done = service.post("/api/reload")
    assert (done["ok"], done["changed"], done["version"]) == (True, False, 1)
    assert service.get("/api/events?action=reload")["events"] == []


def test_what_is_read_at_start_only_is_said(service: Served) -> None:
    """Spec 11.2: a changed folder or address takes a restart; the store in use stays the one in use."""
    service.write(TEXT.replace("state_dir: state", "state_dir: other, listen: '127.0.0.1:9999'"))
    warnings = service.post("/api/reload")["warnings"]
    assert [each["message"] for each in warnings if "restart" in each["message"]] == [
        "scheduler.state_dir has changed and needs a restart",
        "scheduler.listen has changed and needs a restart",
    ]
    assert service.get("/api/scheduler")["state_dir"] == str(service.state)
    service.until_state("every-second." + next_second(service), "succeeded")


def test_the_running_run_keeps_its_definition(service: Served) -> None:
    """FC-078 2, 3: what runs goes on as it was started, its log stays; what waits is called off with its reason."""
    running = service.trigger("patient")
    service.until_state(running, "running")
    waiting = service.trigger("patient")
    service.write(TEXT[: TEXT.index("  patient")])
    service.post("/api/reload")
    gone = service.run(waiting)
    assert (gone["state"], gone["reason"]) == ("cancelled", "removed by reload")
    (service.home / "go").touch()
    service.until_state(running, "succeeded")
    assert service.get(f"/api/runs/{running}/log")["lines"] == ["patient"]


@pytest.mark.timeout(240)
def test_a_hundred_reloads_while_firings_are_due(service: Served) -> None:
    """FC-078 6: each firing exactly once, however often the configuration changes under it; nobody is turned away."""
    service.until_state("every-second." + next_second(service), "succeeded")
    answers: list[Answer] = []

    def reload(number: int) -> None:
        service.write_as(f"{number}", f"{TEXT}  other-{number}: {{command: 'true', schedule: manual}}\n")
        answers.append(service.ask("POST", "/api/reload", {}))

    threads = [threading.Thread(target=reload, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status for answer in answers} == {200}
    versions = service.get("/api/scheduler")["config"]["version"]
    assert 1 < versions <= 60
    for _ in range(3):
        next_second(service)
    runs = service.get("/api/runs?job=every-second&order=oldest&limit=1000")["runs"]
    instants = [datetime.fromisoformat(run["scheduled_at"]) for run in runs]
    assert instants == [instants[0] + timedelta(seconds=n) for n in range(len(instants))]
    assert len(instants) >= 4
