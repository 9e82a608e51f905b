"""Reading an attempt's log: by the path its row recorded, whatever lies there now.

What must always hold:

- only a regular file is read, and no symbolic link is followed that somebody else made: a job under another user could
  otherwise point its log at a file that only the scheduler may read. A link on the way is fine where root or we own it
  (as with a log folder moved to another disk); the file itself is never one;
- whatever the size, an answer costs its own length: the tail is looked for backwards in blocks, at most TAIL_BYTES;
- text never lies about bytes: UTF-8 with one U+FFFD for each bad sequence, and a page ends between characters. A
  sequence that is not complete yet is left for the next page, unless the attempt has ended and nothing follows.

Blocks for as long as the disk takes: for a helper thread. Field cases FC-046, FC-048.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pyscheduler.errors import Forbidden, NotFound

TAIL_BYTES: Final = 8 * 1024 * 1024
BLOCK: Final = 64 * 1024
LINKS: Final = 40
"""Symbolic links followed on the way, as many as the kernel would."""
LONGEST_CHARACTER: Final = 4


@dataclass(frozen=True, slots=True)
class Tail:
    """The last lines. `truncated` says that there are more before them; `size` is where a follower goes on."""

    lines: list[str]
    truncated: bool
    size: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes from `offset` as text; the next page begins at `next_offset`."""

    text: str
    offset: int
    next_offset: int
    size: int


def tail(path: str, lines: int) -> Tail:
    """Return the last `lines` lines; one that is not ended yet counts. Raises NotFound, Forbidden, OSError."""
    with opened(path) as log:
        size = os.fstat(log).st_size
        data, start = _backwards(log, size, lines)
    return _last_lines(data, lines, size, begins_file=start == 0)


def _backwards(log: int, end: int, lines: int) -> tuple[bytes, int]:
    """Return bytes before `end` that hold more than `lines` newlines, as far as there are any, and where they begin."""
    start, floor = end, max(0, end - TAIL_BYTES)
    blocks: deque[bytes] = deque()
    ends = 0
    while start > floor and ends <= lines:
        step = min(BLOCK, start - floor)
        block = os.pread(log, step, start - step)
        start -= step
        blocks.appendleft(block)
        ends += block.count(b"\n")
    return b"".join(blocks), start


def _last_lines(data: bytes, lines: int, size: int, *, begins_file: bool) -> Tail:
    found = data.split(b"\n")
    if found[-1] == b"":
        found.pop()
    truncated = len(found) > lines or (not begins_file and bool(found))
    kept = found[-lines:]
    if kept and len(kept) == len(found) and not begins_file:
        kept[0] = _from_character(kept[0])
    return Tail([text_of_line(line) for line in kept], truncated, size)


def text_of_line(line: bytes) -> str:
    """Return a line as text, in steps where it is long: each step keeps the interpreter, and so the loop, waiting."""
    if len(line) <= BLOCK:
        return line.decode("utf-8", "replace")
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pieces = (decoder.decode(line[at : at + BLOCK], at + BLOCK >= len(line)) for at in range(0, len(line), BLOCK))
    return "".join(pieces)


def _from_character(data: bytes) -> bytes:
    """Return the bytes from the first that can begin a character, where a cut may have gone through one."""
    skip = 0
    while skip < min(len(data), LONGEST_CHARACTER - 1) and data[skip] & 0xC0 == 0x80:
        skip += 1
    return data[skip:]


def piece(path: str, offset: int, limit: int, *, ended: bool) -> Piece:
    """Return up to about `limit` bytes from `offset` on as text. Raises NotFound, Forbidden, OSError.

    An offset inside a character is moved back to its beginning. `ended`: nobody writes to the file any more.
    """
    with opened(path) as log:
        size = os.fstat(log).st_size
        if offset >= size:
            return Piece("", size, size, size)
        offset = _begin_of_character(log, offset)
        data = os.pread(log, limit + LONGEST_CHARACTER - 1, offset)
    end_of_file = offset + len(data) >= size
    text, used = _decoded(data, limit, final=ended and end_of_file)
    return Piece(text, offset, offset + used, size)


def _begin_of_character(log: int, offset: int) -> int:
    """Return where the character begins that the byte at `offset` is part of; `offset` where it is part of none."""
    back = min(offset, LONGEST_CHARACTER - 1)
    data = os.pread(log, back + LONGEST_CHARACTER, offset - back)
    if len(data) <= back:  # the file was cut since its size was asked for
        return offset
    for at in range(back, -1, -1):
        if data[at] & 0xC0 != 0x80:
            whole = data[at : at + _length(data[at])]
            return offset - back + at if at + len(whole) > back and _is_character(whole) else offset
    return offset


