"""From a day's runs to a page: filters that mean what they say, pages that lose nobody."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.model.job import Criticality
from pyscheduler.model.run import Outcome, Run, RunState
from pyscheduler.web.board_rows import ROWS, Arranged, Wanted, arrange, row_of
from pyscheduler.web.ranking import Facts, Ranking
from pyscheduler.web.worst_first import Group
from tests.builders import NOON, a_job, a_run, an_attempt, ended_attempt, running

JOBS = {
    "load": a_job("load", tags=("finance",), criticality=Criticality.HIGH),
    "mail": a_job("mail", tags=("post",)),
}
FACTS = Facts(JOBS, NOON, {})
EVERYTHING = Wanted()


def page_of(runs: Sequence[Run], wanted: Wanted = EVERYTHING, page: int = 1, rows: int = ROWS) -> Arranged:
    return arrange(Ranking().order(runs, 0, FACTS), wanted, JOBS, page, rows)


def names(wanted: Wanted) -> list[str]:
    runs = [a_run("load", state=RunState.FAILED, reason="exit 3"), a_run("mail"), a_run("gone", state=RunState.BLOCKED)]
    return [place.run.job for place in page_of(runs, wanted).places]


def test_what_is_left_empty_does_not_restrict() -> None:
    assert names(Wanted()) == ["load", "gone", "mail"]


def test_filters_hold_together() -> None:
    """All that is given must hold; a job that is configured no longer has no tags and is of normal criticality."""
    assert names(Wanted(states=frozenset({RunState.FAILED, RunState.BLOCKED}))) == ["load", "gone"]
    assert names(Wanted(tag="finance")) == ["load"]
    assert names(Wanted(criticality=Criticality.NORMAL)) == ["gone", "mail"]
    assert names(Wanted(text="EXIT")) == ["load"]
    assert names(Wanted(text="post")) == ["mail"]
    assert names(Wanted(text="mail.2027")) == ["mail"]
    assert names(Wanted(tag="post", text="exit")) == []


@given(st.integers(0, 450), st.integers(1, 5))
def test_pages_hold_everybody_once(count: int, rows: int) -> None:
    """Every run stands on exactly one page, no page is longer than it may be, and the order goes on across pages."""
    runs = [a_run("load", seq=n + 1, scheduled_at=NOON + timedelta(seconds=n % 7)) for n in range(count % 40)]
    pages = page_of(runs, rows=rows).pages
    shown = [page_of(runs, page=page, rows=rows).places for page in range(1, pages + 1)]
    assert all(len(page) <= rows for page in shown)
    everyone = [place.run for page in shown for place in page]
    assert everyone == sorted(runs, key=lambda run: (run.scheduled_at, run.seq))


def test_a_page_beyond_the_last_is_the_last() -> None:
    found = page_of([a_run()], page=99)
    assert (found.page, found.pages, len(found.places)) == (1, 1, 1)


def test_a_page_never_holds_more_than_two_hundred() -> None:
    runs = [a_run(seq=n) for n in range(1, 402)]
    assert [len(page_of(runs, page=page).places) for page in (1, 2, 3)] == [ROWS, ROWS, 1]


def test_a_running_row_counts_up_to_now() -> None:
    run = running()
    row = row_of(run, Group.RUNNING, None, an_attempt(run), 10.0, NOON + timedelta(seconds=20))
    assert (row.took_s, row.percent, row.flag, row.is_running) == (20.0, 200, "long", True)


def test_a_short_success_is_flagged_and_a_short_failure_is_not() -> None:
    """A job that fails at once is no news of its own: the failure is."""
    done = a_run(state=RunState.SUCCEEDED, attempt=1)
    row = row_of(done, Group.SUCCEEDED, None, ended_attempt(done, Outcome.SUCCEEDED), 10.0, NOON)
    assert (row.flag, row.percent) == ("short", 0)
    failed = a_run(state=RunState.FAILED, attempt=1)
    assert row_of(failed, Group.FAILED, None, ended_attempt(failed, Outcome.FAILED), 10.0, NOON).flag == ""


def test_what_never_started_took_nothing() -> None:
    row = row_of(a_run(), Group.SCHEDULED, None, None, 10.0, NOON)
    assert (row.took_s, row.percent, row.started_at) == (None, None, None)
