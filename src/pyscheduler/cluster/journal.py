"""Ends that must not be forgotten: a file an incarnation, synced before the store is told. Spec: claims.md C6.

`state_dir/journal/<inc_id>.jsonl`, locked (flock) by the incarnation while it lives. Lines of JSON, each valid if and
only if it is complete, with a known `v`:

```text
{"v":1,"end":{…},"boot_id":…,"at":…}    a report as S4 takes it, and when it ended by the boot clock, in seconds
{"v":1,"stored":[run_id,token]}          the store has it, or has said that it comes too late
```

What a crash leaves: a last line without its newline (the end was not acknowledged to anybody, and the attempt's note
still says it), an end without its `stored` (replayed: S4 answers AGAIN to what it has), a file without a lock (its
incarnation is dead, and whoever finds it may replay it). A file whose ends are all stored is removed, and one that has
grown past LARGE is emptied in a moment in which all of them are.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Final

from pyscheduler.model.run import Outcome, RunState
from pyscheduler.store.claims import Held, Report

VERSION: Final = 1
FOLDER: Final = "journal"
ENDING: Final = ".jsonl"
LARGE: Final = 1 << 20
_FIELDS: Final = frozenset(each.name for each in fields(Report))


class Journal:
    """The ends of one incarnation. Made by `Journal.begin`, or by `replayable` for one that died."""

    def __init__(self, path: Path, descriptor: int, boot_id: str) -> None:
        self.path = path
        self._fd = descriptor
        self._boot_id = boot_id
        self._open: dict[tuple[str, int], tuple[Report, float | None]] = {}
        self._turn = threading.Lock()
        """One line of ours at a time: ends and their settling come from different threads."""
        self._is_torn = False
        """Whether the file may end in half a line."""

    @classmethod
    def begin(cls, state_dir: Path, inc_id: str, boot_id: str) -> Journal:
        """Begin the journal of a new incarnation. Raises OSError."""
        folder = state_dir / FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{inc_id}{ENDING}"
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            # Not at once: whoever looks for the dead may have found it unlocked this very moment, and lets go soon.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(path, descriptor):
                break
            os.close(descriptor)  # taken for a dead one's, and removed
        _sync_folder(folder)
        return cls(path, descriptor, boot_id)

    def pending(self, now: float) -> list[Report]:
        """Return the ends that the store has not got, the oldest first; `now` is the boot clock in seconds."""
        return [
            replace(report, ended_ago_s=max(0.0, now - at)) if at is not None else report
            for report, at in self._open.values()
        ]

    def note(self, report: Report, now: float) -> None:
        """Write an end down; it is on disk when this returns. Raises OSError, and then it is kept in memory alone."""
        self.note_all([report], now)

    def note_all(self, reports: Sequence[Report], now: float) -> None:
        """The same for many, with one sync."""
        lines: list[dict[str, object]] = []
        with self._turn:
            for report in reports:
                at = now - report.ended_ago_s
                self._open[report.run_id, report.token] = (report, at)
                end = {name: value for name, value in asdict(report).items() if name != "ended_ago_s"}
                lines.append({"v": VERSION, "end": end, "boot_id": self._boot_id, "at": at})
            self._append(lines)
        os.fsync(self._fd)

    def settle(self, *stored: Held) -> None:
        """Write down that the store has these, and leave it to the next end to sync that.

        What is forgotten of this is replayed, which changes nothing; so it is after OSError, which it raises.
        """
        with self._turn:
            gone = [each for each in stored if self._open.pop((each.run_id, each.token), None) is not None]
            self._append([{"v": VERSION, "stored": [each.run_id, each.token]} for each in gone])
            if not self._open and os.fstat(self._fd).st_size > LARGE:
                os.ftruncate(self._fd, 0)  # a power cut may bring it back: then it is replayed

    def close(self) -> None:
        """Let go; a journal whose ends are all stored goes with it."""
        if self._fd < 0:
            return
        try:
            if not self._open:
                self.path.unlink(missing_ok=True)
        finally:
            os.close(self._fd)
            self._fd = -1

    def _append(self, lines: Sequence[dict[str, object]]) -> None:
        texts = (json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
        data = (b"\n" if self._is_torn else b"") + b"".join(texts)
        self._is_torn = True  # until it is known that the line is whole
        if os.write(self._fd, data) < len(data):
            raise OSError(f"{self.path}: the disk is full")
        self._is_torn = False

    def _read(self) -> None:
        data = os.pread(self._fd, os.fstat(self._fd).st_size, 0)
        for text in data.split(b"\n")[:-1]:
            self._take(text)
        self._is_torn = bool(data) and not data.endswith(b"\n")  # what follows is a line of its own

    def _take(self, text: bytes) -> None:
        try:
            line = json.loads(text)
        except ValueError:
            return
        if not isinstance(line, dict) or line.get("v") != VERSION:
            return
        if isinstance(stored := line.get("stored"), list):
            self._open.pop((str(stored[0]), int(stored[1])), None)
        elif isinstance(end := line.get("end"), dict):
            report = _report_of(end)
            is_this_boot = line.get("boot_id") == self._boot_id
            self._open[report.run_id, report.token] = (report, float(line["at"]) if is_this_boot else None)


@contextmanager
def replayable(path: Path, boot_id: str) -> Iterator[Journal | None]:
    """Give the journal of a dead incarnation with its ends read; None while its incarnation lives or it is gone."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    journal = Journal(path, descriptor, boot_id)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        yield None
        return
    if not _is_at(path, descriptor):  # another has replayed and removed it
        os.close(descriptor)
        yield None
        return
    journal._read()  # noqa: SLF001 - the other way of making one
    try:
        yield journal
    finally:
        journal.close()


def left_behind(state_dir: Path) -> list[Path]:
    """Return the journals that lie in a state directory, those of the living included."""
    try:
        names = sorted(os.listdir(state_dir / FOLDER))
    except FileNotFoundError:
        return []
    return [state_dir / FOLDER / name for name in names if name.endswith(ENDING)]


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether a file that was opened by a name still has it."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _report_of(end: dict[str, Any]) -> Report:
    known = {name: value for name, value in end.items() if name in _FIELDS}
    known["outcome"] = Outcome(known["outcome"])
    known["to"] = None if known.get("to") is None else RunState(known["to"])
    return Report(**known)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
