"""The session's cookie, there and back."""

from __future__ import annotations

from pyscheduler.api.cookies import MOST_TRIED, clearing, setting, values_of


def read(*headers: str) -> list[str]:
    return list(values_of({"headers": [(b"cookie", each.encode("latin-1")) for each in headers]}))


def test_ours_is_found_among_others() -> None:
    """In one header or in several, with blanks or without."""
    assert read("a=b; pysched_session=one;c=d") == ["one"]
    assert read("a=b", "pysched_session=one; pysched_session=two") == ["one", "two"]
    assert list(values_of({"headers": [(b"accept", b"pysched_session=one")]})) == []


def test_what_only_looks_like_it_is_not_taken() -> None:
    """The name is the whole name."""
    assert read("xpysched_session=a; pysched_sessionx=b; PYSCHED_SESSION=c; pysched_session") == [""]


def test_no_more_than_a_few_are_looked_at() -> None:
    """However many a browser sends."""
    assert len(read("; ".join(f"pysched_session={n}" for n in range(50)))) == MOST_TRIED


def test_the_cookie_is_for_this_site_and_no_script() -> None:
    """Eight hours; by HTTPS only where that is wished."""
    assert setting("v", secure=False) == "pysched_session=v; Path=/; Max-Age=28800; HttpOnly; SameSite=Lax"
    assert setting("v", secure=True).endswith("; Secure")
    assert clearing(secure=False).startswith("pysched_session=; Path=/; Max-Age=0; HttpOnly")
