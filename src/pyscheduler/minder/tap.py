"""Output under `max_log`: a pipe we read, a file that never grows beyond its bound, and a job that never waits for a
disk.

The first half of the bound is kept for ever, then the file is cut in the middle, again and again: a line says how
many bytes are missing, and the newest ones follow. So the file is complete and readable at every moment, and
whoever takes over reads from that line how much was cut before. A full disk drops output and leaves a line with the
gap's size; the job never notices.

The nursery keeps the read ends too: a job whose minder is killed writes on, and the nursery copies. Up to one
pipeful that the dead minder had read and not written is then missing.
"""

from __future__ import annotations

import os
import re
import time

from . import spawn
from .ears import Ears
from .frames import Body
from .program import CannotStart

CHUNK = 65536
TURN_MAX = 16
"""Chunks of one stream copied in one go, before deadlines and signals are looked at again."""
RETRY_S = 1.0
GIVE_UP_S = 10.0
"""How long after end-of-file a disk that is full may still refuse the line about the gap."""
LINE = b"\n[pysched: %-20d bytes cut here, max_log]\n"
LINE_SIZE = len(LINE % 0)
FOUND = re.compile(rb"\n\[pysched: (\d+) *bytes cut here, max_log\]\n")
BOUND_MIN = 4 * LINE_SIZE


class Pipes:
    """Two pipes for stdout and stderr; both ends in the minder, the read ends in the nursery too."""

    def __init__(self) -> None:
        ends = [os.pipe2(os.O_CLOEXEC) for _ in range(2)]
        self.read_ends: tuple[int, ...] = tuple(read for read, _ in ends)
        self.write_ends: tuple[int, ...] = tuple(write for _, write in ends)
        for read in self.read_ends:
            os.set_blocking(read, False)

    def close_write_ends(self) -> None:
        """Leave the writing to others."""
        for fd in self.write_ends:
            os.close(fd)
        self.write_ends = ()

    def close(self) -> None:
        """Forget both pipes."""
        for fd in self.read_ends:
            os.close(fd)
        self.read_ends = ()
        self.close_write_ends()


class Stream:
    """One pipe and its file."""

    def __init__(self, source: int, path: str, bound: int) -> None:
        self.source = source
        self._file = spawn.open_log(path, os.O_RDWR)
        self._bound = max(bound, BOUND_MIN)
        self._head = self._bound // 2
        self._end = os.fstat(self._file).st_size
        self.base = self._end
        self._cut = 0
        self.lost = 0
        self.open = True
        self.due: float | None = None
        self._until = 0.0

    def resume(self, base: int) -> None:
        """Go on where a dead minder stopped; the line in the middle says how much was cut before."""
        self.base = base
        found = FOUND.fullmatch(os.pread(self._file, LINE_SIZE, base + self._head))
        self._cut = int(found[1]) if found else 0

    def pump(self) -> bool:
        """Copy what is there; False at end-of-file."""
        for _ in range(TURN_MAX):
            try:
                data = os.read(self.source, CHUNK)
            except BlockingIOError:
                return True
            if not data:
                self._finish(time.monotonic())
                return False
            self._write(data)
        return True

    def retry(self, now: float) -> None:
        """Try again to write the line about a gap."""
        if self.due is not None and now >= self.due:
            self._mend_gap(now)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _finish(self, now: float) -> None:
        self.open = False
        self._until = now + GIVE_UP_S
        if self.lost:
            self._mend_gap(now)

    def _mend_gap(self, now: float) -> bool:
        text = b"\n[pysched: %d bytes lost here, the disk was full]\n" % self.lost
        if self._put(text) == len(text):
            self.lost, self.due = 0, None
            return True
        over = not self.open and now >= self._until
        self.due = None if over else now + RETRY_S
        return False

    def _write(self, data: bytes) -> None:
        if self.lost and not self._mend_gap(time.monotonic()):
            self.lost += len(data)
            return
        written = self._put(data)
        if written < len(data):
            self.lost += len(data) - written
            self.due = time.monotonic() + RETRY_S

    def _put(self, data: bytes) -> int:
        """Write at the end, cutting the middle out first where the bound is near. Return the bytes written."""
        if self._end + len(data) - self.base > self._bound:
            return self._put_cut(data)
        try:
            written = os.pwrite(self._file, data, self._end)
        except OSError:
            return 0
        self._end += written
        return written

    def _put_cut(self, data: bytes) -> int:
        """Keep head, line, and the newest bytes up to three quarters of the bound."""
        keep = self._bound - self._head - self._bound // 4
        start = self.base + self._head
        body = start if not self._cut else start + LINE_SIZE
        if self._end < start:  # the head itself is not full yet
            room = start - self._end
            first = self._put(data[:room])
            return first + (self._put(data[room:]) if first == room else 0)
        old = os.pread(self._file, min(keep, self._end - body), max(body, self._end - keep))
        new = (old + data)[-keep:]
        cut = self._cut + self._end - body + len(data) - len(new)
        try:
            written = os.pwrite(self._file, LINE % cut + new, start)
            os.ftruncate(self._file, start + written)
        except OSError:
            return 0
        self._cut, self._end = cut, start + written
        return len(data)


