"""The real launcher: attempts run under minders, are found again after any crash, and are stopped by a file. DESIGN 4.

What always holds: the empty identity exists before its order is sent; `launch` and `find` of one attempt exclude
each other; an error from `launch` means that nothing was started and nothing can start any more; a handle ends with
the note's word, or with `lost` where nobody can know. Nothing here waits on the loop: files are touched on helper
threads, processes ring through pidfds.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pyscheduler.engine import machine
from pyscheduler.engine.clock import SystemClock
from pyscheduler.engine.minding import locktest, orders, sight, tidy
from pyscheduler.engine.minding.finding import Finder
from pyscheduler.engine.minding.folder import make_folder
from pyscheduler.engine.minding.handle import MinderHandle
from pyscheduler.engine.minding.hands import Hands, Together, Turns
from pyscheduler.engine.minding.locks import Locks
from pyscheduler.engine.minding.locktest import GuardReport
from pyscheduler.engine.minding.results import pid_path, read_status
from pyscheduler.engine.minding.starting import Starter
from pyscheduler.engine.minding.stopping import Stopper
from pyscheduler.engine.minding.tidy import status_path
from pyscheduler.engine.ports import AttemptHandle, AttemptRef, Finished, Found, Launcher, LaunchSpec, Lost, Running
from pyscheduler.errors import LaunchError
from pyscheduler.minder import claim, crash, lease, notes
from pyscheduler.model.result import AttemptResult

__all__ = [
    "AttemptHandle",
    "AttemptResult",
    "GuardReport",
    "LaunchSpec",
    "Launcher",
    "MinderLauncher",
    "pid_path",
    "read_status",
    "status_path",
]


class MinderLauncher:
    """Starts attempts under minders. `MinderLauncher()` is all it takes: it binds to the loop that first uses it.

    When that loop is gone it goes on on the next one that uses it. `python` runs the nursery. `env` is the nursery's
    whole environment (tests put crash points there). `locks` False distrusts every file system's locks, None tries
    each.
    """

    def __init__(
        self, python: str = sys.executable, *, env: Mapping[str, str] | None = None, locks: bool | None = None
    ) -> None:
        self._boot = machine.boot_id()
        self._clock = SystemClock()
        self._hands = Hands()
        self._locks = Locks(self._hands, locks)
        self._starter = Starter(python, dict(env or {}), self._follow)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._finder: Finder | None = None
        self._closed = False

    def prepare(self) -> None:
        """Have the nursery ready: the first launch waits for no interpreter. Raises LaunchError, OSError."""
        self.awake()
        if not self._closed:
            self._starter.prepare()

    # ---------------------------------------------------------------- the port

    async def launch(self, spec: LaunchSpec) -> AttemptHandle:
        """Start the attempt of a committed order and return once somebody guards it.

        OSError, ValueError, TypeError or LaunchError mean that nothing was started and nothing can start any more.
        """
        self.awake()
        if self._closed:
            raise LaunchError("the launcher is closed")
        async with self._turns.alone(spec.key):
            lock = await self._locks.work_for(spec.status_path)
            payload = orders.encode(spec, lock=lock)
            if spec.lease_path is not None:
                await self._hands(_bind, os.fspath(spec.status_path), os.fspath(spec.lease_path))
            await self._identities(os.fspath(spec.status_path))
            crash.point("launch.created")
            handle = await self._order(MinderHandle(self, self._ref_of(spec)), payload, lock=lock)
            crash.point("launch.started")
            return handle

    async def find(self, ref: AttemptRef) -> Found:
        """Look for an attempt that an earlier engine or a dead nursery left (DESIGN 4, "Finding again")."""
        finder = self.awake()
        async with self._turns.alone(ref.key):
            if (live := self._starter.live(ref.key)) is not None:
                return Running(live)
            return await finder.find(ref, self)

    async def discard(self, refs: Iterable[AttemptRef]) -> None:
        """Remove the files of attempts whose outcome is in the store and whose run is final."""
        await self._hands(tidy.remove_all, [os.fspath(ref.status_path) for ref in refs])

    async def sweep(self, folder: Path, known: Callable[[str], bool | None]) -> tuple[Path, ...]:
        """Remove what finished attempts left in `folder`; `known(key)` is True final, False open, None unknown.

        Files with an unknown key stay and are returned.
        """
        return await tidy.sweep(folder, known, self._hands)

    async def close(self) -> None:
        """Take no more orders. Running attempts go on under their minders."""
        self._closed = True
        if self._finder is not None and self._loop is asyncio.get_running_loop():
            await self._stopper.close()
            self._finder.close()
        self._starter.close()
        self._hands.close()

    def guard_report(self, folder: Path) -> GuardReport:
        """Say what guards an attempt whose status folder is `folder`. Blocks for about a millisecond."""
        return locktest.guard_report(folder)

    # ---------------------------------------------------------------- for handles

    def awake(self) -> Finder:
        """Bind to the running loop; after an earlier loop has gone, take up again what it was waiting for."""
        loop = asyncio.get_running_loop()
        if self._finder is not None and loop is self._loop:
            return self._finder
        left = self._finder.followed if self._finder is not None else ()
        self._loop = loop
        self._turns = Turns()
        self._identities = Together(self._hands, _create_identities)
        self._stopper = Stopper(self._hands)
        self._finder = Finder(self._hands, self._locks, self._boot)
        self._starter.bind()
        for handle in left:
            self._finder.follow(handle)
        return self._finder

    def stop(self, handle: MinderHandle, by: str, reason: str, grace_s: float | None) -> None:
        """Order the end of an attempt; returns at once."""
        self.awake()
        self._stopper.stop(handle, by, reason, grace_s, self._clock.now())

    def _follow(self, handle: MinderHandle) -> None:
        self.awake().follow(handle)

    # ---------------------------------------------------------------- launching

    async def _order(self, handle: MinderHandle, payload: bytes, *, lock: bool) -> AttemptHandle:
        """Send the order and wait for word; where there is none, the files decide."""
        try:
            report = await self._starter.order(handle, payload)
        except (LaunchError, OSError):
            if await self._revoked(handle.ref, lock=lock):
                raise
            report = None
        if report is not None and report["r"] == "failed":
            raise LaunchError(str(report["error"]))
        if report is None or report["r"] == "refused":
            return await self._found_instead(handle.ref)
        return handle

    async def _revoked(self, ref: AttemptRef, *, lock: bool) -> bool:
        """Whether the order is dead: no earlier nursery has it in hand."""
        return await self._hands(_revoke, os.fspath(ref.status_path), lock) is None

    async def _found_instead(self, ref: AttemptRef) -> AttemptHandle:
        """Ask the files what became of an order without an answer."""
        match await self.awake().find(ref, self):
            case Running(handle):
                return handle
            case Finished(result):
                return self._ended(ref, result)
            case Lost(reason) if reason == sight.NEVER:
                raise LaunchError("no minder took the order, so nothing was started")
            case Lost(reason):
                return self._ended(ref, AttemptResult(lost=reason))

    def _ref_of(self, spec: LaunchSpec) -> AttemptRef:
        return AttemptRef(
            run_id=spec.run_id,
            attempt=spec.attempt,
            key=spec.key,
            status_path=spec.status_path,
            boot_id=self._boot,
            started_at=self._clock.now(),
            timeout_s=spec.timeout_s,
            kill_grace_s=spec.kill_grace_s,
        )

    def _ended(self, ref: AttemptRef, result: AttemptResult) -> MinderHandle:
        handle = MinderHandle(self, ref)
        handle.settle(result)
        return handle


def _create_identities(statuses: Iterable[str]) -> list[OSError | None]:
    return [_create_identity(status) for status in statuses]


def _create_identity(status: str) -> OSError | None:
    """Create the empty identity: the licence for one minder to begin; returns why that cannot be."""
    path = notes.identity_path(status)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        try:
            os.close(os.open(path, flags, 0o600))
        except FileNotFoundError:
            make_folder(os.path.dirname(status))
            os.close(os.open(path, flags, 0o600))
    except OSError as error:
        return error
    return None


def _bind(status: str, path: str) -> None:
    """Let the attempt hang on its owner's word, before anything of it is there."""
    try:
        lease.bind(status, path)
    except FileNotFoundError:
        make_folder(os.path.dirname(status))
        lease.bind(status, path)


def _revoke(status: str, lock: bool) -> str | None:
    return claim.revoke(status, lock=lock)
