"""The files that pages need, served from the package: styles, small modules, and what is vendored.

An address holds a digest of the content (`/static/3f2a…/css/base.css`), of all files together, so that a module's
relative imports stay within one edition and every file may be kept for a year. Another digest than ours is answered
with the file as it is now, never kept: a page of before an upgrade goes on working.

All files are read once, into memory: half a megabyte. Nothing of a request is ever part of a path.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final, NamedTuple

from fastapi import APIRouter, Request
from starlette.responses import Response

from pyscheduler.errors import NotFound

KINDS: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "json": "application/json",
    "txt": "text/plain; charset=utf-8",
}
A_YEAR: Final = "public, max-age=31536000, immutable"


class Asset(NamedTuple):
    """One file."""

    body: bytes
    kind: str


class Edition(NamedTuple):
    """All files, and the digest that names them together."""

    digest: str
    files: dict[str, Asset]


@cache
def edition() -> Edition:
    """Return the files of this package. Reads them on first use."""
    found = dict(sorted(_walk(files("pyscheduler.web") / "static", "")))
    sum_ = hashlib.sha256()
    for name, asset in found.items():
        sum_.update(name.encode() + b"\0" + hashlib.sha256(asset.body).digest())
    return Edition(sum_.hexdigest()[:12], found)


def _walk(folder: Traversable, before: str) -> list[tuple[str, Asset]]:
    found: list[tuple[str, Asset]] = []
    for entry in folder.iterdir():
        name = before + entry.name
        if entry.is_dir():
            found += _walk(entry, name + "/")
        elif (kind := KINDS.get(entry.name.rpartition(".")[2])) is not None:
            found.append((name, Asset(entry.read_bytes(), kind)))
    return found


def address(name: str) -> str:
    """Return where a file is served. KeyError for one there is not: a template's mistake must not wait for a reader."""
    found = edition()
    if name not in found.files:
        raise KeyError(f"there is no file {name} under static/")
    return f"/static/{found.digest}/{name}"


def router() -> APIRouter:
    """Return the route."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/static/{digest}/{name:path}")
    async def static(request: Request, digest: str, name: str) -> Response:
        found = edition()
        asset = found.files.get(name)
        if asset is None:
            raise NotFound("there is no such file", mend="open the page anew")
        is_ours = digest == found.digest
        headers = {
            "Cache-Control": A_YEAR if is_ours else "no-cache",
            "ETag": f'"{found.digest}"',
            "X-Content-Type-Options": "nosniff",
        }
        if is_ours and request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(asset.body, headers=headers | {"Content-Type": asset.kind})

    return routes