class Tap:
    """Both streams of one job."""

    def __init__(self, streams: list[Stream], ears: Ears) -> None:
        self._streams = {stream.source: stream for stream in streams}
        self._ears = ears
        for source in self._streams:
            ears.also(source)

    @property
    def sources(self) -> set[int]:
        """The read ends still open."""
        return set(self._streams)

    @property
    def done(self) -> bool:
        """Whether every writer has let go and every gap is marked or given up."""
        return not self._streams

    @property
    def due(self) -> float | None:
        """The monotonic instant of the next retry."""
        return min((s.due for s in self._streams.values() if s.due is not None), default=None)

    @property
    def bases(self) -> list[int]:
        """Where in each file this attempt's output begins."""
        return [stream.base for stream in self._streams.values()]

    def outputs(self, pipes: Pipes) -> tuple[int, int]:
        """Return the write ends for the job's stdout and stderr, closing what it will not use."""
        out, err = pipes.write_ends
        if len(self._streams) == 2:
            return out, err
        os.close(err)
        return out, out

    def resume(self, bases: list[int]) -> None:
        """Go on where a dead minder stopped."""
        for stream, base in zip(self._streams.values(), bases, strict=False):
            stream.resume(base)

    def pump(self, ready: set[int]) -> None:
        """Copy from the pipes that are ready and retry what is due."""
        now = time.monotonic()
        for source, stream in list(self._streams.items()):
            if stream.open and source in ready and not stream.pump():
                self._ears.forget(source)
            stream.retry(now)
            if not stream.open and stream.due is None:
                stream.close()
                os.close(source)
                del self._streams[source]

    def drain(self) -> None:
        """Copy what lies in the pipes now."""
        self.pump(self.sources)


def open_tap(pipes: Pipes, body: Body, bound: int, ears: Ears) -> Tap:
    """Open the logs behind the pipes. CannotStart where one cannot be opened."""
    merged = body.stderr is None or body.stderr == body.stdout
    paths = [body.stdout] if merged or body.stderr is None else [body.stdout, body.stderr]
    return Tap([Stream(fd, path, bound) for fd, path in zip(pipes.read_ends, paths, strict=False)], ears)


def take_over(pipes: Pipes, body: Body, bound: int, ears: Ears) -> Tap:
    """Open the logs of a job whose minder was killed; where they cannot be opened, read on for nobody.

    A pipe without a reader would kill the job with SIGPIPE.
    """
    try:
        return open_tap(pipes, body, bound, ears)
    except CannotStart:
        body.stderr = None if body.stderr is None else os.devnull
        body.stdout = os.devnull
        return open_tap(pipes, body, bound, ears)


def sooner(deadline: float | None, tap: Tap | None) -> float | None:
    """Return the earlier of a deadline and the tap's next retry."""
    due = tap.due if tap is not None else None
    if deadline is None or due is None:
        return due if deadline is None else deadline
    return min(deadline, due)
