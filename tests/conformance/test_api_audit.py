"""The audit log through the API: every action has its row, done or refused, by the time it is answered."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pyscheduler.api import shapes
from pyscheduler.api.callers import user_name
from tests.conformance.conftest import TEXT
from tests.serving import Served, served


def rows(service: Served, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.get(f"/api/audit{query}")["audit"]
    return found


def test_an_action_has_its_row_when_it_is_answered(service: Served) -> None:
    """Who, as what, how known, what, to what, why, and that it was done."""
    service.trigger("quick", reason="ticket 7", run_date="2027-05-20")
    row = rows(service)[0]
    shapes.AuditLog.model_validate(service.get("/api/audit"))
    assert row["actor"] == user_name(os.geteuid())
    assert (row["role"], row["via"], row["action"], row["subject"]) == ("admin", "socket", "trigger", "quick")
    assert (row["reason"], row["result"], row["detail"]) == ("ticket 7", "done", {"run_date": "2027-05-20"})


@pytest.mark.parametrize(
    ("path", "body", "action", "subject", "result"),
    [
        ("/api/jobs/nosuch/trigger", {}, "trigger", "nosuch", "refused 404 "),
        ("/api/jobs/off/trigger", {"reason": "x"}, "trigger", "off", "refused 409 "),
        ("/api/runs/nosuch.2027-05-20.1/hold", {}, "hold", "nosuch.2027-05-20.1", "refused 404 "),
        ("/api/jobs/quick/trigger", {"run_date": "tomorrow"}, "trigger", "quick", "refused 400 "),
        ("/api/nowhere/x/do", {}, "nowhere_do", "x", "refused 404 Not Found"),
    ],
)
def test_what_was_refused_has_its_row(
    service: Served, path: str, body: dict[str, Any], action: str, subject: str, result: str
) -> None:
    """By state, by name, by form: with the words of the refusal."""
    answer = service.ask("POST", path, body)
    assert answer.status >= 400
    row = rows(service)[0]
    assert (row["action"], row["subject"]) == (action, subject)
    assert row["result"].startswith(result)
    assert answer.body["error"][:50] in row["result"]


def test_looking_leaves_no_row(service: Served) -> None:
    """Nor does looking at the log itself."""
    before = rows(service)[0]["id"]
    service.get("/api/runs")
    service.get("/api/audit/verify")
    assert rows(service)[0]["id"] == before


def test_what_stands_in_a_body_and_is_not_listed_is_not_kept(service: Served) -> None:
    """It may be a secret."""
    assert service.ask("POST", "/api/jobs/quick/trigger", {"password": "s3cret-value"}).status == 400
    assert "s3cret-value" not in str(rows(service)[0])


def test_it_is_filtered_and_paged(service: Served) -> None:
    """Each row once; csv has the same; a cursor of another list is refused."""
    for _ in range(3):
        service.trigger("fails", reason="for the pages")
    assert {row["subject"] for row in rows(service, "?subject=fails&action=trigger")} == {"fails"}
    assert len(rows(service, "?q=FOR%20THE%20PAGES")) >= 3
    assert rows(service, "?actor=nobody") == []
    seen, cursor = [], ""
    while True:
        page = service.get(f"/api/audit?limit=2{cursor}")
        seen += [row["id"] for row in page["audit"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == sorted(set(seen), reverse=True)
    assert service.ask("GET", "/api/audit?format=csv&limit=1").body.startswith("id,at,actor,role,via,address,action,")
    assert service.ask("GET", "/api/audit?cursor=x").status == 400
    assert service.ask("GET", "/api/audit?nosuch=1").status == 400


def test_it_is_proved(service: Served) -> None:
    """With a head that was noted, too; a wrong one is told."""
    found = service.get("/api/audit/verify")
    shapes.Verification.model_validate(found)
    assert found["ok"]
    head = found["head"]
    assert service.get(f"/api/audit/verify?head={head['id']}:{head['hash']}")["ok"]
    wrong = service.get(f"/api/audit/verify?head={head['id']}:{'0' * 64}")
    assert not wrong["ok"]
    assert wrong["broken"]["id"] == head["id"]
    assert service.ask("GET", "/api/audit/verify?head=x").status == 400


def test_a_reload_by_signal_has_its_row(tmp_path: Path) -> None:
    """Done, and refused for a text that cannot be used."""
    with served(tmp_path, TEXT) as service:
        service.start()
        service.write(TEXT.replace("max_running: 8", "max_running: 9"))
        service.signal(signal.SIGHUP)
        service.until(lambda: rows(service, "?action=reload"), "the row of the reload")
        service.write("jobs: 7\n")
        service.signal(signal.SIGHUP)
        found = service.until(lambda: len(all_ := rows(service, "?action=reload")) == 2 and all_, "the second row")
        assert [(row["actor"], row["via"]) for row in found] == [("signal", "signal")] * 2
        assert found[1]["result"] == "done"
        assert found[0]["result"].startswith("refused 400 the configuration has errors: ")


def test_an_action_on_many_has_a_row_for_each(service: Served) -> None:
    """Each with its own result, the reason in all of them; a preview has none."""
    first, second = (service.trigger("patient") for _ in range(2))
    service.until_state(first, "running")
    body = {"action": "mark-success", "run_ids": [second, "nosuch.2027-05-20.1"], "reason": "many at once"}
    before = rows(service)[0]["id"]
    look = {"action": "mark-success", "run_ids": [second]}
    assert service.ask("POST", "/api/runs/bulk/preview", look).status == 200
    assert rows(service)[0]["id"] == before
    assert service.ask("POST", "/api/runs/bulk", body).status == 200
    found = rows(service, "?q=many%20at%20once")
    assert {row["action"] for row in found} == {"mark_success"}
    results = {row["subject"]: row["result"] for row in found}
    assert results[second] == "done"
    assert results["nosuch.2027-05-20.1"].startswith("refused 404 ")
    service.post(f"/api/runs/{first}/kill")


def hashed(password: str) -> str:
    """Return a line of a users file."""
    key = hashlib.pbkdf2_hmac("sha256", password.encode(), b"salt" * 4, 100_000)
    return f"pbkdf2_sha256$100000${(b'salt' * 4).hex()}${key.hex()}"


def test_who_comes_and_goes_has_a_row(tmp_path: Path) -> None:
    """Signed in, not let in, signed out, refused for their role: with the address; no password is in any row."""
    users = tmp_path / "users.yaml"
    users.write_text(f"- {{name: vera, password_hash: '{hashed('right-password')}', role: viewer}}\n")
    users.chmod(0o600)
    text = TEXT.replace("state_dir:", "listen: 127.0.0.1:0\n  users_file: users.yaml\n  state_dir:")
    with served(tmp_path, text) as service:
        service.start()
        found = re.search(r"listening at http://127\.0\.0\.1:(\d+)", service.said())
        assert found is not None
        port = int(found[1])
        assert sent(port, "/login", {"name": "vera", "password": "wrong-password"})[0] == 401
        status, body, cookie = sent(port, "/login", {"name": "vera", "password": "right-password"})
        assert status == 200
        headers = {"Cookie": cookie.partition(";")[0], "X-CSRF-Token": json.loads(body)["csrf"]}
        assert sent(port, "/api/jobs/quick/trigger", {}, headers)[0] == 403
        assert sent(port, "/logout", {}, headers)[0] == 200
        told = [(row["actor"], row["action"], row["subject"], row["result"]) for row in rows(service)]
        address = {row["address"].rpartition(":")[0] or row["address"] for row in rows(service)}
    assert told == [
        ("vera", "sign_out", "vera", "done"),
        ("vera", "trigger", "quick", "refused 403 forbidden"),
        ("vera", "sign_in", "vera", "done"),
        ("", "sign_in", "vera", "refused 401 unauthorised"),
    ]
    assert address == {"127.0.0.1"}
    assert b"-password" not in b"".join(file.read_bytes() for file in (tmp_path / "state").glob("pysched.db*"))


def test_a_lock_has_one_row_and_a_used_link_too(tmp_path: Path) -> None:
    """However often the door is knocked at: what a stranger can repeat must not fill the log."""
    users = tmp_path / "users.yaml"
    users.write_text(f"- {{name: vera, password_hash: '{hashed('right-password')}', role: viewer}}\n")
    users.chmod(0o600)
    text = TEXT.replace("state_dir:", "listen: 127.0.0.1:0\n  users_file: users.yaml\n  state_dir:")
    with served(tmp_path, text) as service:
        service.start()
        found = re.search(r"listening at http://127\.0\.0\.1:(\d+)", service.said())
        assert found is not None
        port = int(found[1])
        for _ in range(5):
            assert sent(port, "/login", {"name": "vera", "password": "wrong-password"})[0] == 401
        for _ in range(4):
            assert sent(port, "/login", {"name": "vera", "password": "right-password"})[0] == 429
        path = urlsplit(service.post("/api/links")["url"]).path
        statuses = [looked(port, path) for _ in range(4)]
        looked(port, "/enter/never-ours")
        results = [row["result"].split(" ")[:2] for row in rows(service) if row["action"] == "sign_in"]
    assert statuses == [303, 410, 410, 410]
    assert results == [["refused", "410"], ["done"], ["refused", "429"], *[["refused", "401"]] * 5]


def looked(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def sent(port: int, path: str, body: object, headers: Mapping[str, str] | None = None) -> tuple[int, bytes, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        kind = {"Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(body).encode(), kind | dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.getheader("Set-Cookie", "")
    finally:
        connection.close()
