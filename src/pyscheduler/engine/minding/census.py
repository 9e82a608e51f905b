"""All processes of the machine at one moment, with the attempts' keys they carry.

Taking one costs about 30 µs a process, so a recovery of a thousand attempts shares them: who asks gets the next that
*begins* after the question, never one already under way, which could have missed a process just started.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pyscheduler.minder import kernel, notes

_MARK = kernel.KEY_VARIABLE.encode() + b"="


@dataclass(frozen=True, slots=True)
class Census:
    """`table` by pid; `by_key` the pids that carry each attempt's key."""

    table: dict[int, kernel.Stat]
    by_key: dict[str, frozenset[int]]

    def carriers(self, key: str) -> frozenset[int]:
        """Return the processes started with this key in their environment."""
        return self.by_key.get(key, frozenset())

    def lives(self, proc: notes.Proc) -> bool:
        """Whether exactly this process was running code."""
        found = self.table.get(proc.pid)
        return found is not None and found.alive and found.start_ticks == proc.start_ticks


def take_census() -> Census:
    """Look at every process once. Blocks for some milliseconds: for a helper thread."""
    table = kernel.processes()
    keys: dict[str, set[int]] = {}
    for pid in table:
        if (key := _key_of(pid)) is not None:
            keys.setdefault(key, set()).add(pid)
    return Census(table, {key: frozenset(pids) for key, pids in keys.items()})


def _key_of(pid: int) -> str | None:
    try:
        data = notes.read(f"/proc/{pid}/environ")
    except (PermissionError, ProcessLookupError):
        return None
    if not data or _MARK not in data:
        return None
    for entry in data.split(b"\0"):
        if entry.startswith(_MARK):
            return entry[len(_MARK) :].decode(errors="replace")
    return None


class CensusTaker:
    """Shares censuses among those who ask at about the same time. Belongs to one loop."""

    def __init__(self, in_thread: Callable[[Callable[[], Census]], Awaitable[Census]]) -> None:
        self._in_thread = in_thread
        self._turn = asyncio.Lock()
        self._next: asyncio.Task[Census] | None = None

    async def fresh(self) -> Census:
        """Return a census that began after this call."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._take())
        return await asyncio.shield(self._next)

    async def _take(self) -> Census:
        async with self._turn:
            self._next = None  # from here on whoever asks needs a later one
            return await self._in_thread(take_census)
