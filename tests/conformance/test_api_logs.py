"""Logs over HTTP: tails, pages, bytes, and a follower that misses nothing. Field cases FC-046 and FC-048."""

from __future__ import annotations

import socket
import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.api import shapes
from tests.serving import Served, connected, served

TEXT = r"""
scheduler:
  state_dir: state
  log_dir: logs
jobs:
  lines: {command: "seq 1 1000; echo last >&2", schedule: manual}
  merged: {command: "echo out; echo err >&2", schedule: manual, stderr: stdout}
  huge: {command: "seq 1 5000000", schedule: manual}
  wild:
    command:
      - python3
      - -c
      - |
        import os, sys
        sys.stdout.buffer.write(b"before\n\xff\xfe\xc3\n\xe2\x82 cut\nafter\n" + os.urandom(1 << 20) + b"\ndone\n")
    schedule: manual
  slow:
    command: |
      echo line 1; until [ -e go-on ]; do sleep 0.05; done
      for i in 2 3 4 5; do echo line $i; sleep 0.3; done; printf 'no end \342\202'
    schedule: manual
  tries: {command: "echo try {attempt}; [ {attempt} = 2 ]", schedule: manual, retries: {count: 1, delay: 1s}}
  bad: {command: "true", cwd: "/nowhere/at/all", schedule: manual}
  never: {command: "true", schedule: manual}
"""
SIZE = 38_888_896


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("logs"), TEXT) as found:
        yield found.start()


def log(service: Served, run_id: str, query: str = "") -> Any:
    body = service.get(f"/api/runs/{run_id}/log{query}")
    (shapes.LogPiece if "offset=" in query else shapes.LogTail).model_validate(body)
    return body


@pytest.fixture(scope="module")
def lines(service: Served) -> str:
    run_id = service.trigger("lines")
    service.until_state(run_id, "succeeded")
    return run_id


def test_a_tail(service: Served, lines: str) -> None:
    """200 lines unless asked otherwise, the last ones, and whether there are more."""
    body = log(service, lines)
    assert (body["lines"][0], body["lines"][-1], body["truncated"], body["ended"]) == ("801", "1000", True, True)
    assert log(service, lines, "?tail=2")["lines"] == ["999", "1000"]
    assert log(service, lines, "?tail=5000")["truncated"] is False
    assert log(service, lines, "?stream=stderr")["lines"] == ["last"]
    assert Path(body["path"]).read_bytes().endswith(b"1000\n")


def test_pages_and_bytes(service: Served, lines: str) -> None:
    """Pages by byte offset make the whole; raw is the file's bytes, or some of them."""
    whole = Path(log(service, lines)["path"]).read_bytes()
    text, offset = "", 0
    while offset < len(whole):
        page = log(service, lines, f"?offset={offset}&limit=1000")
        text, offset = text + page["text"], page["next_offset"]
    assert text.encode() == whole
    answer = service.ask("GET", f"/api/runs/{lines}/log?raw=1", raw=True)
    assert (answer.body, answer.headers["content-type"]) == (whole, "application/octet-stream")
    assert service.ask("GET", f"/api/runs/{lines}/log?raw=1&offset=10&limit=7", raw=True).body == whole[10:17]
    assert log(service, lines, "?offset=999999")["next_offset"] == len(whole)


@pytest.mark.parametrize(
    ("job", "query", "status", "said"),
    [
        ("lines", "?attempt=2", 404, "has no attempt 2"),
        ("lines", "?tail=5001", 400, "tail: "),
        ("lines", "?tail=5&offset=0", 400, "tail goes with neither offset nor raw"),
        ("lines", "?path=/etc/passwd", 400, "there is no parameter path"),
        ("lines", "?stream=stdin", 400, "stream: input should be 'stdout' or 'stderr'"),
        ("lines", "?limit=65537&offset=0", 400, "limit: "),
        ("merged", "?stream=stderr", 404, "stderr goes into the log of stdout"),
    ],
)
def test_what_cannot_be_read(service: Served, lines: str, job: str, query: str, status: int, said: str) -> None:
    """Each refusal says why."""
    run_id = lines
    if job != "lines":
        run_id = service.trigger(job)
        service.until_state(run_id, "succeeded")
    answer = service.ask("GET", f"/api/runs/{run_id}/log{query}")
    assert answer.status == status, answer
    assert said in answer.body["error"]


def test_a_run_that_never_started_has_no_log(service: Served) -> None:
    """404, and the way to why."""
    service.post("/api/jobs/never/pause")
    run_id = service.trigger("never")
    answer = service.ask("GET", f"/api/runs/{run_id}/log")
    assert (answer.status, answer.body["error"]) == (404, f"{run_id} has no log: it was never started")
    service.post(f"/api/runs/{run_id}/cancel")
    service.post("/api/jobs/never/resume")


