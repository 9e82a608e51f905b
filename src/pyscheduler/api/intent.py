"""Does the caller mean it? What keeps another site's page from acting with our caller's browser. Spec: jobs.md 13.1.

A browser sends cookies, and speaks for whoever is at the machine, no matter whose page told it to. So an unsafe request

- of a session needs the session's own token, plain or masked, in `X-CSRF-Token` or in the form field `csrf_token`;
- of a loopback caller needs our own `Origin`, or none at all and the header `X-Pysched`, which no foreign page can add
  without asking first;
- of nobody, the sign-in, must not come from another site, as far as the browser says.

Programs with a token and peers of the Unix socket are no browsers. Pure: all that is looked at is the request.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address
from operator import xor
from typing import Any, Final
from urllib.parse import parse_qsl

from pyscheduler.api.callers import Caller, Via
from pyscheduler.errors import Forbidden

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
CSRF_HEADER: Final = b"x-csrf-token"
CSRF_FIELD: Final = "csrf_token"
OURS: Final = b"x-pysched"
FORM: Final = b"application/x-www-form-urlencoded"
MAX_FIELDS: Final = 20
_HOST: Final = re.compile(r"(localhost|\[::1\]|[0-9.]{7,15})(:[0-9]{1,5})?", re.IGNORECASE)

Scope = Mapping[str, Any]


def header(scope: Scope, name: bytes) -> str | None:
    """Return a header's value; None where there is none, or more than one: nobody then knows which is meant."""
    found = [value for key, value in scope["headers"] if key == name]
    return str(found[0].decode("latin-1")) if len(found) == 1 else None


def is_form(scope: Scope) -> bool:
    """Whether the body is what a form of a page sends."""
    kind = (header(scope, b"content-type") or "").partition(";")[0].strip().lower()
    return kind == FORM.decode()


def fields_of(body: bytes) -> dict[str, str]:
    """Return a form's fields, the first of each name; nothing for what is no form."""
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="replace")
    except ValueError:
        return {}
    return dict(reversed(pairs))


def is_loopback_host(host: str | None) -> bool:
    """Whether a `Host` header names this machine to itself: localhost, 127.0.0.0/8 or [::1], perhaps with a port."""
    found = _HOST.fullmatch(host or "")
    if found is None:
        return False
    name = found[1].lower()
    return name in ("localhost", "[::1]") or _is_loopback_v4(name)


def _is_loopback_v4(name: str) -> bool:
    try:
        return IPv4Address(name).is_loopback
    except ValueError:
        return False


def is_own_origin(origin: str, host: str | None) -> bool:
    """Whether an `Origin` is the very address that was asked; `null` is nobody's."""
    return host is not None and origin.lower() == f"http://{host.lower()}"


def check(caller: Caller | None, scope: Scope, body: bytes = b"") -> None:
    """Let an unsafe request pass only if its caller means it. Raises Forbidden."""
    if scope["method"] in SAFE:
        return
    via = None if caller is None else caller.via
    if caller is not None and via in (Via.SESSION, Via.LINK):
        _check_csrf(caller.csrf, scope, body)
    elif via is Via.LOOPBACK:
        _check_origin(scope)
    elif via is None and header(scope, b"sec-fetch-site") == "cross-site":
        raise Forbidden("another site's page sent this", mend="open the sign-in page yourself")


def masked(token: str, pad: bytes) -> str:
    """Return a token as a page carries it: behind random bytes of its length, which make it another text each time.

    Pages are compressed, and the length of a compressed page tells what its parts have in common (BREACH): the token
    must have nothing in common with what another site may have put into the page before.
    """
    plain = token.encode()
    return urlsafe_b64encode(pad + bytes(map(xor, plain, pad))).decode() if plain else ""


def _unmasked(text: str) -> str:
    """Return the token of what `masked` made; of anything else something that is no token."""
    try:
        whole = b64decode(text.encode("ascii"), altchars=b"-_", validate=True)
    except ValueError:
        return ""
    half = len(whole) // 2
    return bytes(map(xor, whole[:half], whole[half:])).decode("latin-1")


def _check_csrf(wanted: str, scope: Scope, body: bytes) -> None:
    given = header(scope, CSRF_HEADER)
    if given is None and is_form(scope):
        given = fields_of(body).get(CSRF_FIELD)
    if not wanted or given is None or not (_is_same(given, wanted) or _is_same(_unmasked(given), wanted)):
        mend = "send the session's token in X-CSRF-Token, or in the form field csrf_token; reload a page that is old"
        raise Forbidden("the request does not carry its session's token", mend=mend)


def _check_origin(scope: Scope) -> None:
    origins = _all(scope["headers"], b"origin")
    if not origins and header(scope, OURS) is not None:
        return
    if len(origins) == 1 and is_own_origin(origins[0], header(scope, b"host")):
        return
    what = "another site's page sent this" if origins else "nothing says that this is no other site's page"
    raise Forbidden(what, mend="a program sends the header `X-Pysched: 1` and no Origin")


def _all(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]


def _is_same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())
