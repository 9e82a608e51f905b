"""The pages that are there before anybody is somebody."""

from __future__ import annotations

from pyscheduler.api.pages import HEADERS, PlainPages, page


def test_nothing_that_was_typed_becomes_a_part_of_the_page() -> None:
    """Markup in a name, in a message or in an address stays text."""
    evil = '"><script>alert(1)</script>'
    for html in (
        PlainPages().login(next_path=evil, name=evil, message=evil),
        PlainPages().refusal(title=evil, text=evil, mend=evil),
    ):
        assert "<script" not in html
        assert "&lt;script&gt;" in html


def test_a_page_lets_nothing_of_others_in() -> None:
    """No script, style or frame but our own, and no copy kept."""
    answer = page("x", 403, {"Retry-After": "5"})
    assert answer.status_code == 403
    assert answer.headers["retry-after"] == "5"
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
