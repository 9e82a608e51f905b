"""Speaks with a running scheduler: JSON over HTTP over the Unix socket in its state directory.

The kernel tells the scheduler who is calling, so nothing is sent that could name anybody. An answer is bounded in time
and in size. What the scheduler refuses comes back as `Refused` with its words; what cannot be reached as `Unreachable`,
which says how to mend it. Spec: jobs.md 13.3, 14.1.
"""

from __future__ import annotations

import errno
import http.client
import json
import os
import shlex
import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import quote, urlencode

from pyscheduler.cli.faults import STARTING, CommandError, Refused, Unreachable

TIMEOUT_S: Final = 30.0
MAX_ANSWER: Final = 64 << 20
_LONGEST_PATH: Final = 100
"""A socket's address holds 107 bytes; a longer path is reached through its folder's descriptor."""

Json = Any


class Client(Protocol):
    """What a command needs of a scheduler. Every call raises Unreachable, Refused, CommandError."""

    def get(self, path: str, **query: object) -> Json:
        """Return the answer's JSON. A query value of None is left out, a list is given several times."""
        ...

    def post(self, path: str, body: Mapping[str, object] | None = None, *, key: str | None = None) -> Json:
        """Return the answer's JSON. A body value of None is left out. With a `key` asking again is done once."""
        ...

    def raw(self, path: str, **query: object) -> tuple[bytes, Mapping[str, str]]:
        """Return the answer's bytes as they are, and its headers with lower-case names."""
        ...


def segment(name: str) -> str:
    """Return a name as one segment of a path."""
    return quote(name, safe="")


class HttpClient(ABC):
    """What clients share: each call is a connection of its own, with no state and no waiting."""

    _timeout_s: float
    _base: str = ""
    """What comes before every path."""

    @abstractmethod
    def _connection(self) -> http.client.HTTPConnection:
        """Return a connection that is not open yet."""

    @abstractmethod
    def _unreachable(self, error: Exception) -> Unreachable:
        """Say in an operator's words why there was no answer."""

    def _more_headers(self, method: str) -> Mapping[str, str]:
        """Return what a request carries beside the usual."""
        del method
        return {}

    def _checked(self, answer: http.client.HTTPResponse, refusal: Refused | None) -> None:
        """Raise what an answer is where it is none to go on with."""
        del answer
        if refusal is not None:
            raise refusal

    def get(self, path: str, **query: object) -> Json:
        """Return the answer's JSON."""
        return _parsed(self._ask("GET", _with_query(path, query))[0])

    def post(self, path: str, body: Mapping[str, object] | None = None, *, key: str | None = None) -> Json:
        """Return the answer's JSON."""
        given = {key: value for key, value in (body or {}).items() if value is not None}
        return _parsed(self._ask("POST", path, json.dumps(given).encode(), key)[0])

    def raw(self, path: str, **query: object) -> tuple[bytes, Mapping[str, str]]:
        """Return the answer's bytes as they are, and its headers with lower-case names."""
        return self._ask("GET", _with_query(path, query))

    def _ask(
        self, method: str, target: str, body: bytes | None = None, key: str | None = None
    ) -> tuple[bytes, Mapping[str, str]]:
        connection = self._connection()
        headers = {"Accept": "application/json", "Connection": "close", **self._more_headers(method)}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        try:
            connection.request(method, self._base + target, body=body, headers=headers)
            with connection.getresponse() as answer:
                data = answer.read(MAX_ANSWER + 1)
                missing = answer.length
            if missing and len(data) <= MAX_ANSWER:
                # A bounded read does not complain itself when the other end is gone.
                raise http.client.IncompleteRead(data, missing)
            if not (data or answer.chunked or answer.getheader("Content-Length")):
                # Nor does the library where the end came in the middle of the headers.
                raise http.client.IncompleteRead(data)
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()
        if len(data) > MAX_ANSWER:
            raise CommandError(f"the answer has more than {MAX_ANSWER >> 20} MiB", mend="ask for less with --limit")
        self._checked(answer, _refused(answer.status, data) if answer.status >= 400 else None)
        return data, {name.lower(): value for name, value in answer.getheaders()}


class SocketClient(HttpClient):
    """A client of the scheduler behind one Unix socket."""

    def __init__(self, path: Path, config: Path, timeout_s: float = TIMEOUT_S) -> None:
        self._path, self._config, self._timeout_s = path, config, timeout_s

    def _connection(self) -> http.client.HTTPConnection:
        return _UnixConnection(self._path, self._timeout_s)

    def _unreachable(self, error: Exception) -> Unreachable:
        """Say in an operator's words why there was no answer."""
        where, start = str(self._path), f"pysched serve {shlex.quote(str(self._config))} starts one"
        if isinstance(error, TimeoutError):
            what = f"the scheduler did not answer within {self._timeout_s:g} s"
            return Unreachable(what, where=where, mend="its log says what keeps it; `pysched doctor` looks around")
        if isinstance(error, http.client.HTTPException | ConnectionResetError | BrokenPipeError):
            what = "the scheduler broke off in the middle of its answer"
            return Unreachable(what, where=where, mend="it may be stopping: ask again in a moment", broke_off=True)
        number = error.errno if isinstance(error, OSError) else None
        if number in (errno.ENOENT, errno.ENOTDIR):
            return Unreachable("no scheduler is running", where=str(self._config), mend=start, nobody=True)
        if number == errno.ECONNREFUSED:
            what = "no scheduler is running (its socket is left over from one that was killed)"
            return Unreachable(what, where=str(self._config), mend=start, nobody=True, left_behind=True)
        if number in (errno.EACCES, errno.EPERM):
            mend = "only root and the scheduler's own user may: use sudo -u with that user"
            return Unreachable("this user may not talk to the scheduler", where=where, mend=mend)
        return Unreachable(f"the scheduler cannot be reached ({error})", where=where, mend=start)


class _UnixConnection(http.client.HTTPConnection):
    """An HTTP connection whose other end is a Unix socket."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        """Connect. Raises OSError."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        address = os.fspath(self._path)
        if len(os.fsencode(address)) <= _LONGEST_PATH:
            self.sock.connect(address)
            return
        folder = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{self._path.name}")
        finally:
            os.close(folder)


def _with_query(path: str, query: Mapping[str, object]) -> str:
    given = {key: value for key, value in query.items() if value is not None}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def _parsed(data: bytes) -> Json:
    try:
        return json.loads(data)
    except ValueError:
        raise CommandError(
            "the scheduler's answer is no JSON", mend="are command and scheduler of one release?"
        ) from None


def _refused(status: int, data: bytes) -> Refused:
    """Return the refusal that an answer of status 400 and above means."""
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    answer = found if isinstance(found, dict) else {}
    what = answer.get("error") or answer.get("message") or f"the scheduler answered with status {status}"
    if status == 503 and what == STARTING and answer.get("message"):
        what = f"{STARTING}, and cannot yet: {answer['message']}"
    if status == 503 and answer.get("status") == "failed":
        what = "the scheduler's engine has failed and is trying to start again"
    return Refused(
        str(what),
        where=str(answer.get("where") or ""),
        mend=str(answer.get("mend") or ""),
        status=status,
        problems=answer.get("problems") or (),
    )
