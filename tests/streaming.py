"""Server-sent events as a browser reads them, from a service on its socket."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPResponse
from typing import Any, NamedTuple

from tests.serving import PATIENCE_S, Served, _Connection


class Told(NamedTuple):
    """One event."""

    id: str
    kind: str
    data: Any


class Stream:
    """An open stream. Iterating gives its events; it ends where the service ends it."""

    def __init__(self, response: HTTPResponse) -> None:
        self.status, self.response = response.status, response
        self.comments: list[str] = []
        self.last_id = ""

    def __iter__(self) -> Iterator[Told]:
        kind, data = "message", ""
        while line := self.response.readline().decode():
            name, _, value = line.rstrip("\n").partition(":")
            value = value.removeprefix(" ")
            if line == "\n":
                if data:
                    yield Told(self.last_id, kind, json.loads(data))
                kind, data = "message", ""
            elif not name:
                self.comments.append(value)
            elif name == "event":
                kind = value
            elif name == "data":
                data += value
            elif name == "id":
                self.last_id = value

    def until(self, kind: str, **fields: object) -> list[Told]:
        """Return the events up to and with the first of a kind whose data has these fields."""
        end, found = time.monotonic() + PATIENCE_S, []
        for told in self:
            found.append(told)
            if told.kind == kind and all(told.data.get(name) == value for name, value in fields.items()):
                return found
            assert time.monotonic() < end, found
        raise AssertionError(f"the stream ended: {found}")

    def until_kind(self, kind: str) -> list[Told]:
        """Return the events up to and with the first of a kind."""
        return self.until(kind)

    def until_lines(self, count: int) -> list[Told]:
        """Return the events up to and with the one that brings at least so many lines."""
        found: list[Told] = []
        while sum(len(told.data) for told in found if told.kind == "lines") < count:
            found += self.until("lines")
        return found


@contextmanager
def streamed(service: Served, path: str, headers: Mapping[str, str] | None = None) -> Iterator[Stream]:
    """Open a stream and close it again."""
    connection = _Connection(service.socket)
    try:
        connection.request("GET", path, headers=dict(headers or {}))
        yield Stream(connection.getresponse())
    finally:
        connection.close()
