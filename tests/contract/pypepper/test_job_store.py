"""What every job store promises, whatever it is made of. Spec: pipeline.md 12."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pypepper.scheduler.status import Status
from pypepper.scheduler.store import IJobStore
from tests.contract.pypepper.store_kit import BORN, LATER, record

ORDER = ["Unknown", "Initializing", "Scheduled", "InProgress", "Failed", "Completed", "Cancelled"]
MATRIX = {
    "Unknown":      "✓------",
    "Initializing": "✓✓-----",
    "Scheduled":    "✓✓✓----",
    "InProgress":   "✓✓✓✓---",
    "Failed":       "✓✓✓✓✓--",
    "Completed":    "✓✓✓✓-✓-",
    "Cancelled":    "✓✓✓✓--✓",
}  # fmt: skip


def test_an_insert_keeps_the_record_exactly_as_given(store: IJobStore) -> None:
    """pipeline.md 12.2 put: no row, insert exactly as given, version not bumped, True."""
    given = record(version=7, payload={"workflows": []}, results=[{"ok": True}, None], error="boom", category=None)
    assert store.put(given) is True
    assert store.get("a") == given


def test_an_update_replaces_all_but_created_and_counts_the_version(store: IJobStore) -> None:
    """pipeline.md 12.2 put: row exists, all fields but `created` are replaced, durable version + 1, True."""
    store.put(record(payload={"workflows": [1]}, results=[1], error="old"))
    new = record(
        "a", Status.IN_PROGRESS, category=None, channel_id="other", created=LATER, updated=LATER, workflow_count=3
    )
    assert store.put(new) is True
    assert store.get("a") == replace(new, created=BORN, version=2)


def test_texts_come_back_letter_by_letter(store: IJobStore) -> None:
    """A payload, a result and an error say the same after a round trip: quotes, emoji, line ends, long ones."""
    odd = 'Ünï "q" \\ \' % ? :x 😀\n\t' + "x" * 100_000
    given = record(payload={"k": odd, "n": [1, 2.5, None, True]}, results=[odd], error=odd, category="😀 cat")
    store.put(given)
    assert store.get("a") == given


def test_ids_are_told_apart_by_case(store: IJobStore) -> None:
    """`A` and `a` are two jobs everywhere."""
    assert store.put(record("A"))
    assert store.put(record("a", channel_id="Demo-Channel"))
    assert len(store.list()) == 2
    assert [found.id for found in store.list("demo-channel")] == ["A"]


@pytest.mark.parametrize("incoming", ORDER)
def test_the_matrix_of_replacements(store: IJobStore, incoming: str) -> None:
    """pipeline.md 12.3: each row of the matrix, every durable status in turn."""
    for durable, allowed in zip(ORDER, MATRIX[incoming], strict=True):
        store.clear()
        store.put(record(status=durable))
        before = store.get("a")
        assert store.put(record(status=incoming, updated=LATER)) is (allowed == "✓"), durable
        after = record(status=incoming, updated=LATER, version=2) if allowed == "✓" else before
        assert store.get("a") == after


def test_a_word_of_somebodys_own_replaces_only_itself(store: IJobStore) -> None:
    """pipeline.md 12.3: a status outside the list replaces only itself and is replaced only by itself."""
    store.put(record(status="Paused"))
    assert [store.put(record(status=word)) for word in ORDER] == [False] * 7
    assert store.put(record(status="Paused")) is True
    store.put(record("b"))
    assert store.put(record("b", "Paused")) is False


def test_the_worked_example_of_puts_in_order(store: IJobStore) -> None:
    """pipeline.md 12.3, second table, all five rows."""
    told = [
        store.put(record(created="a", version=1)),
        store.put(record(created="b", version=1)),
        store.put(record(status=Status.IN_PROGRESS, version=1)),
        store.put(record(status=Status.IN_PROGRESS, version=2)),
        store.put(record(status=Status.SCHEDULED, version=3)),
    ]
    assert told == [True, True, False, True, False]
    durable = store.get("a")
    assert durable is not None
    assert (durable.status, durable.version, durable.created) == ("InProgress", 3, "a")


@pytest.mark.parametrize("version", [1, 2, 4, 99])
def test_an_update_needs_the_rows_version(store: IJobStore, version: int) -> None:
    """pipeline.md 12.2 put: another version than the durable one changes nothing, False."""
    store.put(record(version=3))
    before = store.get("a")
    assert store.put(record(version=version, updated=LATER)) is False
    assert store.get("a") == before


def test_get_knows_what_is_there(store: IJobStore) -> None:
    """pipeline.md 12.2 get: record or None."""
    store.put(record("a"))
    assert store.get("a") == record("a")
    assert store.get("b") is None


def test_list_gives_all_or_one_channel(store: IJobStore) -> None:
    """pipeline.md 12.2 list: all, or one channel's, whatever their status."""
    store.put(record("a", channel_id="x"))
    store.put(record("b", "Failed", channel_id="y"))
    store.put(record("c", channel_id="x"))
    assert sorted(found.id for found in store.list()) == ["a", "b", "c"]
    assert sorted(found.id for found in store.list("x")) == ["a", "c"]
    assert store.list("z") == []


def test_delete_and_clear(store: IJobStore) -> None:
    """pipeline.md 12.2 delete, clear: one (an unknown id is fine), all; and an id may be used again."""
    for job_id in "abc":
        store.put(record(job_id, "Completed"))
    store.delete("a")
    store.delete("nobody")
    assert sorted(found.id for found in store.list()) == ["b", "c"]
    store.clear()
    assert store.list() == []
    assert store.put(record("a")) is True


def test_a_closed_store_opens_again(store: IJobStore) -> None:
    """Closing gives connections back and forgets nothing."""
    store.put(record())
    store.close()
    store.close()
    assert store.get("a") == record()
