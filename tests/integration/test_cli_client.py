"""The client on a real socket: what cannot be reached is said in an operator's words, what answers is bounded."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyscheduler.cli import client as client_module
from pyscheduler.cli.client import SocketClient, segment
from pyscheduler.cli.faults import CommandError, Refused, Unreachable

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"


@contextmanager
def answering(path: Path, answer: bytes | Callable[[bytes], bytes]) -> Iterator[list[bytes]]:
    """Listen at `path` and answer each request with these bytes; yields the requests."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = os.open(path.parent, os.O_PATH)
    listener.bind(f"/proc/self/fd/{folder}/{path.name}")
    listener.listen()
    requests: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                request = _whole(connection)
                requests.append(request)
                connection.sendall(answer(request) if callable(answer) else answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield requests
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)
        os.close(folder)


def _whole(connection: socket.socket) -> bytes:
    """Return a request with its body."""
    request = b""
    while b"\r\n\r\n" not in request:
        request += connection.recv(65536)
    head, _, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    while length and len(body) < int(length[1]):
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


@pytest.fixture
def at(tmp_path: Path) -> Path:
    return tmp_path / "api.sock"


def client(path: Path, timeout_s: float = 60.0) -> SocketClient:
    return SocketClient(path, Path("pysched.yaml"), timeout_s)


def test_a_question_and_its_answer(at: Path) -> None:
    """Lists are given several times, None is left out, and a name cannot leave its segment."""
    with answering(at, OK + b'{"runs": []}') as requests:
        answer = client(at).get(f"/api/jobs/{segment('a/b?')}", state=["failed", "held"], limit=5, cursor=None)
    assert answer == {"runs": []}
    assert requests[0].startswith(b"GET /api/jobs/a%2Fb%3F?state=failed&state=held&limit=5 HTTP/1.1\r\n")


def test_an_action_carries_json(at: Path) -> None:
    """Also where nothing is given: the scheduler refuses any other type of body."""
    with answering(at, OK + b'{"run": {}}') as requests:
        client(at).post("/api/runs/x/hold", {"reason": None, "downstream": True})
    assert b"Content-Type: application/json\r\n" in requests[0]
    assert requests[0].endswith(b'{"downstream": true}')


def test_bytes_come_as_they_are(at: Path) -> None:
    """With the headers, by lower-case names."""
    head = b"HTTP/1.1 200 OK\r\nX-Log-Size: 7\r\nConnection: close\r\n\r\n"
    with answering(at, head + b"\xff\x00\r\nab\n"):
        data, headers = client(at).raw("/api/runs/x/log", raw=1)
    assert data == b"\xff\x00\r\nab\n"
    assert headers["x-log-size"] == "7"


def test_a_path_too_long_for_an_address_is_reached(tmp_path: Path) -> None:
    """Through its folder: a socket's address holds 107 bytes."""
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    with answering(deep / "api.sock", OK + b"{}"):
        assert client(deep / "api.sock").get("/api/health") == {}


def test_no_socket_means_no_scheduler(at: Path) -> None:
    """And how to start one."""
    with pytest.raises(Unreachable) as caught:
        client(at).get("/api/health")
    assert (caught.value.where, caught.value.what) == ("pysched.yaml", "no scheduler is running")
    assert caught.value.mend == "pysched serve pysched.yaml starts one"


def test_a_socket_that_nobody_listens_at_is_a_leftover(at: Path) -> None:
    """Of a scheduler that was killed."""
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(at))
    left.close()
    with pytest.raises(Unreachable, match="left over"):
        client(at).get("/api/health")


def test_another_users_socket_says_who_may(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only root and the scheduler's own user."""

    def refuse(_self: object) -> None:
        raise PermissionError(13, "Permission denied", str(at))

    monkeypatch.setattr(client_module._UnixConnection, "connect", refuse)
    with pytest.raises(Unreachable, match="may not talk") as caught:
        client(at).get("/api/health")
    assert "sudo -u" in caught.value.mend


def test_a_scheduler_that_does_not_answer_is_not_waited_for(at: Path) -> None:
    """The patience is said."""
    silent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    silent.bind(str(at))
    silent.listen()
    try:
        with pytest.raises(Unreachable, match=r"did not answer within 0\.05 s"):
            client(at, timeout_s=0.05).get("/api/health")
    finally:
        silent.close()


@pytest.mark.parametrize(
    "answer", [b"", OK[:20], OK[:-2], b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", b"garbage\r\n\r\n"]
)
def test_an_answer_that_breaks_off_is_no_answer(at: Path, answer: bytes) -> None:
    """The scheduler may be stopping."""
    with answering(at, answer), pytest.raises(Unreachable, match="broke off"):
        client(at).get("/api/health")


def test_a_refusal_has_the_schedulers_words(at: Path) -> None:
    """Status, text, how to mend it, and a configuration's problems."""
    body = b'{"error": "there is no job x", "mend": "look", "where": "here", "problems": [{"line": 3}]}'
    head = b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n"
    with answering(at, head + body), pytest.raises(Refused) as caught:
        client(at).post("/api/jobs/x/trigger")
    error = caught.value
    assert (error.status, error.what, error.mend, error.where) == (404, "there is no job x", "look", "here")
    assert error.problems == ({"line": 3},)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"status": "failed", "error": "the disk is full", "failures": 3}', "engine has failed"),
        (b'{"error": "scheduler is starting"}', "scheduler is starting$"),
        (
            b'{"error": "scheduler is starting", "message": "no room"}',
            "scheduler is starting, and cannot yet: no room$",
        ),
        (b"<html>", "status 503"),
        (b"[1]", "status 503"),
    ],
)
def test_a_scheduler_out_of_action_says_why(at: Path, body: bytes, words: str) -> None:
    """Whatever its answer looks like."""
    head = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n"
    with answering(at, head + body), pytest.raises(Refused, match=words):
        client(at).get("/api/health")


def test_an_answer_that_is_no_json_is_said(at: Path) -> None:
    """Something else listens there, or another release."""
    with answering(at, OK + b"hello"), pytest.raises(CommandError, match="no JSON"):
        client(at).get("/api/health")


def test_an_answer_without_end_is_cut_off(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every read has a bound."""
    monkeypatch.setattr(client_module, "MAX_ANSWER", 1000)
    with answering(at, OK + b"x" * 5000), pytest.raises(CommandError, match="more than"):
        client(at).get("/api/health")