def _length(lead: int) -> int:
    """Return how many bytes the character that begins so has."""
    return 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 1


def _is_character(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decoded(data: bytes, limit: int, *, final: bool) -> tuple[str, int]:
    """Return the text of about the first `limit` bytes, and how many bytes it is."""
    for end in range(min(limit, len(data)), len(data) + 1):
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        is_last = final and end == len(data)
        text = decoder.decode(data[:end], final=is_last)
        pending = 0 if is_last else len(decoder.getstate()[0])
        if end > pending:
            return text, end - pending
    return "", 0


@dataclass(frozen=True, slots=True)
class Lines:
    """Whole lines, and the offset after the last of them; `size` is the file's."""

    lines: list[str]
    end: int
    size: int


def lines_from(path: str, offset: int, *, ended: bool) -> Lines:
    """Return the whole lines of the next BLOCK bytes from `offset` on. Raises like `tail`.

    `offset` is where a line begins. One longer than BLOCK comes in pieces, cut between characters; with `ended` (nobody
    writes any more) what follows the last newline counts as a line. A `size` below `offset` says that the file was cut.
    """
    with opened(path) as log:
        size = os.fstat(log).st_size
        data = os.pread(log, BLOCK, offset)
    used = data.rfind(b"\n") + 1
    is_last = ended and offset + len(data) >= size
    if is_last:
        used = len(data)
    elif not used and len(data) == BLOCK:
        used = _decoded(data, BLOCK - LONGEST_CHARACTER, final=False)[1]
    return Lines(_lines_of(data[:used]), offset + used, size)


def lines_before(path: str, end: int | None, lines: int) -> Lines:
    """Return the last `lines` whole lines before `end`, where a line begins; before the file's end where it is None.

    What follows the file's last newline is left for later. At most TAIL_BYTES are read. Raises like `tail`.
    """
    with opened(path) as log:
        size = os.fstat(log).st_size
        stop = size if end is None else min(end, size)
        data, start = _backwards(log, stop, lines)
    if end is None:
        stop = start + data.rfind(b"\n") + 1
        data = data[: stop - start]
    found = _lines_of(data)
    if start and found:  # where it begins nobody can say: a line, or the middle of one
        found = found[1:]
    return Lines(found[-lines:], stop, size)


def _lines_of(data: bytes) -> list[str]:
    found = data.split(b"\n")
    if found[-1] == b"":
        found.pop()
    return [text_of_line(line) for line in found]


def block(path: str, offset: int, limit: int) -> bytes:
    """Return up to `limit` bytes from `offset` on as they are, fewer only at the end. Raises like `tail`."""
    with opened(path) as log:
        return os.pread(log, limit, offset)


def size_of(path: str) -> int:
    """Return how many bytes the log has. Raises like `tail`."""
    with opened(path) as log:
        return os.fstat(log).st_size


# --------------------------------------------------------------------------- opening


@contextmanager
def opened(path: str) -> Iterator[int]:
    """Open a log for reading and close it. Raises NotFound where there is none, Forbidden where it is none of ours."""
    try:
        log = _open(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise NotFound("there is no log yet", where=path) from None
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise Forbidden("the log is not a regular file any more", where=path) from None
        raise
    try:
        yield log
    finally:
        os.close(log)


def _open(path: str) -> int:
    folder = _folder(os.path.dirname(path))
    try:
        log = os.open(
            os.path.basename(path),
            os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC,
            dir_fd=folder,
        )
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(log).st_mode):
        os.close(log)
        raise Forbidden("the log is not a regular file any more", where=path)
    return log


def _folder(path: str) -> int:
    """Open a folder, part by part, following links of root and of our own user only."""
    to_go = deque(part for part in path.split("/") if part)
    here = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    links = 0
    while to_go:
        part = to_go.popleft()
        try:
            there = os.open(part, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        except OSError:
            os.close(here)
            raise
        found = os.fstat(there)
        if not stat.S_ISLNK(found.st_mode):
            os.close(here)
            here = there
            continue
        target = os.readlink("", dir_fd=there)
        os.close(there)
        links += 1
        if found.st_uid not in (0, os.geteuid()) or links > LINKS:
            os.close(here)
            raise Forbidden("a folder of the log is a link that somebody else made", where=path)
        to_go.extendleft(reversed([each for each in target.split("/") if each]))
        if target.startswith("/"):
            os.close(here)
            here = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    return here
