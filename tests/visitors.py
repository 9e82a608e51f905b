"""Visitors of a real service by TCP: with a token, with a session, with nothing; and what their files hold."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.serving import PATIENCE_S, Answer, Served

ROLES = ("viewer", "operator", "admin")
PASSWORD = "correct horse"
SALT = "ab" * 16
LINE = f"pbkdf2_sha256$1000${SALT}${hashlib.pbkdf2_hmac('sha256', PASSWORD.encode(), bytes.fromhex(SALT), 1000).hex()}"


def token_of(role: str) -> str:
    """Return the token that the file of `tokens` knows for a role."""
    return f"token-of-{role}"


def tokens(roles: tuple[str, ...] = ROLES, *, teams: Mapping[str, str] | None = None) -> str:
    """Return a tokens file: a program for each role, named after it."""
    found = []
    for role in roles:
        digest = hashlib.sha256(token_of(role).encode()).hexdigest()
        team = f", teams: [{teams[role]}]" if teams and role in teams else ""
        found.append(f"- {{name: program-{role}, token_sha256: {digest}, role: {role}{team}}}\n")
    return "".join(found) or "[]\n"


def users(roles: tuple[str, ...] = ROLES, *, line: str = LINE) -> str:
    """Return a users file: a person for each role, named after it, all with one password."""
    return "".join(f"- {{name: {role}, password_hash: '{line}', role: {role}}}\n" for role in roles) or "[]\n"


def put(folder: Path, name: str, text: str) -> None:
    """Write a credential file as it should be kept."""
    new = folder / f"{name}.new"
    new.touch(mode=0o600)
    new.write_text(text)
    new.replace(folder / name)


def port_of(service: Served) -> int:
    """Return the port that a service has said it listens at, the latest where it was started several times."""
    return int(re.findall(r"listening at http://\S+:(\d+)", service.said())[-1])


class Visitor:
    """Somebody who comes by TCP, one connection a request. `cookie` and `csrf` are theirs once they signed in."""

    def __init__(self, port: int, host: str = "127.0.0.1", **headers: str) -> None:
        self.port, self.host = port, host
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.cookie = self.csrf = ""

    def ask(self, method: str, path: str, body: object = None, /, **headers: str) -> Answer:
        """Send one request. The beginning of a stream is all that is read of it."""
        sent = dict(self.headers)
        if method == "POST" and "content_type" not in headers:
            sent["Content-Type"] = "application/json"
        if self.cookie:
            sent["Cookie"] = self.cookie
        if self.csrf:
            sent["X-CSRF-Token"] = self.csrf
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        payload = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, payload, {name: value for name, value in sent.items() if value})
            response = connection.getresponse()
            kind = response.getheader("Content-Type", "")
            data = b"" if kind.startswith("text/event-stream") else response.read()
            is_json = kind.startswith("application/json") and data
            answer: Any = json.loads(data) if is_json else data.decode("utf-8", "replace")
            return Answer(response.status, answer, {name.lower(): value for name, value in response.getheaders()})
        finally:
            connection.close()

    def sign_in(self, name: str, password: str = PASSWORD) -> Answer:
        """Sign in, and keep the cookie where that worked."""
        answer = self.ask("POST", "/login", {"name": name, "password": password})
        if answer.status == 200:
            self.cookie, self.csrf = answer.headers["set-cookie"].partition(";")[0], answer.body["csrf"]
        return answer
