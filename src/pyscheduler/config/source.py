"""The only reader of configuration files: the main file and all it includes. Spec: jobs.md 1.1.

A file is read once, in one piece, and only if it is a regular file of bearable size that nobody was writing meanwhile.
Order is depth first: a file, then what it includes. A file reached twice is read once, so including in a circle is
harmless. Nothing here recurses, and one Budget bounds nodes and bytes of all files together.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyscheduler.config.complaints import Complaints, Spot, shown
from pyscheduler.config.compose import MAX_BYTES, Budget
from pyscheduler.config.lenient import compose_leniently
from pyscheduler.config.patterns import matches
from pyscheduler.config.tree import Block, Items, Tree, TreeError
from pyscheduler.config.values import BadValue
from pyscheduler.model.problem import Problem, Severity

if TYPE_CHECKING:
    from pyscheduler.model.job import ConfigSource

MAX_FILES: Final = 10_000
_TRIES: Final = 3
_MAGIC: Final = set("*?[")


@dataclass(slots=True)
class File:
    """One loaded file. `shown` is its path as people see it; `root` None where it holds no mapping to read on."""

    shown: str
    order: int
    data: bytes = b""
    root: Block | None = None

    def spot(self, complaints: Complaints) -> Spot:
        """Return the spot of the whole file."""
        return Spot(complaints, self.order, self.shown, self.root if self.root is not None else "", (1, 1))


@dataclass(slots=True)
class Files:
    """All files of a configuration in load order."""

    complaints: Complaints
    expand: Callable[[str], str]
    budget: Budget = field(default_factory=Budget)
    loaded: list[File] = field(default_factory=list)
    patterns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    def read_all(self, main: Path) -> None:
        """Read the main file and everything it includes, complaining about what cannot be read."""
        shown_path = os.path.normpath(main)
        pending: list[tuple[str, Spot | None]] = [(shown_path, None)]
        while pending and not self.complaints.full:
            path, named_at = pending.pop()
            real = os.path.realpath(path)
            if real in self._seen:
                continue
            if len(self.loaded) >= MAX_FILES:
                self._complain(named_at, path, f"more than {MAX_FILES:,} files are included")
                return
            self._seen.add(real)
            file = self.read(path, named_at)
            if file is not None and file.root is not None:
                # Depth first with a stack: what is to be read first must be pushed last.
                pending.extend(reversed(list(self._included(file))))

    def sources(self) -> tuple[ConfigSource, ...]:
        """Return the files as typed, and let go of the trees: a text and its tree at once may take 300 MB."""
        from pyscheduler.model.job import ConfigSource  # `glance` need not wait for all the nouns of a job

        for file in self.loaded:
            file.root = None
        return tuple(ConfigSource(path=file.shown, text=_text_of(file)) for file in self.loaded)

    def read(self, path: str, named_at: Spot | None) -> File | None:
        """Read one file into `loaded`; None after complaining where it cannot be read at all."""
        try:
            data = read_bytes(path, min(MAX_BYTES, self.budget.size))
        except BadValue as error:
            self._complain(named_at, path, error.what, error.mend)
            return None
        self.budget.size -= len(data)
        file = File(path, len(self.loaded), data)
        self.loaded.append(file)
        try:
            file.root = self._root(file, data)
        except TreeError as error:
            problem = Problem(path, error.line, error.column, error.what, error.mend)
            self.complaints.add(file.order, problem)
            if self.budget.nodes < 0:
                self.complaints.give_up()
        return file

    def _root(self, file: File, data: bytes) -> Block | None:
        check_text(data)
        composed = compose_leniently(data, self.budget)
        for flaw in composed.flaws:
            self.complaints.add(file.order, Problem(file.shown, flaw.line, flaw.column, flaw.what, flaw.mend))
        root: Tree | None = composed.root
        if root is None:
            return Block(1, 1)
        if not isinstance(root, Block):
            what = "the top level must be a mapping of sections"
            self.complaints.add(
                file.order, Problem(file.shown, 1, 1, what, "begin with scheduler:, jobs: and the like")
            )
            return None
        return root

    # ----------------------------------------------------------------- includes

    def _included(self, file: File) -> Iterator[tuple[str, Spot | None]]:
        assert file.root is not None
        if "include" not in file.root:
            return
        spot = file.spot(self.complaints)
        listed = file.root["include"]
        if isinstance(listed, Block):
            spot.error(("include",), "must be a list", "write include: [jobs/*.yaml]")
            return
        for number, item in enumerate(listed if isinstance(listed, Items) else [listed]):
            if not isinstance(item, str):
                spot.error(("include", number), "must be a path or a pattern")
                continue
            try:
                yield from ((path, spot) for path in self._matches(file, self.expand(item)))
            except BadValue as error:
                spot.error(("include", number), f"{shown(item)} {error.what}", error.mend)

    def _matches(self, file: File, text: str) -> list[str]:
        if not text.strip() or "\0" in text:
            raise BadValue("is no path")
        pattern = os.path.normpath(os.path.join(os.path.dirname(file.shown), text))
        if not _MAGIC & set(text):
            found = [pattern] if os.path.isfile(pattern) else []
            if not found and os.path.lexists(pattern):
                raise BadValue("is no plain file", "name files, or with a pattern those of a folder: jobs/*.yaml")
        elif pattern.startswith("/**"):
            raise BadValue("would search the whole machine", "begin the pattern with a folder")
        else:
            found = matches(pattern)
            self.patterns[pattern] = tuple(found)
        if not found:
            raise BadValue("matches no file")
        return found

    def _complain(self, named_at: Spot | None, path: str, what: str, mend: str = "") -> None:
        order = named_at.order if named_at is not None else 0
        self.complaints.add(order, Problem(path, 0, 0, what, mend, None, Severity.ERROR))


def _text_of(file: File) -> str:
    """Return the text, taking the bytes away. What is no UTF-8 was complained about and is not kept."""
    data, file.data = file.data, b""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return ""


# --------------------------------------------------------------------------- one file


def read_bytes(path: str, limit: int = MAX_BYTES) -> bytes:
    """Return a regular file's bytes without a byte order mark. Raises BadValue for what cannot be a configuration."""
    for _ in range(_TRIES):
        data = _read_once(path, limit)
        if data is not None:
            return data[3:] if data.startswith(codecs.BOM_UTF8) else data
    raise BadValue("cannot be read: it is being written to", "write a new file and rename it into place")


