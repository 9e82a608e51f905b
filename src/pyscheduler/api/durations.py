"""How long jobs typically take: the median of each one's latest successes, kept until it succeeds again.

Asking the store about ten thousand jobs takes seconds; between two forecasts only those that have succeeded meanwhile
are asked about again. Spec: jobs.md 12.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from statistics import median

from pyscheduler.engine.core import Engine
from pyscheduler.model.run import Run, RunState


class Durations:
    """Typical durations by job, of the engine listened to last."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._known: dict[str, float | None] = {}
        self._successes: Counter[str] = Counter()

    def listen_to(self, engine: Engine) -> None:
        """Hear of this engine's runs from now on; harmless when that is so already. On the loop."""
        if engine is not self._engine:
            self._engine, self._known = engine, {}
            engine.subscribe(self._heard)

    def _heard(self, run: Run) -> None:
        if run.state is RunState.SUCCEEDED:
            self._successes[run.job] += 1
            self._known.pop(run.job, None)

    def of(self, jobs: Collection[str]) -> dict[str, float]:
        """Return the seconds each of these jobs typically takes, where that is known. Blocks. Raises StoreError."""
        assert self._engine is not None, "nobody is listened to"
        known, store = self._known, self._engine.store
        found = {name: known[name] for name in jobs if name in known}
        before = {name: self._successes[name] for name in jobs if name not in found}
        durations = store.recent_durations_for(before)
        for name, successes in before.items():
            found[name] = median(durations[name]) if name in durations else None
            if self._successes[name] == successes:  # else it has succeeded while we read
                known[name] = found[name]
        return {name: typical for name, typical in found.items() if typical is not None}
