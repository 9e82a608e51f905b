"""The files of one attempt: identity, order to stop, note. The format both sides share, and every release must read.

All lie beside each other; `<status>` is the note's own path and carries the attempt's key in its name.

`<status>.pid`, the *identity*. Created empty (O_EXCL, 0600) by the launcher after the start's commit; whoever
guards the attempt holds an exclusive `flock` on it until the end. Lines of JSON; a last line without its newline is
ignored.

```text
{"v":1,"key":…,"pid":…,"start_ticks":…,"started_at":…,"boot_id":…,"minder_at":…,"monotonic":…,
 "nursery":{"pid":…,"start_ticks":…},"timeout_s":…,"kill_grace_s":…,"leftovers":…,"lease_grace_s":…}
                                                      the minder, before it starts the job
{"job":{"pid":…,"start_ticks":…}}                     the job, right after it started
{"guardian":{"pid":…,"start_ticks":…}}                the nursery, once it took over
{"bases":[0,0]}                                       where its output begins, with max_log
{"ending":"timeout"}                                  by whom, before the first signal
{"undying":4711}                                      the leader outlived KILL by 10 s
```

An identity is valid if and only if its first line is complete, is a JSON object, has a known `v`, the attempt's
`key` and the numbers `pid` and `start_ticks`. What a crash leaves: an empty file (nobody began; a minder may still
come unless the file is unlinked), a part of the first line (the minder died before it started anything), an
identity without `job` (the job may run, known by its key in the environment), any later line missing (the
guardian's successor acts without that hint). Nothing here is synced: after a power cut the boot id has changed and
no process is alive.

`<status>.new`, the *block*: room on the disk for the note, reserved before the job starts. What a crash leaves: a
file of zeros or half a note, never read by anyone; the next guardian writes over it.

`<status>`, the *note*. Written to the block, synced, renamed, folder synced; only then is the job reaped and the
lock let go. One line of JSON: `v key exit_code signal started_at ended_at start_error stopped_by lost reason
survivors leftovers rusage{cpu_s, max_rss_bytes}`. Valid if and only if it is complete JSON with a known `v` and the
attempt's `key`. It appears whole or not at all; once there it is the truth, whoever holds the lock.

`<status>.stop`, the *order to stop*: `{key, by, reason, at, grace_s}`, put there by rename. `by` is `kill`,
`timeout` or `lease`; `grace_s` null means the attempt's own grace. Valid if and only if complete JSON with the
right `key`.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

VERSION = 1
"""The version this release writes; `READERS` knows every released one."""
NAMED_PIDS = 200
"""How many survivors and leftovers a note names, so that it fits the block reserved for it."""
BLOCK_BYTES = 4096

IDENTITY = ".pid"
STOP = ".stop"
BLOCK = ".new"


def identity_path(status: str) -> str:
    """Return the path of the attempt's identity."""
    return status + IDENTITY


def stop_path(status: str) -> str:
    """Return the path of the attempt's order to stop."""
    return status + STOP


def block_path(status: str) -> str:
    """Return the path where the note lies before it is renamed."""
    return status + BLOCK


def instant() -> str:
    """Return the wall clock as text: UTC, microseconds, `Z`. For people only: nothing is decided by it."""
    now = time.time_ns() // 1000
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 1_000_000)) + f".{now % 1_000_000:06d}Z"


class Proc:
    """A process that cannot be mistaken for another one of the same boot: its number and when it started.

    `start_ticks` is field 22 of /proc/PID/stat: clock ticks since boot, which no step of the wall clock moves.
    """

    __slots__ = ("pid", "start_ticks")

    def __init__(self, pid: int, start_ticks: int) -> None:
        self.pid, self.start_ticks = pid, start_ticks

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Proc) and (self.pid, self.start_ticks) == (other.pid, other.start_ticks)

    def __hash__(self) -> int:
        return hash((self.pid, self.start_ticks))

    def __repr__(self) -> str:
        return f"Proc({self.pid}, {self.start_ticks})"

    def as_json(self) -> dict[str, int]:
        """Return the form used in files and reports."""
        return {"pid": self.pid, "start_ticks": self.start_ticks}


class Limits:
    """What a guardian enforces by itself. Durations in seconds of CLOCK_MONOTONIC.

    `lease_grace_s` is what the job gets to end once nobody vouches for its node (`lease.py`); None: it goes on.
    """

    __slots__ = ("kill_grace_s", "lease_grace_s", "leftovers", "timeout_s")

    def __init__(
        self, timeout_s: float | None, kill_grace_s: float, leftovers: str, lease_grace_s: float | None = None
    ) -> None:
        self.timeout_s, self.kill_grace_s, self.leftovers = timeout_s, kill_grace_s, leftovers
        self.lease_grace_s = lease_grace_s


class Identity:
    """What an identity file says. `monotonic` is CLOCK_MONOTONIC at the attempt's start, in seconds."""

    __slots__ = (
        "bases",
        "boot_id",
        "ending",
        "guardian",
        "job",
        "key",
        "limits",
        "minder",
        "minder_at",
        "monotonic",
        "nursery",
        "started_at",
        "undying",
    )

    def __init__(
        self,
        *,
        key: str,
        minder: Proc,
        nursery: Proc | None,
        boot_id: str,
        started_at: str,
        minder_at: str,
        monotonic: float,
        limits: Limits,
    ) -> None:
        self.key, self.minder, self.nursery, self.boot_id = key, minder, nursery, boot_id
        self.started_at, self.minder_at, self.monotonic, self.limits = started_at, minder_at, monotonic, limits
        self.job: Proc | None = None
        self.guardian = minder
        self.ending: str | None = None
        self.undying: int | None = None
        self.bases: list[int] = []

    def first_line(self) -> bytes:
        """Return the line that claims the attempt."""
        return line(
            {
                "v": VERSION,
                "key": self.key,
                **self.minder.as_json(),
                "started_at": self.started_at,
                "boot_id": self.boot_id,
                "minder_at": self.minder_at,
                "monotonic": self.monotonic,
                "nursery": self.nursery.as_json() if self.nursery else None,
                "timeout_s": self.limits.timeout_s,
                "kill_grace_s": self.limits.kill_grace_s,
                "leftovers": self.limits.leftovers,
                "lease_grace_s": self.limits.lease_grace_s,
            }
        )


