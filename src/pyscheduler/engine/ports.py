"""The two doors to the outside world that the engine goes through: time and processes.

`Clock` is the only way to *now* and to sleep; `Launcher` is the only way to start, find and stop an attempt. The real
ones are `clock.SystemClock` and `launcher.MinderLauncher`; the tests' are `clock.FakeClock` and
`testing.FakeLauncher`. A node of a cluster, Slurm or Kubernetes stand behind the same Launcher later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from pyscheduler.model.result import AttemptResult
from pyscheduler.model.run import Attempt

__all__ = [
    "AttemptHandle",
    "AttemptRef",
    "AttemptResult",
    "Cancel",
    "Clock",
    "Finished",
    "Found",
    "LaunchSpec",
    "Launcher",
    "Lost",
    "Offering",
    "Running",
    "Seen",
    "Watcher",
]


class Cancel(Protocol):
    """A timer that can be called off; harmless when it has rung."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Three clocks in one: the wall for firings and deadlines, the monotonic one for durations, boot time for leases.

    A step of the wall clock or a suspend is noticed within a second: no nap is longer.
    """

    def now(self) -> datetime:
        """The wall clock: aware, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds of CLOCK_MONOTONIC: never steps, stands still while the machine sleeps."""
        ...

    def boottime(self) -> float:
        """Seconds of CLOCK_BOOTTIME: never steps, counts while the machine sleeps."""
        ...

    def call_at(self, when: datetime, callback: Callable[[], None]) -> Cancel:
        """Call back once the wall clock shows `when` or later, also when it was stepped there."""
        ...

    def call_after(self, seconds: float, callback: Callable[[], None]) -> Cancel:
        """Call back after so many seconds of the monotonic clock."""
        ...

    def on_step(self, callback: Callable[[float], None]) -> Cancel:
        """Call back with the seconds by which the wall clock has left the monotonic one: a step or a suspend."""
        ...

    async def sleep_until(self, when: datetime) -> None:
        """Return once the wall clock shows `when` or later."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """All that is needed to start one attempt, rendered and final.

    `argv` is exec'd as it stands (PATH search in `env`'s PATH). `env` is the job's whole environment but for
    `PYSCHED_ATTEMPT_KEY`, which the minder adds. `stderr_path` None merges stderr into stdout. `status_path` names
    the attempt's note; its identity file is `<status_path>.pid`, its order to stop `<status_path>.stop`. `lease_path`
    is where its owner says how long its word holds (`minder/lease.py`): once it does not the attempt is ended, with
    `lease_grace_s` at most; None: it goes on.
    """

    run_id: str
    attempt: int
    key: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    stdout_path: Path
    stderr_path: Path | None
    status_path: Path
    cwd: str | None = None
    timeout_s: float | None = None
    kill_grace_s: float = 10.0
    leftovers: str = "leave"
    max_log_bytes: int | None = None
    user: str | None = None
    umask: int | None = None
    nice: int | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    lease_path: Path | None = None
    lease_grace_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRef:
    """What the store remembers of an attempt and `find` needs to look for it.

    `pid` is the minder's, None while it was not yet known. `store_is_older` is set where the store was restored from
    a backup older than its state_dir: then "no file" no longer proves that nothing was started.
    """

    run_id: str
    attempt: int
    key: str
    status_path: Path
    boot_id: str
    started_at: datetime
    pid: int | None = None
    store_is_older: bool = False
    timeout_s: float | None = None
    kill_grace_s: float = 10.0


class AttemptHandle(Protocol):
    """A running attempt."""

    @property
    def pid(self) -> int | None:
        """The minder's pid, None where there is none (any more) or it is not known yet."""
        ...

    @property
    def remark(self) -> str:
        """What an operator should know beside "running": `minder gone, process 4711 still runs`, or empty."""
        ...

    def watch(self, listener: Callable[[], None]) -> None:
        """Call `listener` on the loop whenever `pid` or `remark` has changed."""
        ...

    async def wait(self) -> AttemptResult:
        """Wait for the end. Cancelling the wait changes nothing for the attempt; waiting again is allowed."""
        ...

    def terminate(self, by: str, reason: str = "") -> None:
        """Order the whole tree to end: TERM, `kill_grace`, KILL. `by` is `kill`, `timeout` or `lease`."""
        ...

    def kill(self) -> None:
        """Order the attempt to end at once, without grace."""
        ...


@dataclass(frozen=True, slots=True)
class Finished:
    """Found: it has ended, and this is how."""

    result: AttemptResult


@dataclass(frozen=True, slots=True)
class Running:
    """Found: it runs; adopt it."""

    handle: AttemptHandle


@dataclass(frozen=True, slots=True)
class Lost:
    """Not found, and nothing of it can start any more. The reason is for people."""

    reason: str


Found = Finished | Running | Lost


class Launcher(Protocol):
    """Start, find and forget attempts. Belongs to the service and outlives an Engine."""

    async def launch(self, spec: LaunchSpec) -> AttemptHandle:
        """Start the attempt of a committed order and return once somebody guards it.

        OSError, ValueError, TypeError or LaunchError mean that nothing was started and nothing can start any more.
        """
        ...

    async def find(self, ref: AttemptRef) -> Found:
        """Look for an attempt that an earlier engine or a dead nursery left (DESIGN 4, "Finding again")."""
        ...

    async def discard(self, refs: Iterable[AttemptRef]) -> None:
        """Remove the files of attempts whose outcome is in the store and whose run is final."""
        ...

    async def sweep(self, folder: Path, known: Callable[[str], bool | None]) -> tuple[Path, ...]:
        """Remove what finished attempts left in `folder`; `known(key)` is True final, False open, None unknown.

        Files with an unknown key stay and are returned.
        """
        ...

    async def close(self) -> None:
        """Take no more orders. Running attempts go on under their minders."""
        ...


@dataclass(frozen=True, slots=True)
class Seen:
    """One running run as its owner has written it: the attempt's row, and its end where it has ended."""

    run_id: str
    attempt: Attempt
    result: AttemptResult | None


Watcher = Callable[[Sequence[Seen]], None]


@runtime_checkable
class Offering(Protocol):
    """A launcher that starts nothing itself: runs are offered in the store, and nodes claim and start them (DESIGN 6).

    The engine commits `offered_at`; from then on the row may be somebody else's, and the engine writes it again only
    after it was taken back or its attempt has ended.
    """

    def bind(self, watcher: Watcher | None) -> None:
        """Tell `watcher`, on the loop, of every attempt that has started or ended; None: tell nobody any more."""
        ...

    def hint(self) -> None:
        """Say that something new may stand in the store: nodes and the look-out need not wait for their next turn."""
        ...

    async def look(self) -> None:
        """Tell the watcher, before this returns, of all that nodes have written by now. Raises StoreError."""
        ...

    async def take_back(self, run_ids: Collection[str] | None) -> set[str]:
        """End the offers of these runs, None for all; returns those that nobody had claimed. Raises StoreError."""
        ...
