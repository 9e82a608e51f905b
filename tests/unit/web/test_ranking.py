"""A day's order that is kept is the order that would be worked out anew, whatever has happened in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.model.job import Criticality, Job
from pyscheduler.model.run import Run, RunState
from pyscheduler.web.ranking import Facts, Ranking, late_among, place_of
from pyscheduler.web.worst_first import Group, Pace
from tests.builders import NOON, a_job, a_run

MINUTE = timedelta(minutes=1)
JOBS = {
    "load": a_job("load", criticality=Criticality.CRITICAL),
    "mail": a_job("mail", must_start_by=3600.0),
    "send": a_job("send", max_runtime_s=60.0),
}
Story = list[tuple[list[tuple[int, RunState, int]], int, int, bool]]
RUNS = [a_run(job, seq=seq) for job in (*JOBS, "gone") for seq in (1, 2)]


def facts(now: datetime = NOON, jobs: Mapping[str, Job] = JOBS) -> Facts:
    return Facts(jobs, now, {})


def groups(ranking: Ranking, runs: list[Run], version: int, around: Facts) -> list[Group]:
    return [place.group for place in ranking.order(runs, version, around)]


changes = st.tuples(st.integers(0, len(RUNS) - 1), st.sampled_from(RunState), st.integers(0, 1))
steps = st.tuples(st.lists(changes, max_size=3), st.integers(-5, 40), st.integers(1, 100), st.booleans())


@given(st.lists(steps, max_size=12))
def test_what_is_kept_is_what_would_be_worked_out_anew(story: Story) -> None:
    """Runs change, time goes on and back, attempts grow long, jobs become others: the order is always the true one."""
    ranking, runs, now, version, jobs = Ranking(), list(RUNS), NOON, 0, JOBS
    for some, minutes, took_s, is_reloaded in story:
        for index, state, attempt in some:
            runs[index] = replace(runs[index], state=state, attempt=attempt)
        version += bool(some)
        now += minutes * MINUTE
        jobs = {**jobs} if is_reloaded else jobs
        paces = {run.run_id: Pace(float(took_s), 10.0) for run in runs if run.state is RunState.RUNNING}
        around = Facts(jobs, now, paces)
        found = ranking.order(tuple(runs), version, around)
        assert list(found) == sorted((place_of(run, around) for run in runs), key=lambda place: place.key)
        assert late_among(found) == sum(place.group is Group.LATE for place in found)


def test_a_run_becomes_late_by_itself() -> None:
    """Nothing has changed but the time."""
    ranking, runs = Ranking(), [a_run("load"), a_run("mail")]
    assert groups(ranking, runs, 1, facts()) == [Group.SCHEDULED, Group.SCHEDULED]
    assert groups(ranking, runs, 1, facts(NOON + 16 * MINUTE)) == [Group.LATE, Group.SCHEDULED]
    assert groups(ranking, runs, 1, facts(NOON + 61 * MINUTE)) == [Group.LATE, Group.LATE]


def test_a_clock_that_goes_back_takes_lateness_with_it() -> None:
    ranking, runs = Ranking(), [a_run("load")]
    assert groups(ranking, runs, 1, facts(NOON + 60 * MINUTE)) == [Group.LATE]
    assert groups(ranking, runs, 1, facts(NOON)) == [Group.SCHEDULED]


def test_a_run_grows_long_by_itself() -> None:
    ranking, run = Ranking(), a_run("send", state=RunState.RUNNING, attempt=1)
    around = [Facts(JOBS, NOON, {run.run_id: Pace(took, None)}) for took in (1.0, 61.0)]
    assert [groups(ranking, [run], 1, each) for each in around] == [[Group.RUNNING], [Group.LONG]]


def test_a_reload_places_all_anew() -> None:
    """What is critical now was not before."""
    ranking, runs = Ranking(), [a_run("mail", state=RunState.FAILED, attempt=1)]
    assert groups(ranking, runs, 1, facts()) == [Group.FAILED]
    critical = {"mail": a_job("mail", criticality=Criticality.CRITICAL)}
    assert groups(ranking, runs, 1, facts(jobs=critical)) == [Group.FAILED_CRITICAL]


def test_an_order_once_given_stays_as_it_was() -> None:
    """A page may still be made of it while another look changes what is kept."""
    ranking, runs = Ranking(), [a_run("load"), a_run("mail")]
    before = ranking.order(runs, 1, facts())
    copy = list(before)
    ranking.order([replace(runs[0], state=RunState.FAILED), runs[1]], 2, facts())
    assert list(before) == copy


def test_what_stays_keeps_its_place() -> None:
    """Only what has changed is placed anew: that is what makes a look cheap."""
    ranking, runs = Ranking(), [a_run("load"), a_run("mail")]
    (_, before) = ranking.order(runs, 1, facts())
    after = ranking.order([replace(runs[0], state=RunState.FAILED), runs[1]], 2, facts())
    assert after[-1] is before
