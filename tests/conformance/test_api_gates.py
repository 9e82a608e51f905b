"""Who gets in, and what a request may cost. Spec: jobs.md 13.1, 13.3, 13.7; promise P8."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import Served, connected, served

TEXT = """
scheduler: {state_dir: state, log_dir: logs}
jobs:
  quick: {command: "true", schedule: manual, env: {TOKEN: "${TOKEN}"}}
"""
SECRET = "s3cr€t&<x>/+="


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("gates"), TEXT, env={"TOKEN": SECRET}) as found:
        yield found.start("--debug")


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
def test_json_is_taken(service: Served, kind: str) -> None:
    """The type may carry a charset, and is read in any case."""
    assert service.ask("POST", "/api/reload", {}, {"Content-Type": kind}).status == 200


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; x=y"])
def test_anything_else_is_refused_even_without_a_body(service: Served, kind: str) -> None:
    """415: no form of a web page can send application/json unasked."""
    for body in (None, b"reason=x"):
        answer = service.ask("POST", "/api/jobs/quick/trigger", body, {"Content-Type": kind})
        assert answer.status == 415
        assert answer.body["mend"] == "send `Content-Type: application/json`"


def test_a_body_of_more_than_a_mebibyte_is_refused(service: Served) -> None:
    """413, without reading on."""
    answer = service.ask("POST", "/api/jobs/quick/trigger", b'{"reason": "' + b"x" * (1 << 20) + b'"}')
    assert (answer.status, answer.body["error"]) == (413, "the body is larger than 1048576 bytes")


def test_more_than_a_hundred_headers_are_refused(service: Served) -> None:
    """431 says how many are allowed."""
    answer = service.ask("GET", "/api/health", headers={f"X-{n}": "y" for n in range(101)})
    assert answer.status == 431
    assert "and 100 are allowed" in answer.body["error"]


def test_a_head_of_more_than_16_kib_is_refused(service: Served) -> None:
    """Whether it comes at once or has no end: 431, or 400 and the connection is closed."""
    head = b"GET /api/health HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 20_000
    for sent, status in ((head + b"\r\n\r\n", b"431"), (head, b"400")):
        with connected(service.socket) as connection:
            connection.sendall(sent)
            assert connection.recv(4096).startswith(b"HTTP/1.1 " + status)


def test_what_is_no_http_is_answered_and_closed(service: Served) -> None:
    """A stray program on the socket does not disturb anybody."""
    with connected(service.socket) as connection:
        connection.sendall(b"\x16\x03\x01\x00\xff nonsense\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 400")
        assert connection.recv(4096) in (b"", b"Invalid HTTP request received.")
    assert service.is_well()


def test_no_header_makes_anybody_somebody_else(service: Served) -> None:
    """The actor is the kernel's word for the peer's user."""
    claims = {"X-Forwarded-For": "10.0.0.1", "X-Forwarded-User": "mallory", "Authorization": "Basic bWFsbG9yeTp4"}
    answer = service.ask("POST", "/api/jobs/quick/trigger", {}, claims)
    run_id = answer.body["run"]["run_id"]
    (line,) = service.get(f"/api/events?run={run_id}&action=trigger")["events"]
    assert line["actor"] != "mallory"
    service.until_state(run_id, "succeeded")


def content(path: Path) -> bytes:
    """Return what a file holds; nothing where it has gone since it was listed, as a minder's does."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def test_a_value_of_the_environment_is_shown_nowhere(service: Served) -> None:
    """FC-082: not by a route, not in the log at debug, not in the cache, the store or a command line."""
    run_id = service.trigger("quick")
    service.until_state(run_id, "succeeded")
    paths = ["jobs", "jobs/quick", f"runs/{run_id}", "events", "scheduler", "diff?days=1", "config/validate"]
    shown = "".join(str(service.get(f"/api/{path}")) for path in paths)
    secret = SECRET.encode()
    files = [path for path in service.home.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert SECRET not in shown
    assert [path for path in files if secret in content(path)] == []
    assert secret not in Path(f"/proc/{service.pid}/cmdline").read_bytes()


def as_somebody_else(service: Served, request: bytes) -> bytes:
    """Send a request from a child that has become another user; returns the whole answer."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of the test may run on here
        try:
            os.chdir(service.state)
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect("api.sock")
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(4096):
                    os.write(writing, part)
        except OSError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        found = answers.read()
    os.waitpid(child, 0)
    return found


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user_is_kept_out_twice(service: Served) -> None:
    """The modes keep others from connecting; were they loosened, the kernel's word still would."""
    request = b"POST /api/jobs/quick/trigger HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\r\n"
    assert b"Permission denied" in as_somebody_else(service, request)
    before = len(service.get("/api/runs")["runs"])
    try:
        service.state.chmod(0o755)
        service.socket.chmod(0o666)
        answer = as_somebody_else(service, request)
        health = as_somebody_else(service, b"GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n")
    finally:
        service.socket.chmod(0o600)
        service.state.chmod(0o700)
    assert answer.startswith(b"HTTP/1.1 403")
    assert b"may not speak to this scheduler" in answer
    assert health.startswith(b"HTTP/1.1 403")
    assert len(service.get("/api/runs")["runs"]) == before
