"""What a page offers is what the rules accept: no button that can only be refused."""

from __future__ import annotations

import pytest

from pyscheduler.model.run import RunState
from pyscheduler.web.offers import ALL, OFFERS


@pytest.mark.parametrize("state", list(RunState))
def test_every_state_offers_something(state: RunState) -> None:
    """There is no state in which an operator can do nothing."""
    assert OFFERS[state]
    assert set(OFFERS[state]) <= set(ALL)


def test_offers_follow_the_table_of_the_spec() -> None:
    """Spec 15.8, row by row; cancelling is ours."""
    names = {state: {offer.action for offer in offers} for state, offers in OFFERS.items()}
    for state in (RunState.SCHEDULED, RunState.WAITING, RunState.BLOCKED, RunState.QUEUED, RunState.RETRY_WAIT):
        assert names[state] == {"hold", "force-start", "skip", "cancel"}
    assert names[RunState.HELD] == {"release", "force-start", "skip", "cancel"}
    assert names[RunState.RUNNING] == {"kill"}
    assert names[RunState.SUCCEEDED] == {"rerun", "mark-failed"}
    assert names[RunState.FAILED] == {"rerun", "mark-success"}
    assert names[RunState.SKIPPED] == names[RunState.CANCELLED] == {"rerun", "mark-success", "mark-failed"}
