"""What a changed configuration changes. DESIGN 11."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from pyscheduler.config import config_diff, diff, firing_diff
from pyscheduler.config.diff import ConfigDiff
from tests.unit.config.conftest import Load

SINCE, UNTIL = datetime(2027, 5, 3, tzinfo=UTC), datetime(2027, 5, 10, tzinfo=UTC)
HEAD = "scheduler: {timezone: Europe/Berlin}\ncalendars: {bank: {holidays: [%s]}}\njobs:\n"


def text(holiday: str = "2027-05-17", **jobs: str) -> str:
    return HEAD % holiday + "".join(f"  {name}: {{command: x, {keys}}}\n" for name, keys in jobs.items())


def lines(load: Load, old: str, new: str) -> list[str]:
    before, after = load(old), load(new)
    return [str(change) for change in firing_diff(before, after, SINCE, UNTIL)]


# --------------------------------------------------------------------------- what is written


def test_nothing_changed_is_false(load: Load) -> None:
    """Where a job stands in a file is no difference, nor is a comment."""
    old = load(text(a="schedule: '@daily'", b="schedule: '@daily'"))
    new = load("# moved\n" + text(b="schedule: '@daily'", a="schedule: '@daily'"))
    assert config_diff(old, new) == ConfigDiff()
    assert not config_diff(old, new)


@pytest.mark.parametrize(
    "difference",
    [
        ConfigDiff(added=("a",)),
        ConfigDiff(removed=("a",)),
        ConfigDiff(changed={"a": ("cwd",)}),
        ConfigDiff(settings={"name": ("a", "b")}),
        ConfigDiff(pools={"p": (1, 2)}),
        ConfigDiff(calendars=("c",)),
    ],
)
def test_any_difference_is_true(difference: ConfigDiff) -> None:
    assert difference


def test_everything_written_is_compared(load: Load) -> None:
    old = load(
        "scheduler: {max_running: 4}\npools: {p: 1, q: 2}\ncalendars: {a: {}, b: {}}\n"
        "jobs:\n  gone: {command: x, schedule: manual}\n  same: {command: x, schedule: manual}\n"
        "  other: {command: x, schedule: manual, timeout: 1h}\n"
    )
    new = load(
        "scheduler: {max_running: 8}\npools: {p: 3, r: 1}\ncalendars: {a: {ends: 2030-01-01}, c: {}}\n"
        "jobs:\n  came: {command: x, schedule: manual}\n  same: {command: x, schedule: manual}\n"
        "  other: {command: y, schedule: manual, timeout: 2h}\n"
    )
    assert config_diff(old, new) == ConfigDiff(
        added=("came",),
        removed=("gone",),
        changed={"other": ("command", "timeout_s")},
        settings={"max_running": (4, 8)},
        pools={"p": (1, 3), "q": (2, None), "r": (None, 1)},
        calendars=("a", "b", "c"),
    )


def test_texts_are_compared_as_typed(load: Load) -> None:
    """A changed secret is no difference and prints nothing (FC-082)."""
    job = text(a="schedule: manual, env: {P: '${S}'}")
    assert not config_diff(load(job, env={"S": "old-secret"}), load(job, env={"S": "new-secret"}))


def test_a_setting_shows_its_variables_and_not_their_values(load: Load) -> None:
    old = load("scheduler: {heartbeat_url: 'https://example.org/${T}', log_dir: '/${T}/a'}\n", env={"T": "old-token"})
    new = load("scheduler: {heartbeat_url: 'https://example.com/${T}', log_dir: '/b'}\n", env={"T": "new-token"})
    assert config_diff(old, new).settings == {
        "heartbeat_url": ("https://example.org/${T}", "https://example.com/${T}"),
        "log_dir": ("/${T}/a", Path("/b")),
    }


# --------------------------------------------------------------------------- what will happen


def test_a_moved_time_moves_every_firing(load: Load) -> None:
    """Times in the scheduler's zone, with the offset, always."""
    found = lines(load, text(a="schedule: '0 6 * * mon,tue'"), text(a="schedule: '0 7 * * mon,tue'"))
    assert found == [
        "moved: a 2027-05-03 06:00:00+02:00 -> 2027-05-03 07:00:00+02:00 for run date 2027-05-03",
        "moved: a 2027-05-04 06:00:00+02:00 -> 2027-05-04 07:00:00+02:00 for run date 2027-05-04",
    ]


def test_added_and_lost_days_are_told(load: Load) -> None:
    found = lines(load, text(a="schedule: '0 6 * * mon'"), text(a="schedule: '0 6 * * tue'"))
    assert found == [
        "lost: a 2027-05-03 06:00:00+02:00 for run date 2027-05-03",
        "added: a 2027-05-04 06:00:00+02:00 for run date 2027-05-04",
    ]


def test_a_new_job_adds_and_a_removed_one_loses(load: Load) -> None:
    one, two = text(a="schedule: '0 6 * * mon'"), text(b="schedule: '0 6 * * mon'")
    assert [line.split(" ")[:2] for line in lines(load, one, two)] == [["lost:", "a"], ["added:", "b"]]


