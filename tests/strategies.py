"""Hypothesis strategies that tests share."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from hypothesis import strategies as st

from pyscheduler.model.ids import make_run_id
from pyscheduler.model.run import FINAL_STATES, Cause, Run, RunState, Trigger

INSTANTS = st.datetimes(datetime(1970, 1, 2), datetime(2400, 1, 1), timezones=st.just(UTC))
DAYS = st.dates(date(1971, 1, 1), date(2399, 1, 1))
NAMES = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)


@st.composite
def final_runs(draw: Any) -> Run:
    """Draw an ended run with nothing left of its waiting."""
    job, day, seq = draw(NAMES), draw(DAYS), draw(st.integers(1, 10**9))
    attempt = draw(st.integers(0, 10_000))
    return Run(
        run_id=make_run_id(job, day, seq),
        job=job,
        run_date=day,
        seq=seq,
        scheduled_at=draw(INSTANTS),
        created_at=draw(INSTANTS),
        updated_at=draw(INSTANTS),
        state=draw(st.sampled_from(sorted(FINAL_STATES))),
        trigger=draw(st.sampled_from(Trigger)),
        cause=draw(st.sampled_from(Cause)),
        reason=draw(st.text(st.characters(exclude_categories=()), max_size=60)),
        attempt=attempt,
        attempt_base=draw(st.integers(0, attempt)),
        reruns=draw(st.integers(0, 1000)),
        config_version=draw(st.integers(1, 10**6)),
    )


STATES = st.sampled_from(RunState)
