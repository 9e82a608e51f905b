"""`open`: a link on stdout, how long it works on stderr, and what to do where there are no pages."""

from __future__ import annotations

import webbrowser

import pytest

from pyscheduler.cli.faults import Refused
from tests.unit.cli.prompt import Prompt

URL = "http://127.0.0.1:8470/enter/CODE"


@pytest.fixture
def night(pysched: Prompt) -> Prompt:
    pysched.scheduler.replies = {"POST /api/links": {"url": URL, "expires_at": "2027-05-20T12:01:00Z"}}
    return pysched


def test_the_link_is_the_answer(night: Prompt) -> None:
    """Alone on stdout, so that it can be handed on."""
    said = night("open")
    assert (said.code, said.out) == (0, f"{URL}\n")
    assert said.err == "it works once, until 2027-05-20 14:01:00+02:00\n"
    assert night("open", "--json").json["url"] == URL


def test_a_browser_is_opened_if_asked_for(night: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none can be, the link is still there."""
    opened: list[str] = []

    def opens(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", opens)
    assert night("open", "--browser").code == 0
    assert opened == [URL]
    monkeypatch.setattr(webbrowser, "open", lambda _url: False)
    said = night("open", "--browser")
    assert (said.code, said.out) == (1, f"{URL}\n")
    assert "follow the link yourself" in said.err


def test_without_pages_it_says_what_to_do(night: Prompt) -> None:
    """An older scheduler, or one without a listener."""
    night.scheduler.replies["POST /api/links"] = Refused("Not Found", status=404)
    said = night("open")
    assert said.code == 1
    assert said.err.startswith("error: this scheduler has no pages to open\n  mend: set scheduler.listen")
    mend = "set `listen`, and restart"
    night.scheduler.replies["POST /api/links"] = Refused("there is no TCP listener", mend=mend, status=409)
    assert mend in night("open").err
