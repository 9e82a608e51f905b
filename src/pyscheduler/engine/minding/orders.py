"""From a LaunchSpec to the bytes of an order. What cannot be exec'd is refused here, before any file exists.

Text that stands for bytes that are no UTF-8 (surrogate escapes) arrives as it was: the nursery always runs in UTF-8
mode, so a scheduler under another locale translates.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import Final

from pyscheduler.engine.ports import LaunchSpec
from pyscheduler.minder import frames

_UTF8: Final = sys.getfilesystemencoding().lower() in ("utf-8", "utf8")


def encode(spec: LaunchSpec, *, lock: bool) -> bytes:
    """Return the order of an attempt. ValueError, TypeError: it can never be started as it stands.

    OSError where the scheduler's own folder is gone and the job names none.
    """
    _check(spec)
    special = spec.user is not None or bool(spec.limits) or spec.nice is not None
    head: dict[str, object] = {
        "key": spec.key,
        "status": _path(spec.status_path),
        "lock": lock,
        "special": special,
        "tap": spec.max_log_bytes,
    }
    body: dict[str, object] = {
        "argv": [_bytes_as_utf8(item) for item in spec.argv],
        "env": {_bytes_as_utf8(name): _bytes_as_utf8(value) for name, value in spec.env.items()},
        "cwd": _path(spec.cwd if spec.cwd is not None else os.getcwd()),
        "stdout": _path(spec.stdout_path),
        "stderr": None if spec.stderr_path is None else _path(spec.stderr_path),
        "timeout_s": spec.timeout_s,
        "kill_grace_s": spec.kill_grace_s,
        "leftovers": spec.leftovers,
        "lease_grace_s": None if spec.lease_path is None else spec.lease_grace_s,
        "user": spec.user,
        "umask": spec.umask,
        "nice": spec.nice,
        "limits": dict(spec.limits),
    }
    payload = _line(head) + _line(body)
    if len(payload) > frames.FRAME_MAX:
        raise ValueError(f"command and environment take {len(payload)} bytes, and {frames.FRAME_MAX} is the most")
    return payload


def _line(value: dict[str, object]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _check(spec: LaunchSpec) -> None:
    if not spec.argv:
        raise ValueError("the command is empty")
    texts = [*spec.argv, *spec.env.keys(), *spec.env.values(), str(spec.cwd or "")]
    _no_nul(texts, "command or environment")
    _no_nul((str(spec.stdout_path), str(spec.stderr_path), str(spec.status_path)), "a path")
    for name in spec.env:
        if not name or "=" in name:
            raise ValueError(f"{name!r} cannot be the name of an environment variable")


def _no_nul(texts: Iterable[str], where: str) -> None:
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{text!r} in {where} is no text")
        if "\0" in text:
            raise ValueError(f"a NUL character in {where}: {text[:80]!r}")


def _path(path: str | os.PathLike[str]) -> str:
    return _bytes_as_utf8(os.path.abspath(path))


def _bytes_as_utf8(text: str) -> str:
    return text if _UTF8 else os.fsencode(text).decode("utf-8", "surrogateescape")
