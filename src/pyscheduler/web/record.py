"""How a job has done: its latest runs as a strip, and the few numbers that people ask for. Pure.

Only runs that ended by themselves count for the rate: a run that was skipped or called off says nothing about the job.
A duration is that of a run's latest attempt, where that attempt succeeded; the percentile is the nearest rank, so it is
always a duration that was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from statistics import median
from typing import Final

from pyscheduler.model.run import Attempt, Outcome, Run, RunState

STRIP: Final = 60
"""Runs on a strip."""

_JUDGED: Final = frozenset({RunState.SUCCEEDED, RunState.FAILED})
Pair = tuple[Run, Attempt | None]


@dataclass(frozen=True, slots=True)
class Record:
    """Numbers about the newest runs of a job. `rate` is 0 to 1; what nothing is known about is None.

    `streak` counts the newest runs that succeeded or failed alike, `streak_word` says which. `not_run` counts the
    newest ended runs in a row that were skipped or called off: a job whose overlap drops every run looks well without.
    """

    succeeded: int
    failed: int
    others: int
    rate: float | None
    median_s: float | None
    p95_s: float | None
    last_success: datetime | None
    streak: int
    streak_word: str
    not_run: int


@dataclass(frozen=True, slots=True)
class Column:
    """One run on the strip: `left`, `width` and `height` in percent; `height` 0 where nothing was started."""

    run: Run
    seconds: float | None
    left: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Strip:
    """The newest runs, oldest first, and the duration at the top of the scale."""

    columns: tuple[Column, ...]
    top_s: float
    typical: float | None
    """Where the typical duration is, as a height in percent."""


def record(pairs: Sequence[Pair]) -> Record:
    """Return the numbers; `pairs` are runs with their latest attempts, newest first."""
    ended = [run for run, _ in pairs if run.is_final]
    good = sum(run.state is RunState.SUCCEEDED for run in ended)
    bad = sum(run.state is RunState.FAILED for run in ended)
    took = sorted(seconds for run, attempt in pairs if (seconds := successful_seconds(run, attempt)) is not None)
    successes = (attempt.ended_at for run, attempt in pairs if attempt and run.state is RunState.SUCCEEDED)
    judged = [run.state for run in ended if run.state in _JUDGED]
    return Record(
        succeeded=good,
        failed=bad,
        others=len(ended) - good - bad,
        rate=good / (good + bad) if good + bad else None,
        median_s=median(took) if took else None,
        p95_s=percentile(took, 0.95),
        last_success=next((at for at in successes if at is not None), None),
        streak=next((index for index, state in enumerate(judged) if state is not judged[0]), len(judged)),
        streak_word=judged[0].value if judged else "",
        not_run=next((index for index, run in enumerate(ended) if run.state in _JUDGED), len(ended)),
    )


def successful_seconds(run: Run, attempt: Attempt | None) -> float | None:
    """Return how long a run's success took, None where it has none."""
    if run.state is not RunState.SUCCEEDED or attempt is None or attempt.outcome is not Outcome.SUCCEEDED:
        return None
    return _seconds(attempt)


def percentile(ascending: Sequence[float], part: float) -> float | None:
    """Return the smallest value that at least this part of all values does not exceed; None of none."""
    return ascending[max(0, ceil(part * len(ascending)) - 1)] if ascending else None


def strip(pairs: Sequence[Pair], typical_s: float | None, now: datetime) -> Strip:
    """Return the strip of up to 60 runs; `pairs` newest first. What still runs is as high as it is long by now."""
    shown = list(reversed(pairs[:STRIP]))
    took = [_seconds(attempt, now) if attempt else None for _, attempt in shown]
    top = max([each for each in took if each], default=0.0)
    top = max(top, typical_s or 0.0)
    step = 100 / max(len(shown), 12)
    columns = tuple(
        Column(run, each, round(index * step, 3), round(step * 0.72, 3), _height(each, top))
        for index, ((run, _), each) in enumerate(zip(shown, took, strict=True))
    )
    return Strip(columns, top, _height(typical_s, top) if typical_s else None)


def _height(seconds: float | None, top: float) -> float:
    return round(100 * seconds / top, 2) if seconds and top else 0.0


def _seconds(attempt: Attempt, now: datetime | None = None) -> float | None:
    """Return how long an attempt took, or has taken by now; a clock that was set back makes it 0, not less."""
    end = attempt.ended_at or now
    return None if end is None else max(0.0, (end - attempt.started_at).total_seconds())
