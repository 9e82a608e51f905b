"""Pages go compressed to who takes it, and what stands in them beside a stranger's text is never the same twice."""

from __future__ import annotations

import gzip
import http.client
import re
from collections.abc import Iterator

import pytest

from tests.serving import PATIENCE_S, Served, served
from tests.visitors import Visitor, port_of, put, tokens, users

TEXT = """
scheduler: {listen: '127.0.0.1:0', api_tokens_file: tokens.yaml, users_file: users.yaml}
jobs:
  nightly: {command: 'true', schedule: manual}
"""
META = re.compile(r'<meta name="csrf" content="([^"]+)">')


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("packing")
    put(home, "tokens.yaml", tokens())
    put(home, "users.yaml", users())
    with served(home, TEXT) as found:
        yield found.start()


@pytest.fixture
def operator(service: Served) -> Visitor:
    found = Visitor(port_of(service), accept="text/html")
    assert found.sign_in("operator").status == 200
    return found


def body_of(visitor: Visitor, path: str, accepted: str) -> tuple[str | None, bytes]:
    """Return how a page was encoded, and its bytes."""
    connection = http.client.HTTPConnection(visitor.host, visitor.port, timeout=PATIENCE_S)
    headers = {"Accept": "text/html", "Cookie": visitor.cookie, "Accept-Encoding": accepted}
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("Vary")) == (200, "Accept-Encoding")
    body = answer.read()
    connection.close()
    return answer.getheader("Content-Encoding"), body


def test_a_browser_gets_the_page_small(operator: Visitor) -> None:
    """It is the page that others get whole, but for the token and the clock."""
    how, packed = body_of(operator, "/", "gzip, br")
    plainly, whole = body_of(operator, "/", "br")
    assert (how, plainly) == ("gzip", None)
    assert len(packed) < len(whole) / 2
    without = re.compile(rb'<meta name="csrf".*|.*csrf_token.*|.*id="clock".*')
    assert without.sub(b"", gzip.decompress(packed)) == without.sub(b"", whole)


def test_the_api_is_never_compressed(operator: Visitor) -> None:
    """A program reads lists without unpacking; nothing there stands beside a secret."""
    answer = operator.ask("GET", "/api/jobs", accept_encoding="gzip")
    assert answer.status == 200
    assert "content-encoding" not in answer.headers


def test_each_page_carries_another_token_and_all_of_them_are_good(operator: Visitor) -> None:
    """The session's own token stands in no page as it is: nobody can guess it from how well a page compresses."""
    pages = [str(operator.ask("GET", "/?q=nightly").body) for _ in range(2)]
    carried = [META.findall(page)[0] for page in pages]
    assert carried[0] != carried[1]
    assert all(operator.csrf not in page for page in pages)
    for token in carried:
        asked = Visitor(operator.port)
        asked.cookie, asked.csrf = operator.cookie, token
        assert asked.ask("POST", "/api/jobs/nightly/trigger", {}).status == 200
        asked.csrf = token[:-4] + "AAAA"
        assert asked.ask("POST", "/api/jobs/nightly/trigger", {}).status == 403