def test_another_run_date_for_the_same_firing_is_told_as_such(load: Load) -> None:
    old = text(a="schedule: '0 6 * * wed'")
    new = text(a="schedule: '0 6 * * wed', run_date: previous_business_day")
    assert lines(load, old, new) == ["redated: a 2027-05-05 06:00:00+02:00 for run date 2027-05-05 -> 2027-05-04"]


def test_a_changed_calendar_changes_the_jobs_on_it_and_those_behind_them(load: Load) -> None:
    jobs = {"a": "schedule: '0 6 * * *', calendar: bank", "b": "depends_on: [a]", "c": "schedule: '0 6 * * *'"}
    found = lines(load, text(**jobs), text("2027-05-05", **jobs))
    assert found == [
        "lost: a 2027-05-05 06:00:00+02:00 for run date 2027-05-05",
        "lost: b 2027-05-05 06:00:00+02:00 for run date 2027-05-05",
    ]


def test_a_dependency_only_job_moves_with_its_upstream(load: Load) -> None:
    old = text(a="schedule: '0 6 * * mon'", b="depends_on: [a]")
    new = text(a="schedule: '0 7 * * mon'", b="depends_on: [a]")
    assert [line.split(" ")[:2] for line in lines(load, old, new)] == [["moved:", "a"], ["moved:", "b"]]


def test_an_upstream_that_did_not_change_is_looked_at_for_its_dependants(load: Load) -> None:
    """The dependency-only job's calendar rule moved its run; what it hangs on stayed."""
    old = text(a="schedule: '0 6 * * *', calendar: bank", b="depends_on: [a]")
    new = text(a="schedule: '0 6 * * *', calendar: bank", b="depends_on: [{job: a, run_date: -1}]")
    found = lines(load, old, new)
    assert "moved: b 2027-05-04 06:00:00+02:00 -> 2027-05-03 06:00:00+02:00 for run date 2027-05-04" in found
    assert not any(line.startswith(("moved: a", "lost: a", "added: a")) for line in found)


def test_a_whole_chain_moves_with_its_head(load: Load) -> None:
    tail = {"b": "depends_on: [a]", "c": "depends_on: [b]", "d": "schedule: '0 9 * * mon', depends_on: [c]"}
    found = lines(load, text(a="schedule: '0 6 * * mon'", **tail), text(a="schedule: '0 7 * * mon'", **tail))
    assert [line.split(" ")[:2] for line in found] == [["moved:", "a"], ["moved:", "b"], ["moved:", "c"]]


def test_disabling_a_job_loses_its_firings(load: Load) -> None:
    found = lines(load, text(a="schedule: '0 6 * * mon'"), text(a="schedule: '0 6 * * mon', enabled: false"))
    assert found == ["lost: a 2027-05-03 06:00:00+02:00 for run date 2027-05-03"]


def test_waits_are_told_first(load: Load) -> None:
    old = text(a="schedule: '0 6 * * mon'", b="schedule: '0 7 * * mon', depends_on: [a]")
    edges = "[{job: a, on: failure}, {job: a, run_date: -1}]"
    new = text(a="schedule: '0 6 * * mon'", b=f"schedule: '0 7 * * mon', depends_on: {edges}")
    assert lines(load, old, new) == [
        "wait lost: b no longer waits for the success of a of the same run date",
        "wait added: b waits for the failure of a of the same run date",
        "wait added: b waits for the success of a of the run date 1 working days before",
    ]


def test_a_job_that_changed_elsewhere_changes_no_firing(load: Load) -> None:
    assert (
        lines(load, text(a="schedule: '0 6 * * mon'"), text(a="schedule: '0 6 * * mon', timeout: 1h, tags: [x]")) == []
    )


def test_the_star_setting_touches_every_schedule(load: Load) -> None:
    old = text(a="schedule: '0 6 4 * */3'")
    new = old.replace("Berlin}", "Berlin, cron_star: leading}")
    assert any(line.startswith("lost: a") for line in lines(load, old, new))


def test_only_what_differs_of_a_day_with_many_firings_is_told(load: Load) -> None:
    found = lines(load, text(a="schedule: '0 6,7,8 * * mon'"), text(a="schedule: '0 6,8,9 * * mon'"))
    assert found == ["moved: a 2027-05-03 07:00:00+02:00 -> 2027-05-03 09:00:00+02:00 for run date 2027-05-03"]


def test_a_change_carries_its_parts_for_programs(load: Load) -> None:
    old, new = load(text(a="schedule: '0 6 * * mon'")), load(text(a="schedule: '0 7 * * mon'"))
    (change,) = firing_diff(old, new, SINCE, datetime(2027, 5, 4, tzinfo=UTC))
    assert (change.kind, change.job, change.run_date) == ("moved", "a", date(2027, 5, 3))
    assert (change.before, change.after) == (datetime(2027, 5, 3, 4, tzinfo=UTC), datetime(2027, 5, 3, 5, tzinfo=UTC))


def test_the_number_of_lines_is_bounded(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "MAX_LINES", 5)
    other = {"z": "schedule: manual"}
    found = lines(load, text(**other), text(a="schedule: '0 * * * *'", **other))
    assert len(found) == 5
    assert found[-1] == "and 164 more changes"
