"""FC-082: what the environment holds stays in the environment, wherever somebody may look: every page, answer and file.

Every link of every page is followed, every reading route of the API's own description is asked, the stream is heard,
the alerts that go out are read, and so is every file and every command line that the service leaves behind. The jobs
stand where each has code of its own: never run, running, not started for a bad folder, retried, skipped.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.pages import BROWSER, Page
from tests.receivers import Hook, hook
from tests.serving import Served, served
from tests.streaming import streamed
from tests.visitors import Visitor, port_of, put, token_of, tokens

TEXT = """
scheduler: {state_dir: state, log_dir: logs, listen: "127.0.0.1:0", api_tokens_file: tokens.yaml}
notifiers:
  ops: {type: webhook, url: "URL/${HOOK_KEY}", timeout: 30s, retries: {count: 0}, headers: {X-Key: "${HOOK_KEY}"}}
routes:
  - {match: "alert.#", notify: [ops]}
defaults: {schedule: manual, env: {DB_PASS: "${DB_PASS}", PIN: "${PIN}", MULTI: "${MULTI}", TYPED: "hunter2-typed"}}
jobs:
  never: {command: 'test -n "$DB_PASS"', description: "signs in with ${DB_PASS}"}
  lives: {command: 'test -n "$DB_PASS" && exec sleep 600'}
  placeless: {command: "true", cwd: "/nowhere/${DB_PASS}/at/all"}
  flaky: {command: 'test "$DB_PASS" = other', retries: {count: 3, delay: 30m}}
  passed: {command: "true"}
  nightly: {command: "true", schedule: "30 2 * * *"}
"""
ENV = {"DB_PASS": "s3cr€t&<x>/+=", "HOOK_KEY": "s3cr-hook-key", "PIN": "1", "MULTI": "s3cr-line1\ns3cr-line2"}
SECRET = "s3cr"
"""What every one of them begins with: no escaping, of HTML, of an address or of JSON, changes it."""
TYPED = "hunter2"
STREAMS = ("/events", "/events/log/{run_id}")


@pytest.fixture(scope="module")
def receiver() -> Iterator[Hook]:
    with hook(status=500) as found:
        yield found


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, receiver: Hook) -> Iterator[Served]:
    """A service with secrets, and a run in each state that matters."""
    home = tmp_path_factory.mktemp("secrets")
    put(home, "tokens.yaml", tokens())
    with served(home, TEXT.replace("URL", receiver.url), env=ENV) as found:
        found.start("--debug")
        for job, state in {"lives": "running", "placeless": "failed", "flaky": "retry_wait"}.items():
            found.until_state(found.trigger(job), state)
        found.post("/api/scheduler/pause")
        passed = found.trigger("passed")
        found.post(f"/api/runs/{passed}/skip", reason="not needed")
        found.post("/api/scheduler/resume")
        found.until(lambda: found.get("/api/alerts/dead")["deliveries"], "an alert reached nobody")
        found.write(found.file.read_text().replace('PIN: "${PIN}"', 'PIN: "${PIN}", OTHER: "${DB_PASS}"'))
        yield found


def links(text: str) -> set[str]:
    """Return where a page leads in this house, files and the way out left aside."""
    found = {element.attributes.get("href", "") for element in Page(text).all("a")}
    return {path.partition("#")[0] for path in found if path.startswith("/") and not path.startswith("/static/")}


def crawled(ask: Any, first: set[str]) -> dict[str, str]:
    """Return every page and answer that links lead to, by address; of those that differ in a value only, two."""
    seen: dict[str, str] = {}
    shapes: Counter[str] = Counter()
    waiting = deque(sorted(first))
    while waiting:
        path = waiting.popleft()
        shape = re.sub(r"=[^&]*", "=", path)
        if path in seen or ("?" in path and shapes[shape] == 2):
            continue
        shapes[shape] += 1
        answer = ask("GET", path, headers=BROWSER)
        seen[path] = str(answer.body)
        if answer.status == 200 and "<!doctype html>" in seen[path]:
            waiting += sorted(links(answer.body))
    return seen


def reading_routes(service: Served) -> list[str]:
    """Return an address for each GET of the API's description, and one for each run where it is about one."""
    runs = [run["run_id"] for run in service.get("/api/runs")["runs"]]
    jobs = [job["name"] for job in service.get("/api/jobs")["jobs"]]
    alerts = [alert["alert_id"] for alert in service.get("/api/alerts")["alerts"]]
    fillings = {"{run_id}": runs, "{name}": jobs, "{version}": ["1", "2"], "{alert_id}": alerts, "{notifier}": ["ops"]}
    found = []
    for path, methods in service.get("/api/openapi.json")["paths"].items():
        if "get" not in methods or path in STREAMS:
            continue
        (parameter,) = re.findall(r"\{\w+\}", path) or [""]
        found += [path.replace(parameter, value) for value in fillings[parameter]] if parameter else [path]
    return found


