"""The API's description for people: one page made of the same document that programs read.

No script, no asset of anybody else's: the list is written here, its one stylesheet comes from here, and the policy
says so (`Content-Security-Policy`). Whoever wants to try requests out feeds `/api/openapi.json` to a tool of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import Response

from pyscheduler.api.desk import FrontDesk

POLICY: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 62rem; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; text-transform: capitalize; }
details { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
summary { cursor: pointer; padding: .6rem 0; overflow-wrap: anywhere; }
code { font-family: ui-monospace, monospace; font-size: .95em; }
b { display: inline-block; min-width: 4rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: .5rem 0 1rem; }
th, td { text-align: left; padding: .25rem 1rem .25rem 0; vertical-align: top; }
"""
Document = Mapping[str, Any]


def router(desk: FrontDesk, openapi: Callable[[], dict[str, Any]]) -> APIRouter:
    """Return the routes; `openapi` makes the document, and may take its time."""
    routes = APIRouter(prefix="/api", include_in_schema=False)

    @routes.get("/docs")
    async def docs() -> Response:
        page = await desk.threads(lambda: "".join(_page(openapi())))
        return Response(page, media_type="text/html", headers=POLICY)

    @routes.get("/docs.css")
    async def style() -> Response:
        return Response(STYLE, media_type="text/css", headers={"X-Content-Type-Options": "nosniff"})

    return routes


def _page(document: Document) -> Iterator[str]:
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}: API</title>'
    yield '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/api/docs.css"></head><body>'
    yield f"<main><h1>{title}: HTTP API</h1>"
    yield '<p>For programs: <a href="/api/openapi.json">openapi.json</a>. Open a line for its parameters.</p>'
    groups: dict[str, list[tuple[str, str, Document]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    for name, operations in groups.items():
        yield f"<section><h2>{escape(name)}</h2>"
        for each in operations:
            yield from _operation(*each, document)
        yield "</section>"
    yield "</main></body></html>"


def _operation(method: str, path: str, operation: Document, document: Document) -> Iterator[str]:
    meaning = escape(operation.get("description") or operation.get("summary", ""))
    yield f"<details><summary><b>{method}</b> <code>{escape(path)}</code> {meaning}</summary>"
    rows: list[tuple[str, ...]] = [
        (each["name"], each["in"], _kind(each["schema"]), each.get("description", ""))
        for each in operation.get("parameters", ())
    ]
    rows += [(name, "body", kind, text) for name, kind, text in _fields(operation, document)]
    yield from _table(("name", "in", "kind", "meaning"), rows)
    yield from _table(
        ("status", "answer"), [(status, _answer(each)) for status, each in operation["responses"].items()]
    )
    yield "</details>"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        return
    yield "<table><thead><tr>" + "".join(f'<th scope="col">{escape(name)}</th>' for name in head) + "</tr></thead>"
    for row in rows:
        yield "<tr>" + "".join(f"<td><code>{escape(cell)}</code></td>" for cell in row) + "</tr>"
    yield "</table>"


def _fields(operation: Document, document: Document) -> Iterator[tuple[str, str, str]]:
    """Yield the fields of a body: name, kind, meaning."""
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    parts = [schema, *schema.get("anyOf", ())]
    for part in parts:
        named = document["components"]["schemas"].get(part.get("$ref", "").rpartition("/")[2], {})
        required = named.get("required", ())
        for name, field in named.get("properties", {}).items():
            must = ", required" if name in required else ""
            yield name, _kind(field) + must, field.get("description", "")


def _kind(schema: Document) -> str:
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"] if each.get("type") != "null"))
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}"
    return str(schema.get("format") or schema.get("const") or schema.get("type", "any"))


def _answer(response: Document) -> str:
    for kind, content in response.get("content", {}).items():
        schema = content.get("schema", {})
        return _kind(schema) if kind == "application/json" and schema else str(kind)
    return str(response.get("description", ""))