def test_a_log_that_was_removed_is_404(service: Served) -> None:
    """Logs may go before their runs do; the answer says so, and where it was, and promises none to come."""
    run_id = service.trigger("merged")
    service.until_state(run_id, "succeeded")
    path = log(service, run_id)["path"]
    Path(path).unlink()
    answer = service.ask("GET", f"/api/runs/{run_id}/log")
    gone = "the log file is gone: it lay here when the attempt ran, and was removed or moved since"
    assert (answer.status, answer.body["error"], answer.body["where"]) == (404, gone, path)
    assert service.ask("GET", f"/api/runs/{run_id}/log?raw=1").body["error"] == gone


def test_bytes_that_are_no_text(service: Served) -> None:
    """FC-048: the exit code is right, the raw file is the output byte by byte, the text is valid JSON with marks."""
    run_id = service.trigger("wild")
    service.until_state(run_id, "succeeded")
    page = log(service, run_id, "?offset=0&limit=25")
    assert page["text"].startswith("before\n\ufffd\ufffd\ufffd\n\ufffd cut\n")
    body = log(service, run_id, "?tail=5000")
    assert body["lines"][-1] == "done"
    raw = service.ask("GET", f"/api/runs/{run_id}/log?raw=1", raw=True).body
    assert raw == Path(body["path"]).read_bytes()


def test_a_follower_misses_nothing(service: Served) -> None:
    """Tail once, then pages from its size on until the attempt has ended: what was shown is the log."""
    run_id = service.trigger("slow")
    service.until(lambda: service.ask("GET", f"/api/runs/{run_id}/log").status == 200)
    body = log(service, run_id, "?tail=5000")
    (service.home / "go-on").touch()
    shown, offset, ended = "".join(line + "\n" for line in body["lines"]), body["size"], False
    while True:
        page = log(service, run_id, f"?offset={offset}")
        shown, offset = shown + page["text"], page["next_offset"]
        if ended and not page["text"]:
            break
        ended = page["ended"]
        time.sleep(0.05)
    assert shown == "".join(f"line {n}\n" for n in range(1, 6)) + "no end \ufffd"
    assert page["state"] == "succeeded"


def test_each_attempt_has_its_log(service: Served) -> None:
    """A follower sees that another attempt has begun; earlier ones stay readable."""
    run_id = service.trigger("tries")
    service.until_state(run_id, "succeeded")
    assert log(service, run_id)["lines"] == ["try 2"]
    first = log(service, run_id, "?attempt=1")
    assert (first["lines"], first["attempt"], first["latest_attempt"]) == (["try 1"], 1, 2)


def test_a_start_error_says_so_instead(service: Served) -> None:
    """Nothing was started, so there may be no log; the run says why."""
    run_id = service.trigger("bad")
    found = service.until_state(run_id, "failed")
    assert found["reason"].startswith("start error:")
    assert service.ask("GET", f"/api/runs/{run_id}/log").status in (200, 404)


# --------------------------------------------------------------------------- a huge one: field case FC-046


def memory_mb(pid: int) -> float:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


@pytest.fixture(scope="module")
def huge(service: Served) -> str:
    """The 39 MB job, asked about all the while it runs."""
    run_id = service.trigger("huge")
    took = []
    while service.state_of(run_id) not in ("succeeded", "failed"):
        before = time.monotonic()
        service.get("/api/health")
        answer = service.ask("GET", f"/api/runs/{run_id}/log")
        took.append(time.monotonic() - before)
        assert answer.status in (200, 404)
    assert statistics.median(took) < 1.0
    service.until_state(run_id, "succeeded")
    return run_id


def test_a_huge_log_is_read_a_page_at_a_time(service: Served, huge: str) -> None:
    """FC-046: first and last part and the middle, each as fast as any, and the server's memory does not follow."""
    before = memory_mb(service.pid)
    first = log(service, huge, "?offset=0&limit=65536")
    assert (first["size"], first["text"][:6]) == (SIZE, "1\n2\n3\n")
    assert log(service, huge, "?tail=1")["lines"] == ["5000000"]
    middle = log(service, huge, f"?offset={SIZE - 8 * 1_000_001}&limit=16")
    assert middle["text"] == "4000000\n4000001\n"
    last = log(service, huge, f"?offset={SIZE - 65536}")
    assert last["text"].endswith("\n5000000\n")
    assert len(service.ask("GET", f"/api/runs/{huge}/log?raw=1", raw=True).body) == SIZE
    assert memory_mb(service.pid) - before < 60


def test_a_client_that_does_not_read_holds_nobody_up(service: Served, huge: str) -> None:
    """FC-046: the slow one waits alone; everybody else is answered, and memory does not grow by its log."""
    before = memory_mb(service.pid)
    with connected(service.socket) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(f"GET /api/runs/{huge}/log?raw=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert slow.recv(12) == b"HTTP/1.1 200"
        answers = [threading.Thread(target=service.get, args=("/api/health",)) for _ in range(10)]
        for thread in answers:
            thread.start()
        for thread in answers:
            thread.join(60)
        assert not any(thread.is_alive() for thread in answers)
        assert memory_mb(service.pid) - before < 20
