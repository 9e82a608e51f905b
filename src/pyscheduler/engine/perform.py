"""Here effects become IO: one method for each. Called only for what is on disk, in the order it was decided in.

Any effect but Launch may be performed twice; Launch is guarded by its file. Waits are asked of the monotonic clock at
the moment an effect is performed, so a step of the wall clock in between moves nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from pyscheduler.engine.attempts import Attempts
from pyscheduler.engine.desk import Desk
from pyscheduler.engine.orders import ref_of
from pyscheduler.engine.ports import AttemptRef, Cancel, Clock, Launcher, LaunchSpec
from pyscheduler.model.effect import Discard, Effect, Launch, Terminate, WakeAt

Spawn = Callable[[Callable[[], Awaitable[None]], str], object]
"""Start work beside the loop's present turn; its failure stops the engine."""


class Performer:
    """Performs effects for one engine. `on_wake` hears of each timer that rings."""

    def __init__(
        self,
        desk: Desk,
        clock: Clock,
        launcher: Launcher,
        attempts: Attempts,
        *,
        spawn: Spawn,
        on_wake: Callable[[str], None],
    ) -> None:
        self._desk, self._clock, self._launcher, self._attempts = desk, clock, launcher, attempts
        self._spawn, self._on_wake = spawn, on_wake
        self._specs: dict[tuple[str, int], LaunchSpec] = {}
        self._timers: dict[str, Cancel] = {}
        self._leaving: list[AttemptRef] = []
        """Attempts whose files may go: what is added while some are being removed goes with the next trip."""
        self._removing = False
        self._stopped = False

    def keep(self, spec: LaunchSpec) -> None:
        """Keep what a granted attempt is started by until its Launch may be performed."""
        self._specs[(spec.run_id, spec.attempt)] = spec

    def stop(self) -> None:
        """Perform nothing that begins anything any more."""
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._specs.clear()

    def perform(self, effect: Effect) -> None:
        """Do one thing."""
        match effect:
            case Launch(run_id, attempt):
                self._launch(run_id, attempt)
            case Terminate(run_id, attempt, by, who):
                self._attempts.terminate(run_id, attempt, by, who)
            case WakeAt(run_id, when):
                self.wake_at(run_id, when)
            case Discard(run_id):
                self._discard(run_id)

    def _launch(self, run_id: str, attempt: int) -> None:
        spec = self._specs.pop((run_id, attempt), None)
        if spec is not None:  # none where its order could not be rendered: it has ended already
            self._attempts.launch(spec)

    def wake_at(self, run_id: str, when: datetime | None) -> None:
        """Look at a run again after the time that `when` is away now, by the monotonic clock; None: not any more."""
        timer = self._timers.pop(run_id, None)
        if timer is not None:
            timer.cancel()
        if when is not None and not self._stopped:
            rest = (when - self._clock.now()).total_seconds()
            self._timers[run_id] = self._clock.call_after(rest, lambda: self._rung(run_id))

    def _rung(self, run_id: str) -> None:
        self._timers.pop(run_id, None)
        if not self._stopped:
            self._on_wake(run_id)

    def _discard(self, run_id: str) -> None:
        if self._desk.book.is_live(run_id):  # a rerun, or a change whose own Discard is on its way
            return
        rows = self._desk.attempts.pop(run_id, ())
        self._leaving += [ref_of(row, None) for row in rows if row.status_path]
        if self._leaving and not self._removing:
            self._removing = True
            self._spawn(self._remove, "discard")

    async def _remove(self) -> None:
        try:
            while self._leaving:
                refs, self._leaving = self._leaving, []
                await self._launcher.discard(refs)
                self._desk.live_keys.difference_update(ref.key for ref in refs)
        finally:
            self._removing = False
