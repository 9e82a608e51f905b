"""A whole service that tells people: over HTTP, through a crash, a full disk, a reload. Spec: jobs.md 15; DESIGN 1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ports import kept_port
from tests.receivers import Hook, hook
from tests.serving import DRIVER, SLOW_TO_REOPEN, can_mount, on_tmpfs, served

TEXT = """
scheduler:
  state_dir: state
  log_dir: logs
  name: night
notifiers:
  ops: {{type: webhook, url: "{url}/${{KEY}}", timeout: 50s, retries: {{count: 0}}}}
routes:
  - {{match: "alert.#", notify: [ops]}}
jobs:
  bad: {{command: "exit 3", schedule: manual}}
  slow: {{command: "sleep 60", schedule: manual, max_runtime: 1s}}
"""
ENV = {"KEY": "s3cret-key-1234"}
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def receiver() -> Iterator[Hook]:
    with hook() as server:
        yield server


def told(server: Hook) -> list[str]:
    """Return the ids of the alerts that came in, in order."""
    return [got.json["alert_id"] for got in server.got if got.method == "POST"]


def test_a_failure_comes_in_and_every_page_says_so(tmp_path: Path, receiver: Hook) -> None:
    """Webhook, API of the run, list, and a test message; the key in the address is shown nowhere."""
    with served(tmp_path, TEXT.format(url=receiver.url), env=ENV) as service:
        service.start()
        run_id = service.trigger("bad")
        service.until(lambda: receiver.got, "the webhook is called")
        got = receiver.got[0]
        assert got.path == "/s3cret-key-1234"
        assert (got.json["kind"], got.json["scheduler"], got.json["detail"]["reason"]) == ("failed", "night", "exit 3")
        alert_id = f"{run_id}:failed:1"
        sent = lambda: service.get("/api/alerts")["alerts"][0]["deliveries"][0]["status"] == "sent"  # noqa: E731
        service.until(sent, "it is written down as sent")
        (alert,) = service.get(f"/api/runs/{run_id}")["alerts"]
        assert (alert["alert_id"], alert["scheduler"], alert["criticality"]) == (alert_id, "night", "normal")
        assert service.get("/api/alerts?kind=lost")["alerts"] == []
        assert service.ask("POST", f"/api/alerts/{alert_id}/replay", {}).status == 409
        assert service.post("/api/alerts/test/ops") == {"notifier": "ops", "sent": True, "error": None}
        assert service.ask("POST", "/api/alerts/test/nobody", {}).status == 404
        receiver.status = 500
        service.trigger("bad")
        (dead,) = service.until(lambda: service.get("/api/alerts/dead")["deliveries"], "a delivery is dead")
        assert dead["last_error"] == "127.0.0.1 answered 500"
        receiver.status = 200
        again = service.post(f"/api/alerts/{dead['alert']['alert_id']}/replay", notifier="ops")
        assert [each["status"] for each in again["deliveries"]] == ["pending"]
        service.until(lambda: not service.get("/api/alerts/dead")["deliveries"], "the replay is sent")
        assert service.stop() == 0
        assert "s3cret" not in service.said()


def test_an_attempt_that_runs_too_long_is_told_while_it_runs(tmp_path: Path, receiver: Hook) -> None:
    with served(tmp_path, TEXT.format(url=receiver.url), env=ENV) as service:
        service.start()
        run_id = service.trigger("slow")
        service.until(lambda: receiver.got, "it is told")
        assert told(receiver) == [f"{run_id}:too_long:1"]
        assert service.state_of(run_id) == "running"


def test_a_refused_reload_is_told(tmp_path: Path, receiver: Hook) -> None:
    text = TEXT.format(url=receiver.url)
    with served(tmp_path, text, env=ENV) as service:
        service.start()
        service.write(text + "  broken: {commandd: x}\n")
        assert service.ask("POST", "/api/reload", {}).status == 400
        service.until(lambda: receiver.got, "it is told")
        assert receiver.got[0].json["kind"] == "reload_failed"
        assert any("commandd" in problem for problem in receiver.got[0].json["detail"]["problems"])


def at(port: int) -> str:
    """Return a configuration whose receiver is somebody at this port, who may come late."""
    return TEXT.format(url=f"http://127.0.0.1:{port}").replace("count: 0", "count: 5")


def test_killed_between_the_commit_and_the_send_it_is_sent_after_the_restart(tmp_path: Path) -> None:
    """P3: what was written down comes, whoever is killed. The receiver is not there before the scheduler is gone."""
    with kept_port() as port, served(tmp_path, at(port), env=ENV) as service:
        service.start()
        run_id = service.trigger("bad")
        service.until_state(run_id, "failed")
        assert service.get("/api/alerts")["alerts"][0]["deliveries"][0]["status"] == "pending"
        service.kill()
        with hook(port) as server:
            service.start()
            service.until(lambda: server.got, "it is sent")
            assert told(server) == [f"{run_id}:failed:1"]
            sent = lambda: service.get("/api/alerts")["alerts"][0]["deliveries"][0]["status"] == "sent"  # noqa: E731
            service.until(sent, "and written down")
            service.kill()
            service.start()
            service.trigger("bad")
            service.until(lambda: len(server.got) == 2, "the next one is sent")
            assert len(set(told(server))) == 2, "what was sent is not sent again"


@pytest.mark.skipif(not can_mount(), reason="this machine gives a test no mounts of its own")
def test_fc_052_a_full_disk_is_told_by_a_path_that_needs_none(tmp_path: Path, receiver: Hook) -> None:
    """Once when the store cannot write, and once when it works again by itself."""
    disk = on_tmpfs(tmp_path / "state", "size=5m,mode=700")
    text, driver = TEXT.format(url=receiver.url), SLOW_TO_REOPEN + DRIVER
    with served(tmp_path, text, env=ENV, wrapper=disk, driver=driver) as service:
        service.start()
        ballast = service.inside(service.state / "ballast")
        with ballast.open("wb", buffering=0) as file:
            for size in (65536, 512, 1):
                try:
                    while file.write(b"x" * size):
                        pass
                except OSError:
                    continue
        service.until(lambda: service.ask("POST", "/api/jobs/bad/trigger", {}).status == 503, "it fails stop")
        service.until(lambda: any("scheduler_failed" in each for each in told(receiver)), "it is told")
        alert = next(each.json for each in receiver.got if "scheduler_failed" in each.json["alert_id"])
        assert (alert["job"], alert["criticality"]) == (None, "critical")
        ballast.unlink()
        service.until(lambda: any(":recovered:" in each for each in told(receiver)), "its end is told")
        troubles = [each for each in told(receiver) if each.startswith("_scheduler:")]
        assert [each.split(":")[1] for each in troubles] == ["scheduler_failed", "recovered"]

        def stored() -> list[tuple[str, str]]:
            found = service.get("/api/alerts")["alerts"]
            ours = [each for each in found if each["alert_id"].startswith("_scheduler:") and each["deliveries"]]
            return [(each["kind"], each["deliveries"][0]["status"]) for each in ours]

        both = [("recovered", "sent"), ("scheduler_failed", "sent")]
        service.until(lambda: stored() == both, "both are stored, as sent")


def test_the_heartbeat_is_heard_while_all_is_well(tmp_path: Path, receiver: Hook) -> None:
    text = TEXT.format(url=receiver.url).replace("  name: night", f"  heartbeat_url: {receiver.url}/ping")
    with served(tmp_path, text, env=ENV) as service:
        service.start()
        service.until(lambda: receiver.got, "the ping comes")
        assert (receiver.got[0].method, receiver.got[0].path) == ("GET", "/ping")


def test_a_receiver_that_never_answers_does_not_hold_up_a_stop(tmp_path: Path, receiver: Hook) -> None:
    receiver.held.clear()
    with served(tmp_path, TEXT.format(url=receiver.url).replace("50s", "1h"), env=ENV) as service:
        service.start()
        service.trigger("bad")
        service.until(lambda: receiver.got, "it hangs")
        assert service.stop() == 0
