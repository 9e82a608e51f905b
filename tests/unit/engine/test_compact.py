"""Packed runs come back as they were."""

from __future__ import annotations

from hypothesis import given

from pyscheduler.engine.compact import pack, unpack
from pyscheduler.model.run import Run
from tests.strategies import final_runs


@given(run=final_runs())
def test_an_ended_run_comes_back_as_it_was(run: Run) -> None:
    """Every field, every state, trigger and cause, any text in the reason, any century."""
    assert unpack(run.run_id, pack(run)) == run


@given(run=final_runs())
def test_a_packed_run_is_small(run: Run) -> None:
    """About sixty bytes and the reason: a hundred thousand fit beside everything else."""
    assert len(pack(run)) <= 64 + len(run.reason.encode("utf-8", "surrogatepass"))
