"""Files that have done their work go: at once when a run is final, at start and hourly whatever a crash left.

The attempt's key is part of every name, so that nothing has to be opened to know whose a file is:
`<run_id>.<attempt>.<key>.json` and what hangs on it. What carries no key, or a key that nobody knows, stays and is
named; what a killed lock test has left, the next one removes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Final, Protocol, TypeVar

from pyscheduler.engine.minding import locktest
from pyscheduler.minder import claim, lease, notes

T = TypeVar("T")
_log = logging.getLogger(__name__)
ENDINGS: Final = (
    "",
    notes.IDENTITY,
    notes.STOP,
    notes.BLOCK,
    notes.STOP + notes.BLOCK,
    lease.LINK,
    lease.LINK + notes.BLOCK,
)
"""Everything that may lie at a note's path, the note first: without it the rest says less, never more."""
ASK_AT_ONCE: Final = 200
_NAME: Final = re.compile(r"(?P<stem>.+\.(?P<key>[A-Za-z0-9_-]+)\.json)(?:\.pid|(?:\.stop|\.lease)?(?:\.new)?)")


class InThread(Protocol):
    """Runs a call on a helper thread."""

    def __call__(self, call: Callable[..., T], *args: object) -> Awaitable[T]: ...


def status_path(folder: Path, run_id: str, attempt: int, key: str) -> Path:
    """Return where the attempt's note will lie; its identity and its order to stop lie beside it."""
    return folder / f"{run_id}.{attempt}.{key}.json"


def remove_all(statuses: Iterable[str]) -> None:
    """Remove all files of these attempts. What the disk will not let go is left to the next sweep."""
    for status in statuses:
        for ending in ENDINGS:
            try:
                os.unlink(status + ending)
            except FileNotFoundError:
                continue
            except OSError as error:
                _log.warning("%s stays: %s", status + ending, error)


def remove_if_free(status: str) -> bool:
    """Remove the files of an ended attempt unless somebody still guards it."""
    try:
        fd = os.open(notes.identity_path(status), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        remove_all([status])
        return True
    try:
        free = claim.try_lock(fd)
        if free:
            remove_all([status])
        return free
    finally:
        os.close(fd)


def listing(folder: str) -> tuple[dict[str, set[str]], list[str]]:
    """Return the notes' paths by key, and the files without one."""
    by_key: dict[str, set[str]] = {}
    strange = []
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return {}, []
    for name in names:
        match = _NAME.fullmatch(name)
        path = os.path.join(folder, name)
        if name.startswith(locktest.PREFIX):
            continue
        if match is None:
            strange.append(path)
        else:
            by_key.setdefault(match["key"], set()).add(os.path.join(folder, match["stem"]))
    return by_key, strange


async def sweep(folder: Path, known: Callable[[str], bool | None], in_thread: InThread) -> tuple[Path, ...]:
    """Remove what finished attempts left; return what nobody knows, sorted."""
    by_key, strange = await in_thread(listing, os.fspath(folder))
    unknown = [Path(path) for path in strange]
    final: list[str] = []
    for index, (key, statuses) in enumerate(by_key.items()):
        if index % ASK_AT_ONCE == 0:
            await asyncio.sleep(0)
        answer = known(key)
        if answer is None:
            unknown += [Path(path) for path in statuses]
        elif answer:
            final += statuses
    for start in range(0, len(final), ASK_AT_ONCE):
        await in_thread(_remove_free, final[start : start + ASK_AT_ONCE])
    return tuple(sorted(await in_thread(_still_there, unknown) if unknown else ()))


def _still_there(paths: list[Path]) -> list[Path]:
    """Return the paths at which anything lies: an attempt that began and ended since the listing is no stranger."""
    return [path for path in paths if any(os.path.lexists(f"{path}{ending}") for ending in ENDINGS)]


def _remove_free(statuses: list[str]) -> None:
    for status in statuses:
        remove_if_free(status)
