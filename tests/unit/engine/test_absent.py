from __future__ import annotations

import pytest

from pyscheduler.engine.absent import no_such_job


@pytest.mark.parametrize(("name", "mend"), [("Daily", "did you mean daily?"), ("helo", "did you mean Hello?")])
def test_a_near_name_is_offered(name: str, mend: str) -> None:
    """Letter case alone is no difference."""
    assert no_such_job(name, ["daily", "Hello", "load"]).mend == mend


def test_else_the_list_is_named() -> None:
    """And a name of any length is cut."""
    error = no_such_job("x" * 500, ["daily"])
    assert error.mend == "`pysched jobs` lists them"
    assert len(error.what) < 150
