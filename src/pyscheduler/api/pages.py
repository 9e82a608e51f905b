"""The few pages that must be there before anybody is somebody: the sign-in, and a refusal that a browser shows.

`Pages` is how the room of pages brings its own look; `PlainPages` is what is shown without it. Every page, whoever
made it, leaves with HEADERS: no script, style or frame but our own. Spec: jobs.md 15.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final, Protocol

from starlette.responses import Response

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; font-src 'self'"
    ),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


class Pages(Protocol):
    """How these pages look. Each returns the whole page as HTML."""

    def login(self, *, next_path: str, name: str, message: str) -> str:
        """The form: fields `name`, `password` and the hidden `next`, for `/login`; `message` is what went wrong."""
        ...

    def refusal(self, *, title: str, text: str, mend: str) -> str:
        """Why somebody may not come in, and what to do about it."""
        ...


class PlainPages:
    """The pages without any look."""

    def login(self, *, next_path: str, name: str, message: str) -> str:
        """Return the form."""
        said = f'<p role="alert">{escape(message)}</p>' if message else ""
        form = (
            f'<form method="post" action="/login">{said}'
            f'<input type="hidden" name="next" value="{escape(next_path)}">'
            f'<p><label>Name <input name="name" value="{escape(name)}" autocomplete="username" required></label></p>'
            '<p><label>Password <input name="password" type="password" autocomplete="current-password" required>'
            "</label></p><p><button>Sign in</button></p></form>"
        )
        return _whole("Sign in", form)

    def refusal(self, *, title: str, text: str, mend: str) -> str:
        """Return the refusal."""
        return _whole(title, f"<p>{escape(text)}</p><p>{escape(mend)}</p>")


def _whole(title: str, body: str) -> str:
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body><h1>{escape(title)}</h1>{body}</body></html>'


def page(html: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a page as an answer."""
    return Response(html, status, {**HEADERS, **(headers or {})}, "text/html; charset=utf-8")
