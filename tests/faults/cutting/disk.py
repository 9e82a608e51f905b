"""A disk that forgets: every write since a file's last sync may be lost, torn or kept, and so may every name since its
folder's last sync.

It promises what POSIX promises and no more. A file's size may have grown without its bytes; one write may be on the
disk while an earlier one is not; a rename may be there while the file's bytes are not, and the other way round.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.cutting.trace import Event, Made, Removed, Renamed, Sized, Synced, Written

SECTORS = (512, 4096)
"""The units in which disks write whole."""


@dataclass
class Inode:
    """A file's bytes: those on the disk for certain, and what was done to them since. A folder has none."""

    folder: bool = False
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Written | Sized] = field(default_factory=list)

    def now(self) -> bytearray:
        """Return the bytes as programs see them."""
        data = bytearray(self.durable)
        for change in self.pending:
            _change(data, change)
        return data

    def sync(self) -> None:
        """Put everything on the disk."""
        self.durable, self.pending = self.now(), []


@dataclass
class Folder:
    """A folder's names: those on the disk for certain, as programs see them, and what was done since, in order."""

    durable: dict[str, Inode] = field(default_factory=dict)
    now: dict[str, Inode] = field(default_factory=dict)
    pending: list[tuple[str | None, str | None, Inode]] = field(default_factory=list)

    def change(self, old: str | None, new: str | None, inode: Inode) -> None:
        """Take in that a name came (`old` None), went (`new` None) or changed."""
        self.pending.append((old, new, inode))
        _rename(self.now, old, new, inode)


class Disk:
    """One folder and those in it. Names are paths."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self.folders: dict[str, Folder] = {}

    def take(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case Made(path, folder):
                self._of(path).change(None, path, Inode(folder))
            case Renamed(path, to):
                assert os.path.dirname(path) == os.path.dirname(to), event
                self._of(path).change(path, to, self._of(path).now[path])
            case Removed(path):
                if path in self._of(path).now:  # sockets are bound, never opened
                    self._of(path).change(path, None, self._of(path).now[path])
            case Synced(path):
                self._sync(path)
            case Written(path) | Sized(path):
                inode = self._of(path).now[path]
                inode.pending.append(_placed(event, inode))

    def _of(self, path: str) -> Folder:
        return self.folders.setdefault(os.path.dirname(path), Folder())

    def _sync(self, path: str) -> None:
        if path in self._of(path).now and not self._of(path).now[path].folder:
            self._of(path).now[path].sync()
            return
        folder = self.folders.setdefault(path, Folder())
        folder.durable, folder.pending = dict(folder.now), []

    def holds_for_certain(self, path: str) -> bytes | None:
        """Return a file's bytes if it and its name are synced, None otherwise. Its folder must be as certain."""
        folder = self.folders.get(os.path.dirname(path), Folder())
        inode = folder.durable.get(path)
        if inode is None or inode.pending or any(path in change[:2] for change in folder.pending):
            return None
        return bytes(inode.durable)

    def files_now(self) -> dict[str, bytes]:
        """Return every file as programs see it."""
        return {
            path: bytes(inode.now())
            for folder in self.folders.values()
            for path, inode in folder.now.items()
            if not inode.folder
        }

    def after_a_cut(self, chance: random.Random, kept: float) -> dict[str, bytes | None]:
        """Return what is found after the power comes back: bytes by path, None for a folder. `kept` is the share of
        what was not synced that is there all the same.
        """
        found: dict[str, bytes | None] = {}
        self._walk(self._root, found, chance, kept)
        return found

    def _walk(self, path: str, found: dict[str, bytes | None], chance: random.Random, kept: float) -> None:
        folder = self.folders.get(path, Folder())
        names = dict(folder.durable)
        for old, new, inode in folder.pending:
            if chance.random() < kept:
                _rename(names, old, new, inode)
        for name, inode in names.items():
            if inode.folder:
                found[name] = None
                self._walk(name, found, chance, kept)
            else:
                found[name] = bytes(_remains(inode, chance, kept))


def _rename(names: dict[str, Inode], old: str | None, new: str | None, inode: Inode) -> None:
    if old is not None and names.get(old) is inode:
        del names[old]
    if new is not None:
        names[new] = inode


def _placed(change: Written | Sized, inode: Inode) -> Written | Sized:
    if isinstance(change, Written) and change.offset is None:
        return Written(change.path, len(inode.now()), change.data)
    return change


def _change(data: bytearray, change: Written | Sized) -> None:
    if isinstance(change, Sized):
        if not (change.at_least and len(data) >= change.size):
            _resize(data, change.size)
        return
    assert change.offset is not None
    end = change.offset + len(change.data)
    _resize(data, max(len(data), end))
    data[change.offset : end] = change.data


def _resize(data: bytearray, size: int) -> None:
    del data[size:]
    data.extend(bytes(size - len(data)))


def _remains(inode: Inode, chance: random.Random, kept: float) -> bytearray:
    """Return a file's bytes as the cut has left them: some changes whole, some in part, some not at all."""
    data = bytearray(inode.durable)
    sector = chance.choice(SECTORS)
    for change in inode.pending:
        fate = chance.random()
        if fate < kept * 0.7:
            _change(data, change)
        elif fate < kept and isinstance(change, Written):
            _tear(data, change, chance, sector)
    return data


def _tear(data: bytearray, change: Written, chance: random.Random, sector: int) -> None:
    """Write only some sectors of a change; the size may have grown for all of it."""
    assert change.offset is not None
    end = change.offset + len(change.data)
    if chance.random() < 0.5:
        _resize(data, max(len(data), end))
    for start in range(change.offset - change.offset % sector, end, sector):
        if chance.random() < 0.5:
            low, high = max(start, change.offset), min(start + sector, end)
            _change(data, Written(change.path, low, change.data[low - change.offset : high - change.offset]))
