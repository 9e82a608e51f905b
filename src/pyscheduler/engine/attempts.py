"""Minding attempts: one small task each, launched or adopted, until its end is decided about.

The minder enforces timeout and grace by itself; the timer here is the second line, for the case that no guardian is
left to do it. A kill that comes before the launch has returned is passed on as soon as there is a handle.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from pyscheduler.engine.ports import AttemptHandle, Cancel, Clock, Launcher, LaunchSpec
from pyscheduler.errors import LaunchError
from pyscheduler.model.result import AttemptResult

SECOND_LINE_S: Final = 5.0
"""How long after the minder's own deadline the engine orders the end itself."""

Ended = Callable[[str, int, AttemptResult], Awaitable[None]]


@dataclass(slots=True)
class _Minded:
    number: int
    task: asyncio.Task[None] | None = None
    handle: AttemptHandle | None = None
    kill: tuple[str, str] | None = None
    deadline: Cancel | None = None
    launched: asyncio.Event = field(default_factory=asyncio.Event)


class Attempts:
    """The attempts of one engine. `on_end` decides about an end; `on_change` hears of a new pid or remark.

    `on_failure` hears of an error that nobody foresaw: that attempt is minded no more, and its run would never end.
    """

    def __init__(
        self,
        launcher: Launcher,
        clock: Clock,
        on_end: Ended,
        on_change: Callable[[str, int, AttemptHandle], None],
        on_failure: Callable[[BaseException], None] = lambda _error: None,
    ) -> None:
        self._launcher, self._clock = launcher, clock
        self._on_end, self._on_change, self._on_failure = on_end, on_change, on_failure
        self._minded: dict[str, _Minded] = {}

    def handle_of(self, run_id: str) -> AttemptHandle | None:
        """Return the handle of a run's running attempt, None while it is being launched."""
        minded = self._minded.get(run_id)
        return minded.handle if minded else None

    @property
    def launching(self) -> int:
        """How many launches are under way."""
        return sum(not minded.launched.is_set() for minded in self._minded.values())

    def launch(self, spec: LaunchSpec) -> None:
        """Start an attempt whose start is on disk."""
        minded = self._minded[spec.run_id] = _Minded(spec.attempt)
        minded.task = self._task(self._launch(spec, minded), spec.run_id)

    def adopt(self, run_id: str, number: int, handle: AttemptHandle, timeout_left_s: float | None) -> None:
        """Mind an attempt that was found running. `timeout_left_s`: what is left of its timeout, None without one."""
        minded = self._minded[run_id] = _Minded(number)
        self._hold(run_id, minded, handle)
        if timeout_left_s is not None:
            self._arm(minded, max(0.0, timeout_left_s) + (0.0 if handle.remark else SECOND_LINE_S))
        minded.task = self._task(self._wait(run_id, minded, handle), run_id)

    def terminate(self, run_id: str, number: int, by: str, who: str) -> None:
        """Order a running attempt to end; one being launched is ordered as soon as it is."""
        minded = self._minded.get(run_id)
        if minded is None or minded.number != number:
            return
        minded.kill = (by, who)
        if minded.handle is not None:
            minded.handle.terminate(by, who)

    def _task(self, work: Coroutine[Any, Any, None], run_id: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=f"attempt {run_id}")
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_failure(error)

    async def _launch(self, spec: LaunchSpec, minded: _Minded) -> None:
        try:
            handle = await self._launcher.launch(spec)
        except (OSError, ValueError, TypeError, LaunchError) as error:
            minded.launched.set()
            await self._end(spec.run_id, minded, AttemptResult(start_error=str(error)))
            return
        finally:
            minded.launched.set()  # also when called off: whoever waits for launches need not wait for this one
        self._hold(spec.run_id, minded, handle)
        if spec.timeout_s is not None:
            self._arm(minded, spec.timeout_s + spec.kill_grace_s + SECOND_LINE_S)
        await self._wait(spec.run_id, minded, handle)

    def _hold(self, run_id: str, minded: _Minded, handle: AttemptHandle) -> None:
        minded.handle = handle
        minded.launched.set()
        if minded.kill is not None:
            handle.terminate(*minded.kill)
        handle.watch(lambda: self._on_change(run_id, minded.number, handle))
        self._on_change(run_id, minded.number, handle)

    def _arm(self, minded: _Minded, seconds: float) -> None:
        handle = minded.handle
        assert handle is not None
        minded.deadline = self._clock.call_after(seconds, lambda: handle.terminate("timeout"))

    async def _wait(self, run_id: str, minded: _Minded, handle: AttemptHandle) -> None:
        result = await handle.wait()
        await self._end(run_id, minded, result)

    async def _end(self, run_id: str, minded: _Minded, result: AttemptResult) -> None:
        if minded.deadline is not None:
            minded.deadline.cancel()
        if self._minded.get(run_id) is minded:
            del self._minded[run_id]
        await self._on_end(run_id, minded.number, result)

    async def settle_launches(self, within_s: float) -> None:
        """Let the launches under way return, for so many seconds at most."""
        under_way = [minded for minded in self._minded.values() if not minded.launched.is_set()]
        if under_way:
            waits = [asyncio.ensure_future(minded.launched.wait()) for minded in under_way]
            _, late = await asyncio.wait(waits, timeout=within_s)
            for wait in late:
                wait.cancel()

    async def kill_all(self, within_s: float) -> None:
        """End every attempt at once, and wait for their ends for so many seconds at most."""
        for minded in self._minded.values():
            if minded.handle is not None:
                minded.handle.kill()
        tasks = [minded.task for minded in self._minded.values() if minded.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=within_s)

    async def let_go(self) -> None:
        """Stop minding: the attempts go on under their guardians."""
        tasks = [minded.task for minded in self._minded.values() if minded.task is not None]
        for minded in self._minded.values():
            if minded.deadline is not None:
                minded.deadline.cancel()
        self._minded.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
