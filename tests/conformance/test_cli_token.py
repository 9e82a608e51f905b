"""The command line through the real listener: a token's role decides, and a refusal says how to mend it."""

from __future__ import annotations

import hashlib
import http.client
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shell import Done, Shell, shell

TEXT = """
scheduler: {name: night, timezone: Europe/Berlin, listen: "127.0.0.1:0", api_tokens_file: tokens.yaml}
jobs:
  quick: {command: "echo quick", schedule: manual}
"""
ROLES = ("viewer", "operator", "admin")


@pytest.fixture(scope="module")
def pysched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    home = tmp_path_factory.mktemp("night")
    lines = [f"- {{name: {role}-x, role: {role}, token_sha256: {digest(f'token-{role}')}}}\n" for role in ROLES]
    private(home / "tokens.yaml", "".join(lines))
    for role in ("nobody", *ROLES):
        private(home / role, f"token-{role}\n")
    with shell(home, TEXT) as found:
        found.serve()
        yield found


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def private(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o600)


def url(pysched: Shell) -> str:
    found = re.search(r"listening at (http://127\.0\.0\.1:\d+)", pysched.said())
    assert found is not None, pysched.said()
    return found[1]


def asked(pysched: Shell, role: str, *typed: str) -> Done:
    return pysched.inside("--url", url(pysched), "--token-file", str(pysched.home / role), *typed)


@pytest.mark.parametrize(("role", "code"), [("viewer", 1), ("operator", 0), ("admin", 0)])
def test_a_token_does_what_its_role_covers(pysched: Shell, role: str, code: int) -> None:
    """Everybody looks; who acts is in the audit log by the token's name, refused ones as well."""
    assert asked(pysched, role, "jobs").code == 0
    done = asked(pysched, role, "trigger", "quick", "--reason", f"by {role}")
    assert done.code == code
    if code:
        assert done.err.endswith("forbidden\n  mend: this needs the role operator, and viewer-x is viewer\n")
    (row,) = pysched.inside("audit", "list", "--by", f"{role}-x", "--action", "trigger", "--json").json["audit"]
    assert (row["role"], row["via"], row["address"].startswith("127.0.0.1")) == (role, "token", True)
    assert row["result"] == ("refused 403 forbidden" if code else "done")


def test_the_audit_log_is_for_admins(pysched: Shell) -> None:
    """To look at and to prove."""
    assert asked(pysched, "admin", "audit", "verify").code == 0
    for typed in (["audit", "list"], ["audit", "verify"]):
        done = asked(pysched, "operator", *typed)
        assert (done.code, "this needs the role admin" in done.err) == (1, True)


def test_who_is_not_known_gets_nothing(pysched: Shell) -> None:
    """A wrong token, and none at all: each with its own way out."""
    done = asked(pysched, "nobody", "jobs")
    assert (done.code, done.out) == (1, "")
    assert "is not one of the scheduler's api_tokens_file" in done.err
    done = pysched.inside("--url", url(pysched), "jobs")
    assert (done.code, "name a file with a token: --token-file FILE" in done.err) == (1, True)


def test_a_log_is_followed_with_a_token(pysched: Shell) -> None:
    """To the run's end."""
    run = pysched.trigger("quick")
    assert asked(pysched, "viewer", "log", "-f", run).out == "quick\n"


def test_open_makes_a_link_that_works_once(pysched: Shell) -> None:
    """Over the socket; the second browser is turned away."""
    link = pysched.ok("open").out.strip()
    assert link.startswith(f"{url(pysched)}/enter/")
    host = link.removeprefix("http://").partition("/")[0]
    statuses = []
    for _ in range(2):
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request("GET", link.partition(host)[2])
        statuses.append(connection.getresponse().status)
        connection.close()
    assert statuses == [303, 410]
    again, first = pysched.inside("audit", "list", "--action", "sign_in", "--json").json["audit"]
    assert (first["via"], first["result"]) == ("link", "done")
    assert again["result"].startswith("refused 410")
