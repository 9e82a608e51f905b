"""The words in the schema are the words of the model."""

from __future__ import annotations

from pyscheduler.model.run import FINAL_STATES, OPEN_STATES, Trigger
from pyscheduler.store import schema


def test_the_indexes_know_every_final_state() -> None:
    """A state that is added and forgotten here would be in neither index."""
    assert all(f"'{state}'" in schema.IS_FINAL for state in FINAL_STATES)
    assert not any(f"'{state}'" in schema.IS_FINAL for state in OPEN_STATES)
    assert schema.IS_FINAL.replace(" IN ", " NOT IN ") == schema.IS_OPEN


def test_the_firing_index_knows_the_triggers_of_schedules() -> None:
    """Schedule, catch-up and backfill share one run a due instant (jobs.md 3.5)."""
    assert set(Trigger) - {Trigger(word) for word in schema.DUE_TRIGGERS} == {Trigger.MANUAL, Trigger.DEPENDENCY}


def test_the_newest_revision_is_the_last() -> None:
    """Revisions are numbered, so that `user_version` can carry the number."""
    assert max(schema.REVISIONS) == schema.REVISION
    assert [int(revision) for revision in schema.REVISIONS] == list(range(1, len(schema.REVISIONS) + 1))
