"""What Ctrl-K finds: at most a few of each, the nearest first."""

from __future__ import annotations

from pyscheduler.web.frame import PLACES
from pyscheduler.web.palette import FOUND, matching_jobs, pages, states


def test_a_job_that_begins_so_comes_before_one_that_contains_it() -> None:
    assert [find.words for find in matching_jobs(["reload", "load-b", "Load-a"], "LOAD")] == [
        "Load-a",
        "load-b",
        "reload",
    ]


def test_no_letters_find_no_jobs_and_many_find_a_few() -> None:
    """Ten thousand jobs make a short list."""
    assert matching_jobs(["a"], "") == []
    assert len(matching_jobs([f"job-{n}" for n in range(10_000)], "job")) == FOUND


def test_pages_are_all_there_at_first() -> None:
    assert [find.words for find in pages(PLACES, "")] == [place.name for place in PLACES]
    assert [find.words for find in pages(PLACES, "fore")] == ["Forecast"]


def test_states_lead_to_a_filtered_board() -> None:
    assert [find.href for find in states("re")] == ["/?state=retry_wait"]
    assert states("") == []


def test_every_page_has_a_key_of_its_own() -> None:
    """`g` and one letter: two pages cannot share it."""
    assert len({place.key for place in PLACES}) == len(PLACES)
