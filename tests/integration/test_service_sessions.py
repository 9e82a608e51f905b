"""Signing in to a real service: sessions that last over a restart, files that change under it, doors that lock."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.pages import BROWSER, Page
from tests.serving import PATIENCE_S, Served, served
from tests.visitors import LINE, PASSWORD, ROLES, Visitor, port_of, put, token_of, tokens, users

TEXT = """
scheduler:
  {state_dir: state, log_dir: logs, listen: "127.0.0.1:0", api_tokens_file: tokens.yaml, users_file: users.yaml}
jobs:
  quick: {command: "true", schedule: manual}
  books: {command: "true", schedule: manual, allow: [finance]}
  after: {command: "true", depends_on: [books], allow: [audit]}
"""
OTHER_LINE = LINE[:-1] + ("0" if LINE[-1] != "0" else "1")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    put(tmp_path, "tokens.yaml", tokens(teams={"operator": "finance"}))
    put(tmp_path, "users.yaml", users())
    with served(tmp_path, TEXT) as found:
        yield found.start()


def visitor(service: Served, role: str = "") -> Visitor:
    found = Visitor(port_of(service))
    if role:
        assert found.sign_in(role).status == 200
    return found


def looks(guest: Visitor) -> int:
    return guest.ask("GET", "/api/runs").status


def test_a_session_lasts_over_a_restart_and_not_over_a_sign_out(service: Served) -> None:
    """The store remembers it; signing out is remembered too, and takes nobody else's."""
    ann, bob = visitor(service, "admin"), visitor(service, "viewer")
    service.kill()
    service.start()
    ann.port = bob.port = port_of(service)
    service.until(lambda: looks(ann) == 200, "the sessions are read back")
    assert ann.ask("POST", "/logout").status == 200
    assert looks(ann) == 401
    assert looks(bob) == 200
    service.stop()
    service.start()
    ann.port = bob.port = port_of(service)
    service.until(lambda: looks(bob) == 200, "the sessions are read back")
    assert looks(ann) == 401


def test_a_form_signs_in_too_and_goes_where_it_was_going(service: Served) -> None:
    """Within this site; a wrong password shows the form again, and says no more than that."""
    guest = visitor(service)
    form = {"content_type": "application/x-www-form-urlencoded"}
    assert 'action="/login"' in guest.ask("GET", "/login").body
    body = f"name=admin&password={PASSWORD.replace(' ', '+')}&next=%2Fgraph%3Ftag%3Da".encode()
    answer = guest.ask("POST", "/login", body, **form)
    assert (answer.status, answer.headers["location"]) == (303, "/graph?tag=a")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie, "over loopback there is no HTTPS"
    elsewhere = guest.ask("POST", "/login", body.replace(b"%2Fgraph", b"%2F%2Fevil.example"), **form)
    assert elsewhere.headers["location"] == "/"
    wrong = [guest.ask("POST", "/login", f"name={name}&password=x".encode(), **form) for name in ("admin", "nobody")]
    assert [answer.status for answer in wrong] == [401, 401]
    one, other = (re.sub(r"\d", "", answer.body) for answer in wrong)  # but for the time of day
    assert one == other.replace("nobody", "admin")
    assert guest.ask("POST", "/login", body, **form, sec_fetch_site="cross-site").status == 403


def test_a_sign_in_with_a_key_is_a_sign_in(service: Served) -> None:
    """Who signs in is nobody yet, and whom the key would belong to; nor is what a sign-in answers kept on disk."""
    guest = visitor(service)
    for _ in range(2):
        answer = guest.ask("POST", "/login", {"name": "admin", "password": PASSWORD}, idempotency_key="k-1")
        assert (answer.status, "idempotent-replay" in answer.headers) == (200, False)
    wrong = guest.ask("POST", "/login", {"name": "admin", "password": "x"}, idempotency_key="k-1")
    assert (wrong.status, "Traceback" in service.said()) == (401, False)


def test_five_wrong_passwords_lock_the_name_and_the_address(service: Served) -> None:
    """429 even for the right password, with how long to wait."""
    guest = visitor(service)
    assert [guest.sign_in("admin", "wrong").status for _ in range(5)] == [401] * 5
    answer = guest.sign_in("admin")
    assert answer.status == 429
    assert 1 <= int(answer.headers["retry-after"]) <= 30
    assert guest.sign_in("viewer").status == 429, "the address is locked as well"
    assert guest.ask("GET", "/api/runs", authorization=f"Bearer {token_of('viewer')}").status == 200


