"""What an include pattern names: the paths that `glob` would find, in bounded time. Spec: jobs.md 1.1.

A pattern is typed by hand, and one `**` too high up would otherwise be walked for minutes before anybody hears of it.
So entries and seconds are bounded, and the kernel's own trees, which have no end and hold nobody's jobs, are never
listed. `glob` offers no place to stop a walk that finds nothing, hence the walk here; names are matched by `fnmatch`.
Nothing here recurses.
"""

from __future__ import annotations

import fnmatch
import os
import time
from collections.abc import Iterator
from typing import Final

from pyscheduler.config.values import BadValue

MAX_LOOKED: Final = 100_000
"""Entries of folders; a configuration of MAX_FILES files needs a tenth of it."""
MAX_S: Final = 5.0
_KERNELS: Final = ("/proc", "/sys", "/dev")
_MEMORY: Final = "/dev/shm"  # noqa: S108 - an ordinary file system, whatever it is called
_MAGIC: Final = set("*?[")
_MEND: Final = "begin the pattern with a folder that holds little else: jobs/**/*.yaml"


def matches(pattern: str) -> list[str]:
    """Return the regular files that an include pattern names now, sorted. Raises BadValue where it names too much."""
    return sorted({path for path in _Walk().paths(pattern) if os.path.isfile(path)})


class _Walk:
    """One walk, and how much of it is left."""

    def __init__(self) -> None:
        self._left, self._until = MAX_LOOKED, time.monotonic() + MAX_S

    def paths(self, pattern: str) -> Iterator[str]:
        """Yield the paths that the pattern names, some twice. `**` is any number of folders, none included."""
        top = "/" if pattern.startswith("/") else ""
        todo = [(top, [part for part in pattern.split("/") if part])]
        while todo:
            folder, (part, *rest) = todo.pop()
            if not _MAGIC & set(part):
                found = [os.path.join(folder, part)]
            elif part == "**":
                below = list(self._named(folder, "*"))
                todo.extend((path, [part, *rest]) for path in below if os.path.isdir(path))
                found = [] if rest else below
                if rest:
                    todo.append((folder, rest))
            else:
                found = list(self._named(folder, part))
            if rest:
                todo.extend((path, rest) for path in found if os.path.isdir(path))
            else:
                yield from found

    def _named(self, folder: str, part: str) -> Iterator[str]:
        """Yield the entries of a folder that match, hidden ones only where the pattern begins with a dot."""
        real = os.path.realpath(folder)
        if _within(real, _KERNELS) and not _within(real, (_MEMORY,)):
            raise BadValue(f"leads into {real}, which is the kernel's", _MEND)
        try:
            with os.scandir(folder or ".") as entries:
                for entry in entries:
                    self._count()
                    hidden = entry.name.startswith(".") and not part.startswith(".")
                    if not hidden and fnmatch.fnmatchcase(entry.name, part):
                        yield os.path.join(folder, entry.name)
        except OSError:
            return  # as with a shell: what cannot be listed holds nothing

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise BadValue(f"has more than {MAX_LOOKED:,} files to look at", _MEND)
        if time.monotonic() > self._until:
            raise BadValue(f"takes longer than {MAX_S:g} s to look through", _MEND)


def _within(path: str, tops: tuple[str, ...]) -> bool:
    return any(path == top or path.startswith(f"{top}/") for top in tops)
