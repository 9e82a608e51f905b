"""What is said of a running run beside that it runs; the rest of `why` is asked of a whole engine (test_explain)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from pyscheduler.model.job import OnUncertain
from pyscheduler.rules.why import RunFacts, why_run
from tests.builders import a_job, running


def say(at: datetime) -> str:
    return at.isoformat()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, ""),
        ({"reclaim_after_s": 1800.0}, "; a node that falls silent keeps it for 30m00s"),
        ({"on_uncertain": OnUncertain.STOP}, "; it is ended where its node cannot renew its lease"),
    ],
)
def test_what_a_silent_node_would_mean_is_said(fields: dict[str, Any], said: str) -> None:
    """Where the job says something of its own about it."""
    run = running()
    text = why_run(run, a_job(**fields), RunFacts(), say).text
    assert text == "it is running" + (f": {run.reason}" if run.reason else "") + said
