r"""What travels between launcher, nursery and minders. None of it outlives a process.

Orders: launcher to nursery over a stream socket, `u32 length` and the order; nursery to an idle minder over its own
pipe in the same form. An order is one line of JSON, the *head*, which is all the nursery reads, and one of JSON, the
*body*, which only the minder reads:

```text
{"key":…,"status":…,"lock":true,"special":false,"tap":null}\n
{"argv":[…],"env":{…},"cwd":…,"stdout":…,"stderr":…,"timeout_s":…,"kill_grace_s":…,"leftovers":…,
 "user":…,"umask":…,"nice":…,"limits":{…},"lease_grace_s":…}
```
`lease_grace_s` came later than the rest: an order without it is one whose job goes on whatever becomes of its node.

Reports: minder to nursery over one pipe shared by all (a write of at most PIPE_BUF bytes is never mixed with
another's), nursery to launcher over the stream socket, in the same form, `u32 length` and one JSON object. They are
hints: whatever they say stands in a file first, so one may be lost, repeated or late without harm.

```text
{"r":"taken","n":…}                              so many orders were read since the start              nursery
{"r":"started","key","pid","start_ticks"}        the identity names this minder                        minder
{"r":"ended","key","pid","note":{…}|null,"idle"} the note is on disk (null: too long, read it)         minder, nursery
{"r":"refused","key","pid","why","idle"}         the file said "not for you"                           minder, nursery
{"r":"failed","key","pid","error","idle"}        nothing was started, the file is unlinked             minder, nursery
{"r":"guardian","key","pid","start_ticks","job"} the nursery guards it now                             nursery
{"r":"undying","key","pid","job"}                the leader outlived KILL                              minder, nursery
{"r":"unwritten","key","pid","why"}              it has ended; the note cannot be put in its place      minder, nursery
{"r":"crashed","pid","text"}                     our bug: the traceback                                minder, nursery
```
`idle` true: that minder may take the next order.
"""

from __future__ import annotations

import os

from . import notes

FRAME_MAX = 4 * 1024 * 1024
"""The longest order."""
REPORT_MAX = 4096
"""PIPE_BUF: up to here a write to the shared pipe is one piece."""
HAND_MAX = 60 * 1024
"""The longest order an idle minder takes: it fits an empty pipe whole. A longer one goes to a fresh minder by fork."""
TEXT_MAX = 300
"""Characters left of a text in a report that is too long; each may take six bytes."""
LENGTH = 4
LATER = ("lease_grace_s",)
"""Fields that an order may lack: the scheduler that sent it is older than the nursery it has started."""


def frame(payload: bytes) -> bytes:
    """Return the payload with its length before it."""
    return len(payload).to_bytes(LENGTH, "big") + payload


def report(kind: str, **fields: object) -> bytes:
    """Return a report as a frame."""
    return frame(notes.dumps({"r": kind, **fields}).encode())


def short_report(kind: str, **fields: object) -> bytes:
    """Return a report of at most REPORT_MAX bytes: a note too long for that is left to be read, texts are cut."""
    data = report(kind, **fields)
    if len(data) > REPORT_MAX and "note" in fields:
        fields["note"] = None
        data = report(kind, **fields)
    if len(data) > REPORT_MAX:
        data = report(kind, **{name: _cut(value) for name, value in fields.items()})
    return data


def _cut(value: object) -> object:
    return value[-TEXT_MAX:] if isinstance(value, str) else value


class Reader:
    """Cuts a stream of bytes into payloads. A length beyond `limit` is a broken stream: ValueError."""

    def __init__(self, limit: int = FRAME_MAX) -> None:
        self._limit = limit
        self._data = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Add what was read and return the payloads that are now whole, in order."""
        self._data += data
        found, at = [], 0
        while len(self._data) - at >= LENGTH:
            length = int.from_bytes(self._data[at : at + LENGTH], "big")
            if length > self._limit:
                raise ValueError(f"a frame of {length} bytes")
            if len(self._data) - at - LENGTH < length:
                break
            at += LENGTH
            found.append(bytes(self._data[at : at + length]))
            at += length
        del self._data[:at]
        return found


class Writer:
    """A non-blocking descriptor and what it would not take yet, at most `bound` bytes.

    Beyond the bound a report is dropped: it is a hint, and the reader has long stopped reading.
    """

    def __init__(self, fd: int, bound: int = 4 * FRAME_MAX) -> None:
        self.fd, self._bound = fd, bound
        self._waiting = bytearray()

    @property
    def waiting(self) -> bool:
        """Whether bytes wait for the descriptor to become writable."""
        return bool(self._waiting)

    def put(self, data: bytes) -> bool:
        """Take bytes to be sent by the next `flush`; False where there is no room."""
        if len(self._waiting) + len(data) > self._bound:
            return False
        self._waiting += data
        return True

    def flush(self) -> bool:
        """Send what can be sent; True if all of it was. BrokenPipeError, ConnectionResetError: nobody reads."""
        while self._waiting:
            try:
                sent = os.write(self.fd, self._waiting)
            except BlockingIOError:
                return False
            del self._waiting[:sent]
        return True


class Order:
    """An order as the nursery sees it: the head read, the body untouched."""

    __slots__ = ("key", "lock", "payload", "special", "status", "tap")

    def __init__(self, payload: bytes) -> None:
        head = notes.loads(payload[: payload.index(b"\n")].decode())
        self.payload = payload
        self.key: str = head["key"]
        self.status: str = head["status"]
        self.lock: bool = head["lock"]
        self.special: bool = head["special"]
        self.tap: int | None = head["tap"]

    def forget_body(self) -> None:
        """Give the memory back once a minder has begun; a tapped order's is needed to take its output over."""
        if self.tap is None:
            self.payload = b""

    def body(self) -> Body:
        """Return what only the minder reads."""
        return Body(notes.loads(self.payload[self.payload.index(b"\n") + 1 :].decode()))


class Body:
    """What to start and under which limits. Text may hold lone surrogates: bytes that are no UTF-8."""

    __slots__ = (
        "argv",
        "cwd",
        "env",
        "kill_grace_s",
        "lease_grace_s",
        "leftovers",
        "limits",
        "nice",
        "stderr",
        "stdout",
        "timeout_s",
        "umask",
        "user",
    )

    def __init__(self, fields: dict[str, object]) -> None:
        for name in self.__slots__:
            setattr(self, name, fields.get(name) if name in LATER else fields[name])

    argv: list[str]
    cwd: str
    env: dict[str, str]
    kill_grace_s: float
    lease_grace_s: float | None
    leftovers: str
    limits: dict[str, int]
    nice: int | None
    stderr: str | None
    stdout: str
    timeout_s: float | None
    umask: int | None
    user: str | None
