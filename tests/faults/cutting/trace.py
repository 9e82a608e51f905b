"""What a scheduler, its nursery and its minders did to one folder, as strace saw it, in the order it happened.

`-z` prints a call once it has succeeded, so a line's place in the trace is the call's end; `-y` names the file behind
each descriptor; `-xx` keeps every byte. What is sent over sockets and pipes and what is exec'd is recorded as well:
that is what others were told, and which jobs had begun, at each point of the trace. Memory maps are not seen: SQLite's
index (`-shm`) is rebuilt by whoever opens the store first, so it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FILES = "open,openat,creat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,fdatasync"
NAMES = "rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,link,linkat,symlink,symlinkat"
STRACE = ("strace", "-D", "-f", "-z", "-y", "-xx", "-s", "1000000", "-qq", "-e", "signal=none")
"""-D keeps the traced process our own child."""

_LINE = re.compile(rb"^\d+ +(\w+)\((.*)\) += (.*)$")
_TEXT = re.compile(rb'"((?:\\x[0-9a-f]{2})*)"')
_OPEN = re.compile(rb"(\d+)<((?:\\x[0-9a-f]{2})*)>(\(deleted\))?")
_HEX = re.compile(rb"\\x")


def command(log: Path) -> tuple[str, ...]:
    """Return what to put before a command to have it recorded."""
    return (*STRACE, "-e", f"trace={FILES},{NAMES},sendto,execve", "-o", str(log))


@dataclass(frozen=True, slots=True)
class Made:
    """A name came into the folder: of a file, or of a folder."""

    path: str
    folder: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes were written. `offset` None: at the file's end."""

    path: str
    offset: int | None
    data: bytes


@dataclass(frozen=True, slots=True)
class Sized:
    """A file was cut or extended to a size; `at_least` leaves a longer one as it is."""

    path: str
    size: int
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Renamed:
    """A name changed."""

    path: str
    to: str


@dataclass(frozen=True, slots=True)
class Removed:
    """A name went."""

    path: str


@dataclass(frozen=True, slots=True)
class Synced:
    """A file or a folder was synced."""

    path: str


@dataclass(frozen=True, slots=True)
class Told:
    """Bytes were sent over a socket or a pipe."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Begun:
    """A program was exec'd."""

    argv: tuple[str, ...]


Event = Made | Written | Sized | Renamed | Removed | Synced | Told | Begun


class Tracer:
    """Turns lines of strace into events of one folder. It must see the folder's files from their beginning."""

    def __init__(self, folder: Path, skipped: tuple[str, ...] = ()) -> None:
        self._folder, self._skipped = f"{folder}/", skipped
        self._known: set[str] = set()

    def read(self, log: Path) -> Iterator[Event]:
        """Yield the events of one recording."""
        for line in log.read_bytes().splitlines():
            match = _LINE.match(line)
            if match is not None:
                yield from self._event(match[1].decode(), match[2], match[3])

    def _inside(self, path: str) -> bool:
        if not path.startswith(self._folder) and path != self._folder[:-1]:
            return False
        return not any(path.endswith(ending) for ending in self._skipped)

    def _event(self, call: str, args: bytes, result: bytes) -> Iterator[Event]:
        if call == "sendto":
            yield Told(_text(args))
        elif call == "execve":
            yield Begun(tuple(_unhex(text).decode(errors="replace") for text in _TEXT.findall(args)[1:]))
        elif call in ("open", "openat", "creat"):
            yield from self._opened(args, result)
        elif call in ("rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat"):
            yield from self._named(call, args)
        elif call in ("truncate", "link", "linkat", "symlink", "symlinkat"):
            assert self._folder.encode() not in _unhex(b"".join(_TEXT.findall(args))), f"teach the tracer {call}"
        elif (descriptor := _OPEN.match(args)) is not None and descriptor[3] is None:
            path = _unhex(descriptor[2]).decode(errors="replace")
            if call == "write" and path.startswith(("pipe:", "socket:")):
                yield Told(_text(args))
            elif self._inside(path):
                yield _on_file(call, path, args[descriptor.end() :], int(result.split(b" ")[0]))

    def _opened(self, args: bytes, result: bytes) -> Iterator[Event]:
        descriptor = _OPEN.match(result)
        path = _unhex(descriptor[2]).decode(errors="replace") if descriptor is not None else ""
        if not self._inside(path):
            return
        if b"O_CREAT" in args and path not in self._known:
            self._known.add(path)
            yield Made(path)
        elif b"O_TRUNC" in args:
            yield Sized(path, 0)

    def _named(self, call: str, args: bytes) -> Iterator[Event]:
        paths = [_unhex(text).decode(errors="replace") for text in _TEXT.findall(args)]
        if not self._inside(paths[0]):
            assert not any(map(self._inside, paths)), f"something came into the folder from outside: {paths}"
            return
        if call.startswith("rename"):
            self._known.discard(paths[0])
            self._known.add(paths[1])
            yield Renamed(*paths)
        elif call.startswith("mkdir"):
            yield Made(paths[0], folder=True)
        else:
            self._known.discard(paths[0])
            yield Removed(paths[0])


def _on_file(call: str, path: str, rest: bytes, result: int) -> Event:
    """Return what a call on an open file did. Calls that nobody here uses are refused rather than forgotten."""
    numbers = [int(part) for part in rest.rpartition(b'"')[2].split(b",") if part.strip().isdigit()]
    match call:
        case "write":
            return Written(path, None, _text(rest)[:result])
        case "pwrite64":
            return Written(path, numbers[-1], _text(rest)[:result])
        case "ftruncate":
            return Sized(path, numbers[0])
        case "fallocate":
            return Sized(path, numbers[-2] + numbers[-1], at_least=True)
        case "fsync" | "fdatasync":
            return Synced(path)
    raise AssertionError(f"{call} on {path}: teach the tracer what that does")


def _text(args: bytes) -> bytes:
    match = _TEXT.search(args)
    return b"" if match is None else _unhex(match[1])


def _unhex(text: bytes) -> bytes:
    return bytes.fromhex(_HEX.sub(b"", text).decode())
