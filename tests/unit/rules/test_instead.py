from __future__ import annotations

import re

import pytest

from pyscheduler.model.run import RunState
from pyscheduler.rules.instead import DEEDS, applies, instead
from tests.builders import a_run

REFUSED = [(state, deed) for state in RunState for deed in DEEDS if not applies(state, deed)]


@pytest.mark.parametrize(("state", "deed"), REFUSED)
def test_what_is_advised_applies(state: RunState, deed: str) -> None:
    """Every command that a refusal names works on a run in that very state."""
    run = a_run(state=state)
    advised = re.findall(rf"pysched ([a-z-]+) {re.escape(run.run_id)}", instead(run, deed))
    assert all(applies(state, other) for other in advised if other != "why")
    assert deed not in advised


def test_all_that_may_be_refused_is_answered() -> None:
    """With more than an empty line."""
    assert len(REFUSED) > 40
    assert all(len(instead(a_run(state=state), deed)) > 20 for state, deed in REFUSED)


def test_a_held_run_is_told_how_to_let_go() -> None:
    """Not that it waits for something."""
    assert "pysched release load.2027-05-20.1" in instead(a_run(state=RunState.HELD), "hold")
