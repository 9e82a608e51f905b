"""Does the caller mean it: what another site's page cannot send."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.api.callers import Caller, Role, Via
from pyscheduler.api.intent import check, fields_of, header, is_form, is_loopback_host, is_own_origin, masked
from pyscheduler.errors import Forbidden

FORM = "application/x-www-form-urlencoded"


def scope(method: str = "POST", **headers: str) -> dict[str, Any]:
    pairs = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {"method": method, "path": "/api/reload", "headers": pairs}


def somebody(via: Via) -> Caller:
    return Caller("ann", Role.OPERATOR, via, csrf="right" if via in (Via.SESSION, Via.LINK) else "")


@pytest.mark.parametrize("via", list(Via))
def test_looking_needs_no_intent(via: Via) -> None:
    """A link may be followed from anywhere: it changes nothing."""
    for method in ("GET", "HEAD", "OPTIONS"):
        check(somebody(via), scope(method, origin="https://evil.example"))


@pytest.mark.parametrize("via", [Via.SOCKET, Via.TOKEN])
def test_programs_are_no_browsers(via: Via) -> None:
    """No page can speak through the Unix socket, nor knows a token."""
    check(somebody(via), scope())


@pytest.mark.parametrize("via", [Via.SESSION, Via.LINK])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "ODD"])
def test_a_session_needs_its_own_token(via: Via, method: str) -> None:
    """In the header for every method; a wrong one, an empty one and none are refused."""
    check(somebody(via), scope(method, x_csrf_token="right"))
    for headers in ({}, {"x_csrf_token": "wrong"}, {"x_csrf_token": ""}, {"x_pysched": "1"}):
        with pytest.raises(Forbidden, match="session's token"):
            check(somebody(via), scope(method, **headers))


def test_a_form_may_bring_the_token_as_a_field() -> None:
    """But only a form, and a header that is wrong is not made good by it."""
    check(somebody(Via.SESSION), scope(content_type=f"{FORM}; charset=utf-8"), b"a=b&csrf_token=right")
    for headers, body in (
        ({"content_type": "text/plain"}, b"csrf_token=right"),
        ({"content_type": FORM, "x_csrf_token": "wrong"}, b"csrf_token=right"),
        ({"content_type": FORM}, b"csrf_token=wrong&csrf_token=right"),
        ({"content_type": FORM}, b"\xff\xfe"),
    ):
        with pytest.raises(Forbidden):
            check(somebody(Via.SESSION), scope(**headers), body)


@given(st.binary(min_size=5, max_size=5))
def test_a_page_may_send_the_token_as_it_carries_it(pad: bytes) -> None:
    """Masked, which is another text for each page and yields nothing without the rest of it."""
    text = masked("right", pad)
    check(somebody(Via.SESSION), scope(x_csrf_token=text))
    check(somebody(Via.SESSION), scope(content_type=FORM), b"csrf_token=" + text.encode())
    for wrong in (text[:-4], text + "AAAA", masked("wrong", pad), masked("right", pad)[::-1], "é", "=" * len(text)):
        with pytest.raises(Forbidden):
            check(somebody(Via.SESSION), scope(x_csrf_token=wrong))


def test_a_masked_token_has_nothing_in_common_with_the_next() -> None:
    """The same session, two pages; who has no token gets none."""
    assert masked("right", b"\0\0\0\0\0") != masked("right", b"\1\2\3\4\5")
    assert masked("", b"") == ""
    with pytest.raises(Forbidden):
        check(Caller("ann", via=Via.SESSION), scope(x_csrf_token=masked("", b"")))


def test_a_session_without_a_token_can_do_nothing() -> None:
    """An empty token is not a token that anybody may send."""
    with pytest.raises(Forbidden):
        check(Caller("ann", via=Via.SESSION), scope(x_csrf_token=""))


def test_a_loopback_caller_says_that_no_page_sent_it() -> None:
    """Our own origin, or our header without any origin."""
    host = "127.0.0.1:8470"
    check(somebody(Via.LOOPBACK), scope(host=host, origin=f"http://{host}"))
    check(somebody(Via.LOOPBACK), scope(host=host, x_pysched="1"))
    for headers in (
        {},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9000"},
        {"origin": "http://evil.example", "x_pysched": "1"},
        {"origin": "https://127.0.0.1:8470"},
    ):
        with pytest.raises(Forbidden):
            check(somebody(Via.LOOPBACK), scope(host=host, **headers))


def test_two_origins_are_no_origin() -> None:
    """Nor two hosts: nobody knows which one counts."""
    asked = scope(host="localhost", origin="http://localhost")
    asked["headers"].append((b"origin", b"http://evil.example"))
    with pytest.raises(Forbidden):
        check(somebody(Via.LOOPBACK), asked)
    assert header({"headers": [(b"host", b"a"), (b"host", b"b")]}, b"host") is None


def test_the_sign_in_is_not_sent_by_another_site() -> None:
    """As far as the browser says; a program says nothing."""
    check(None, scope())
    check(None, scope(sec_fetch_site="same-origin"))
    with pytest.raises(Forbidden, match="another site"):
        check(None, scope(sec_fetch_site="cross-site"))


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8470", "127.0.0.1", "127.0.0.1:8470", "127.8.9.1:1", "[::1]", "[::1]:8470"]
)
def test_these_hosts_are_this_machine(host: str) -> None:
    """With and without a port."""
    assert is_loopback_host(host)


@pytest.mark.parametrize(
    "host",
    [
        *(None, "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1:8470:1"),
        *("10.0.0.1", "127.1", "0127.0.0.1", "127.0.0.256", "2130706433", "::1", "[::]", "[::1", "localhost:", ":8470"),
        *("localhost\n", " localhost", "localhost/", "localhost@evil.example", "0.0.0.0", "[::ffff:127.0.0.1]"),
    ],
)
def test_no_other_host_is(host: str | None) -> None:
    """A name that only resolves to this machine is how a foreign page would come here."""
    assert not is_loopback_host(host)


def test_an_origin_is_ours_if_it_is_the_address_that_was_asked() -> None:
    """To the letter, but for its case."""
    assert is_own_origin("http://LocalHost:8470", "localhost:8470")
    for origin in ("http://localhost", "https://localhost:8470", "null", "", "http://localhost:8470/"):
        assert not is_own_origin(origin, "localhost:8470")
    assert not is_own_origin("http://", None)


def test_a_form_is_read_within_bounds() -> None:
    """The first field of a name counts; too many are none."""
    assert fields_of(b"a=1&b=%E2%82%AC&a=2&c=") == {"a": "1", "b": "\u20ac", "c": ""}
    assert fields_of(b"&".join(b"a=1" for _ in range(21))) == {}
    assert is_form(scope(content_type=FORM.upper()))
    assert not is_form(scope())
