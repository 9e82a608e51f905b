"""B2: a window of zero or less is refused in every form (claims.md B2). On SQLite too: no store is touched at all."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pyscheduler.cluster import Schedule, Scheduler, Task
from pyscheduler.errors import BadSchedule

NOT_GREATER = [
    0,
    -5,
    0.0,
    -0.5,
    float("nan"),
    float("inf"),
    timedelta(0),
    timedelta(seconds=-5),
    "0",
    "-5",
    "nan",
    "0s",
]


@pytest.mark.parametrize("window", NOT_GREATER)
def test_a_reclaim_window_is_greater_than_zero(window: float | timedelta | str) -> None:
    """Said when it is set, in these words, before there is any run."""
    with pytest.raises(BadSchedule) as refused:
        Schedule(Task("job", "* * * * *", "true")).reclaim_after(window)
    assert str(refused.value) == "The reclaim window must be greater than zero."
    with pytest.raises(BadSchedule) as refused:
        Task("job", "* * * * *", "true", reclaim_after=window)
    assert str(refused.value) == "The reclaim window must be greater than zero."


@pytest.mark.parametrize("window", [True, False, "soon", None])
def test_what_is_no_length_of_time_is_no_window(window: object) -> None:
    """A truth value is not a number of seconds."""
    with pytest.raises(BadSchedule):
        Schedule().reclaim_after(window)  # type: ignore[arg-type]


@pytest.mark.parametrize("window", [1, 0.5, timedelta(hours=6), "6h", "90"])
def test_every_other_window_is_taken(window: float | timedelta | str) -> None:
    """Numbers, timedeltas and texts."""
    assert Schedule().reclaim_after(window).reclaim_after_s > 0


@pytest.mark.parametrize("name", ["heartbeat", "lease", "kill_grace", "margin", "observe", "sweep", "wedge"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, timedelta(0), "0"])
def test_every_other_time_is_held_to_the_same_rule(name: str, value: object, tmp_path: Path) -> None:
    """No parameter of claims.md C3 is taken unlooked at."""
    with pytest.raises(BadSchedule):
        Scheduler(Schedule(), tmp_path, timing={name: value})
    assert not list(tmp_path.iterdir())