def _read_once(path: str, limit: int) -> bytes | None:
    """Return the bytes, or None where the file changed while it was read."""
    try:
        # A FIFO without a writer would block an open for ever; a regular file does not care.
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb", buffering=0) as handle:
            before = os.fstat(handle.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise BadValue("cannot be read: it is no regular file")
            if before.st_size > limit:
                raise BadValue(
                    f"has {before.st_size:,} bytes, and {MAX_BYTES >> 20} MiB is the limit for all files together"
                )
            data = handle.read(limit + 1)
            after = os.fstat(handle.fileno())
    except OSError as error:
        raise BadValue(f"cannot be read: {error.strerror or error}") from None
    changed = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or len(data) != after.st_size
    return None if changed else data


_PIECE: Final = 1 << 16
_CONTROLS: Final = bytes(range(32)).translate(None, b"\t\n\r") + b"\x7f"


def check_text(data: bytes) -> None:
    """Raise TreeError unless the bytes are UTF-8 text without control characters."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise TreeError(0, 0, "cannot be read: this is UTF-16", "save it as UTF-8")
    first = _first_control(data)
    if first is not None:
        what = f"cannot be read: a byte {data[first]:#04x} has no place in a text file"
        raise TreeError(*_place_of(data, first), what, "is this a binary file?" if data[first] == 0 else "")
    decoder = codecs.getincrementaldecoder("utf-8")()
    for at in range(0, len(data), _PIECE):
        piece = data[at : at + _PIECE]
        try:
            decoder.decode(piece, final=at + _PIECE >= len(data))
        except UnicodeDecodeError as error:
            # What the decoder kept back of the piece before stands at the head of what it complains about.
            bad = at + error.start - (len(error.object) - len(piece))
            what = f"cannot be read: byte {data[bad]:#04x} is not UTF-8"
            raise TreeError(*_place_of(data, bad), what, "save it as UTF-8") from None


def _first_control(data: bytes) -> int | None:
    if len(data.translate(None, _CONTROLS)) == len(data):
        return None
    return next((at for at, byte in enumerate(data) if byte in _CONTROLS), None)


def _place_of(data: bytes, at: int) -> tuple[int, int]:
    begin = data.rfind(b"\n", 0, at) + 1
    return data.count(b"\n", 0, at) + 1, len(data[begin:at].decode("utf-8", "replace")) + 1