dumps = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().raw_decode
"""Made once: `json.dumps` with separators builds a new encoder each time."""


def loads(text: str) -> Any:
    """Return the JSON value that the text is, spaces after it aside. ValueError."""
    value, end = _decode(text)
    if text[end:].strip():
        raise ValueError("something follows the JSON")
    return value


def line(value: dict[str, object]) -> bytes:
    """Return one line of a file."""
    return dumps(value).encode() + b"\n"


def _proc(value: object) -> Proc | None:
    if not isinstance(value, dict):
        return None
    pid, ticks = value.get("pid"), value.get("start_ticks")
    if not isinstance(pid, int) or not isinstance(ticks, int) or pid <= 0 or ticks <= 0:
        return None
    return Proc(pid, ticks)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _loads(text: bytes) -> dict[str, object] | None:
    try:
        value = loads(text.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _read_v1(first: dict[str, object], later: list[dict[str, object]]) -> Identity | None:
    minder = _proc(first)
    if minder is None:
        return None
    identity = Identity(
        key=str(first.get("key")),
        minder=minder,
        nursery=_proc(first.get("nursery")),
        boot_id=str(first.get("boot_id") or ""),
        started_at=str(first.get("started_at") or ""),
        minder_at=str(first.get("minder_at") or ""),
        monotonic=_number(first.get("monotonic")) or 0.0,
        limits=Limits(
            _number(first.get("timeout_s")),
            _number(first.get("kill_grace_s")) or 0.0,
            str(first.get("leftovers") or "leave"),
            _number(first.get("lease_grace_s")),
        ),
    )
    for entry in later:
        _add_v1(identity, entry)
    return identity


def _add_v1(identity: Identity, entry: dict[str, object]) -> None:
    identity.job = _proc(entry.get("job")) or identity.job
    identity.guardian = _proc(entry.get("guardian")) or identity.guardian
    ending, undying, bases = entry.get("ending"), entry.get("undying"), entry.get("bases")
    if isinstance(ending, str):
        identity.ending = ending
    if isinstance(undying, int):
        identity.undying = undying
    if isinstance(bases, list):
        identity.bases = [base for base in bases if isinstance(base, int)]


READERS = {1: _read_v1}
"""A reader for every `v` ever released; none is ever taken away."""


def parse_identity(data: bytes, key: str | None = None) -> Identity | None:
    """Return what an identity file says, None where it is not valid (see above). `key` None takes any."""
    lines = data.split(b"\n")[:-1]
    first = _loads(lines[0]) if lines else None
    if first is None or (key is not None and first.get("key") != key):
        return None
    version = first.get("v")
    if not isinstance(version, int) or version not in READERS:
        return None
    return READERS[version](first, [entry for text in lines[1:] if (entry := _loads(text)) is not None])


def parse_note(data: bytes, key: str | None = None) -> dict[str, object] | None:
    """Return the note's fields, None where it is not valid (see above). `key` None takes any."""
    note = _loads(data)
    if note is None or (key is not None and note.get("key") != key):
        return None
    version = note.get("v")
    return note if isinstance(version, int) and version in READERS else None


def blank_note(identity: Identity) -> dict[str, object]:
    """Return a note with every field, as it stands before anything is known of the end."""
    return {
        "v": VERSION,
        "key": identity.key,
        "exit_code": None,
        "signal": None,
        "started_at": identity.started_at,
        "ended_at": None,
        "start_error": None,
        "stopped_by": None,
        "lost": None,
        "reason": "",
        "survivors": [],
        "leftovers": [],
        "rusage": None,
    }


def read_note(status: str, key: str | None = None) -> dict[str, object] | None:
    """Return the attempt's note, None where there is none with that key."""
    data = read(status)
    return None if data is None else parse_note(data, key)


def read_stop(status: str, key: str) -> dict[str, object] | None:
    """Return the order to stop, None where there is none with that key."""
    data = read(stop_path(status))
    order = None if data is None else _loads(data)
    return order if order is not None and order.get("key") == key else None


def read(path: str) -> bytes | None:
    """Return a small file's bytes, None where there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return _read_all(fd)
    finally:
        os.close(fd)


def _read_all(fd: int) -> bytes:
    data = os.read(fd, 65536)
    if len(data) < 65536:
        return data
    parts = [data]
    while part := os.read(fd, 65536):
        parts.append(part)
    return b"".join(parts)


def read_locked(fd: int) -> bytes:
    """Return what stands in an identity that is open."""
    return os.pread(fd, 65536, 0)


def write_stop(status: str, order: dict[str, object]) -> None:
    """Put the order to stop in its place: whole or not at all. OSError where it cannot be written."""
    path = stop_path(status)
    fresh = path + BLOCK
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, line(order))
    finally:
        os.close(fd)
    os.rename(fresh, path)
