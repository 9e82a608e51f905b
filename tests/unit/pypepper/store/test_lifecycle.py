"""The order of a job's life, as a table. Spec: pipeline.md 12.3."""

from __future__ import annotations

import pytest

from pypepper.scheduler.status import Status
from pypepper.scheduler.store.lifecycle import existing_statuses_put_may_replace, put_applies, put_may_write

OPEN = ["Unknown", "Initializing", "Scheduled", "InProgress"]
ENDS = ["Failed", "Completed", "Cancelled"]


def test_the_words_of_the_machine() -> None:
    """pipeline.md 6.1: each member is its text."""
    assert [str(status) for status in Status] == [*OPEN, "Completed", "Failed", "Cancelled"]
    assert f"{Status.IN_PROGRESS}" == "InProgress"


@pytest.mark.parametrize("place", range(4))
def test_an_open_status_replaces_itself_and_what_stands_before_it(place: int) -> None:
    """pipeline.md 12.3 rows 1 to 4."""
    assert existing_statuses_put_may_replace(OPEN[place]) == frozenset(OPEN[: place + 1])


@pytest.mark.parametrize("end", ENDS)
def test_an_end_replaces_itself_and_all_that_is_open(end: str) -> None:
    """pipeline.md 12.3 rows 5 to 7: distinct ends never replace each other."""
    assert existing_statuses_put_may_replace(end) == frozenset([*OPEN, end])


def test_a_strange_word_replaces_itself() -> None:
    """pipeline.md 12.3: a status outside the list."""
    assert existing_statuses_put_may_replace("Paused") == {"Paused"}
    assert not any("Paused" in existing_statuses_put_may_replace(word) for word in [*OPEN, *ENDS])


def test_the_answers_are_plain_texts() -> None:
    """They are compared with what databases give back."""
    assert {type(word) for status in Status for word in existing_statuses_put_may_replace(status)} == {str}


def test_put_applies() -> None:
    """pipeline.md 1.2: no row, or a row that may be replaced."""
    assert put_applies(None, "Unknown")
    assert put_applies("Unknown", "Completed")
    assert not put_applies("InProgress", "Scheduled")


@pytest.mark.parametrize(
    ("existing", "version", "incoming", "mine", "may"),
    [
        (None, None, "Scheduled", 9, True),
        ("Scheduled", 1, "Scheduled", 1, True),
        ("Scheduled", 2, "InProgress", 1, False),
        ("Scheduled", 1, "InProgress", 2, False),
        ("InProgress", 2, "Scheduled", 2, False),
        ("Completed", 3, "Failed", 3, False),
    ],
)
def test_put_may_write(existing: str | None, version: int | None, incoming: str, mine: int, may: bool) -> None:
    """pipeline.md 12.2 put: the order of life and the version, both."""
    assert put_may_write(existing, version, incoming, mine) is may