def test_fc_082_no_page_and_no_answer_has_a_secret(service: Served) -> None:
    """As an admin, who sees everything there is, before and after a reload that touches it."""
    with streamed(service, "/events?ping=1") as stream:
        difference = service.get("/api/diff?days=7")
        assert difference["same"] is False
        service.post("/api/reload", reason="another variable")
        told = [*stream.until("reload"), *stream.until("ping")]
    said = {path: str(service.ask("GET", path).body) for path in reading_routes(service)}
    said |= {"/metrics": str(service.ask("GET", "/metrics").body), "stream": repr(told), "diff": str(difference)}
    for run in service.get("/api/runs")["runs"]:
        said[f"previews of {run['run_id']}"] = str(
            [service.ask("GET", f"/api/runs/{run['run_id']}/preview?action={each}").body for each in ("rerun", "kill")]
        )
    pages = crawled(
        service.ask, {"/", "/admin", "/admin/configs/2", "/palette?q=s3cr", "/logbook?q=s3cr", "/jobs?q=s3cr"}
    )
    assert {"/jobs/never", "/jobs/placeless", "/graph", "/timeline", "/forecast", "/logbook"} <= pages.keys()
    assert any(path.startswith("/runs/placeless") for path in pages)
    typed_by_us = {"/palette?q=s3cr", "/logbook?q=s3cr", "/jobs?q=s3cr"}
    found = [path for path, body in (said | pages).items() if SECRET in body and "q=s3cr" not in path]
    assert found == []
    for path in typed_by_us:
        assert "<tr data-row" not in pages[path], "what a secret begins with finds nothing"


def test_fc_082_a_viewer_sees_no_value_that_was_typed_either(service: Served) -> None:
    """A job's env is named and never shown; the files as they were typed are for operators and admins."""
    guest = Visitor(port_of(service), authorization=f"Bearer {token_of('viewer')}")

    def ask(method: str, path: str, headers: dict[str, str]) -> Any:
        return guest.ask(method, path, **headers)

    pages = crawled(ask, {"/"}) | {path: str(guest.ask("GET", path).body) for path in reading_routes(service)}
    assert "TYPED: ***" in Page(pages["/jobs/never"]).text
    assert [path for path, body in pages.items() if TYPED in body or SECRET in body] == []


def content(path: Path) -> bytes:
    """Return what a file holds; nothing where it has gone since it was listed, as a minder's does."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def test_fc_082_no_alert_no_file_and_no_command_line_has_a_secret(service: Served, receiver: Hook) -> None:
    """The receiver gets its key and nothing else; the store, the logs and the notes have the names only."""
    assert {got.path for got in receiver.got} == {"/s3cr-hook-key"}
    assert [got for got in receiver.got if SECRET.encode() in got.body] == []
    files = [path for path in service.home.rglob("*") if path.is_file() and not path.is_socket()]
    assert len(files) > 10
    assert [str(path) for path in files if SECRET.encode() in content(path)] == []
    for pid in (service.pid, *service.marked()):
        with suppress(FileNotFoundError, ProcessLookupError):  # a minder that has been idle for long enough goes
            assert SECRET.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
