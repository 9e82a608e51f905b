"""One HTTP request, as careful as a message to strangers must be. Spec: jobs.md 15.3.

http and https only; nothing but 2xx is success; a redirect is refused, because what is sent may be secret and was meant
for the address as typed. No error names more of the address than its host.
"""

from __future__ import annotations

import base64
import http.client
import ssl
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from pyscheduler.__about__ import __version__
from pyscheduler.errors import NotifyError

AGENT: Final = f"pyscheduler/{__version__}"
MOST_READ: Final = 65536


def request(method: str, url: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float) -> None:
    """Send a request and return if the answer is 2xx. Raises NotifyError, OSError, ValueError for a bad address."""
    parts = checked(url)
    connection = _connection(parts, timeout_s)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request(method, path, body, {"User-Agent": AGENT, **_login(parts), **headers})
        answer = connection.getresponse()
        answer.read(MOST_READ)
    except http.client.HTTPException as error:
        raise NotifyError(f"{parts.hostname} gave no proper answer ({type(error).__name__})") from None
    except ValueError:
        raise NotifyError("a header or the address holds characters that HTTP has no place for") from None
    except TimeoutError:
        raise NotifyError(f"{parts.hostname} did not answer within {timeout_s:g} s") from None
    except OSError as error:
        raise NotifyError(f"{parts.hostname} cannot be reached: {error.strerror or error}") from None
    finally:
        connection.close()
    if 300 <= answer.status < 400:
        raise NotifyError(f"{parts.hostname} answered {answer.status}: redirects are not followed")
    if not 200 <= answer.status < 300:
        raise NotifyError(f"{parts.hostname} answered {answer.status}")


def checked(url: str) -> SplitResult:
    """Return the parts of an address. Raises ValueError, without the address, for one that cannot be used."""
    if not url.isprintable() or any(each.isspace() for each in url):
        raise ValueError("the address holds blanks or control characters")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("the address is no http or https address")
    return parts


def _connection(parts: SplitResult, timeout_s: float) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        return http.client.HTTPSConnection(host, parts.port, timeout=timeout_s, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, parts.port, timeout=timeout_s)


def _login(parts: SplitResult) -> dict[str, str]:
    """Return the header for a name and password written into the address."""
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