def test_a_reload_takes_over_the_files_though_the_configuration_is_the_same(service: Served, tmp_path: Path) -> None:
    """Who was removed, has another password, or another role; tokens too. Nobody else has to sign in again."""
    guests = {role: visitor(service, role) for role in ROLES}
    put(tmp_path, "users.yaml", users(("viewer",), line=OTHER_LINE) + users(("admin",)))
    put(tmp_path, "tokens.yaml", tokens(("admin",)))
    assert service.post("/api/reload")["changed"] is False
    assert {role: looks(guest) for role, guest in guests.items()} == {"viewer": 401, "operator": 401, "admin": 200}
    answers = [
        visitor(service).ask("GET", "/api/runs", authorization=f"Bearer {token_of(role)}").status for role in ROLES
    ]
    assert answers == [401, 401, 200]
    put(tmp_path, "users.yaml", users())
    service.post("/api/reload")
    assert looks(guests["operator"]) == 401, "who was removed is not back by being written again"


def test_a_faulty_file_is_refused_whole_and_all_stays_as_it_was(service: Served, tmp_path: Path) -> None:
    """With the faults of configuration and files together."""
    guest = visitor(service, "viewer")
    put(tmp_path, "users.yaml", "- {name: ann, role: king, password_hash: hunter2}\n")
    service.write(TEXT.replace("schedule: manual", "schedule: soon", 1))
    answer = service.ask("POST", "/api/reload")
    assert answer.status == 400
    text = str(answer.body)
    assert "users.yaml" in text
    assert "pysched.yaml" in text
    assert "hunter2" not in text + service.said()
    assert looks(guest) == 200


def test_an_admin_sees_the_sessions_and_ends_one(service: Served) -> None:
    """At once; others see none of it."""
    admin, viewer = visitor(service, "admin"), visitor(service, "viewer")
    found = admin.ask("GET", "/api/sessions").body["sessions"]
    assert {each["user"]: each["is_yours"] for each in found} == {"admin": True, "viewer": False}
    assert viewer.ask("GET", "/api/sessions").status == 403
    (theirs,) = (each["id"] for each in found if each["user"] == "viewer")
    ended = admin.ask("POST", f"/api/sessions/{theirs}/revoke")
    assert ended.status == 200
    assert ended.body["sessions"][0]["revoked_at"] is not None
    assert looks(viewer) == 401
    assert admin.ask("POST", f"/api/sessions/{theirs}/revoke").status == 404


@contextmanager
def streaming(guest: Visitor) -> Iterator[http.client.HTTPResponse]:
    """Open a stream of what changes; gives it once its head is there."""
    connection = http.client.HTTPConnection(guest.host, guest.port, timeout=PATIENCE_S)
    headers = {"Cookie": guest.cookie} if guest.cookie else guest.headers
    connection.request("GET", "/events?ping=1", headers=headers)
    found = connection.getresponse()
    assert found.status == 200
    yield found
    found.close()
    connection.close()


def test_a_stream_ends_with_the_right_to_read_it(service: Served, tmp_path: Path) -> None:
    """Of a session that is revoked, of a token that is taken away; nobody else's is cut."""
    admin, viewer = visitor(service, "admin"), visitor(service, "viewer")
    program = Visitor(port_of(service), Authorization=f"Bearer {token_of('operator')}")
    with streaming(viewer) as revoked, streaming(program) as cut, streaming(admin) as kept:
        assert viewer.ask("POST", "/logout").status == 200
        while revoked.readline():
            pass  # it ends: readline would wait as long as it is open
        put(tmp_path, "tokens.yaml", tokens(("admin",)))
        service.post("/api/reload")
        while cut.readline():
            pass
        made = service.trigger("quick")
        while made.encode() not in (line := kept.readline()):
            assert line, "the admin's stream was cut"


def test_the_audit_log_has_who_came_and_who_did_not(service: Served) -> None:
    """By name where somebody has the name; what nobody is called may be a password in the wrong field."""
    guest = visitor(service)
    guest.sign_in("viewer", "wrong")
    guest.sign_in(PASSWORD, "x")
    guest.sign_in("viewer")
    guest.ask("POST", "/logout")
    rows = service.get("/api/audit")["audit"]
    told = [(row["action"], row["actor"], row["subject"], row["result"]) for row in reversed(rows)]
    assert told == [
        ("sign_in", "", "viewer", "refused 401 unauthorised"),
        ("sign_in", "", "a name that nobody has", "refused 401 unauthorised"),
        ("sign_in", "viewer", "viewer", "done"),
        ("sign_out", "viewer", "viewer", "done"),
    ]
    assert {row["address"] for row in rows} == {"127.0.0.1"}
    assert PASSWORD not in str(rows) + service.said()


def test_no_page_offers_what_the_job_would_refuse(service: Served) -> None:
    """Disabled, with the reason in sight and named by each button; whoever may act sees nothing of it."""
    teamless, admin = visitor(service, "operator"), visitor(service, "admin")
    run_id = admin.ask("POST", "/api/jobs/books/trigger", {}).body["run"]["run_id"]
    service.until_state(run_id, "succeeded")
    for path in (f"/runs/{run_id}", "/jobs/books"):
        refused, allowed = shown(teamless, path), shown(admin, path)
        why = refused.one("p", id="may-not").text
        assert "operator may not act on books: it allows finance" in why
        buttons = [each for each in refused.all("button") if each.has(aria_describedby="may-not")]
        assert len(buttons) >= 2
        assert all("disabled" in each.attributes and each["title"] in why for each in buttons)
        unrefused = [each.text for each in refused.all("button") if each not in buttons]
        assert not {"Trigger now", "Backfill", "Pause this job", "Rerun", "Mark failed"} & set(unrefused)
        assert not [each for each in allowed.all("button") if "disabled" in each.attributes]
        assert not allowed.all(id="may-not")
    row = shown(teamless, "/").one("tr", data_run=run_id)
    assert row["data-allow"] == "finance"
    assert shown(teamless, "/").one("body")["data-teams"] == ""
    assert "data-teams" not in shown(admin, "/").one("body").attributes, "an admin may always"


def shown(guest: Visitor, path: str) -> Page:
    """Return a page as the visitor's browser gets it."""
    answer = guest.ask("GET", path, **BROWSER)
    assert answer.status == 200
    return Page(answer.body)


def test_an_operator_acts_on_what_allows_one_of_their_teams(service: Served) -> None:
    """Triggered, held, rerun: the refusal names the job and its list. An admin may always."""
    finance = Visitor(port_of(service), authorization=f"Bearer {token_of('operator')}")
    teamless, admin = visitor(service, "operator"), visitor(service, "admin")
    made = finance.ask("POST", "/api/jobs/books/trigger", {})
    assert made.status == 200, made
    run_id = made.body["run"]["run_id"]
    service.until_state(run_id, "succeeded")
    refused = teamless.ask("POST", "/api/jobs/books/trigger", {})
    assert refused.status == 403
    assert refused.body["error"] == "operator may not act on books: it allows finance"
    assert refused.body["where"] == "job books"
    for action in ("pause", "resume", "backfill"):
        body = {"from": "2027-01-01", "to": "2027-01-01"} if action == "backfill" else {}
        assert teamless.ask("POST", f"/api/jobs/books/{action}", body).status == 403
    for action in ("rerun", "hold", "release", "kill", "skip", "cancel", "force-start", "mark-failed", "mark-success"):
        assert teamless.ask("POST", f"/api/runs/{run_id}/{action}", {}).status == 403
    assert teamless.ask("POST", "/api/scheduler/pause", {}).status == 403, "that would pause books too"
    assert teamless.ask("POST", "/api/jobs/quick/trigger", {}).status == 200
    downstream = finance.ask("POST", f"/api/runs/{run_id}/rerun", {"downstream": True})
    assert (downstream.status, downstream.body["where"]) == (403, "job after")
    assert finance.ask("POST", f"/api/runs/{run_id}/rerun", {}).status == 200
    assert admin.ask("POST", "/api/jobs/books/trigger", {}).status == 200
