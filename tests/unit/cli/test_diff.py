"""What a changed configuration changes."""

from __future__ import annotations

import pytest

from pyscheduler.cli.terminal import Terminal
from tests.unit.cli.prompt import Prompt

OLD = """
scheduler: {timezone: Europe/Berlin}
pools: {db: 2}
jobs:
  extract: {command: "true", schedule: "30 2 * * *"}
  load: {command: "true", depends_on: [extract]}
  gone: {command: "true", schedule: manual}
"""
NEW = (
    OLD.replace("30 2", "30 3")
    .replace("db: 2", "db: 3")
    .replace("gone", "fresh")
    .replace("depends_on: [extract]", "depends_on: [{job: extract, on: done}]")
)


@pytest.fixture
def both(pysched: Prompt) -> Prompt:
    (pysched.folder / "old.yaml").write_text(OLD)
    (pysched.folder / "new.yaml").write_text(NEW)
    return pysched


def files(prompt: Prompt, *names: str) -> list[str]:
    return [str(prompt.folder / name) for name in names]


def test_what_is_written_and_what_follows_from_it(both: Prompt) -> None:
    """Definitions first, then the runs that come, go or move, before and after."""
    said = both("diff", *files(both, "old.yaml", "new.yaml"), "--days", "1")
    assert said.code == 0
    assert said.out.splitlines() == [
        "job fresh is new",
        "job gone is gone",
        "job extract differs in schedules",
        "job load differs in depends_on",
        "pool db: 2 -> 3",
        "",
        "In the next 1 day:",
        "  wait lost: load no longer waits for the success of extract of the same run date",
        "  wait added: load waits for the done of extract of the same run date",
        "CHANGE  JOB      RUN DATE    BEFORE                     AFTER",
        "moved   extract  2027-05-21  2027-05-21 02:30:00+02:00  2027-05-21 03:30:00+02:00",
        "moved   load     2027-05-21  2027-05-21 02:30:00+02:00  2027-05-21 03:30:00+02:00",
        "2 runs shown: 2 moved",
    ]


def test_changes_that_are_alike_are_one_line(both: Prompt) -> None:
    """With their number, their dates and the first of them; the totals come last. --all shows each."""
    lines = both("diff", *files(both, "old.yaml", "new.yaml")).out.splitlines()
    begin = lines.index(next(line for line in lines if line.startswith("CHANGE")))
    assert lines[begin:] == [
        "CHANGE  JOB      RUNS  RUN DATE                  BEFORE                     AFTER",
        "moved   extract    90  2027-05-21 to 2027-08-18  2027-05-21 02:30:00+02:00  2027-05-21 03:30:00+02:00",
        "moved   load       90  2027-05-21 to 2027-08-18  2027-05-21 02:30:00+02:00  2027-05-21 03:30:00+02:00",
        "180 runs shown: 180 moved",
        "BEFORE and AFTER are those of the first of each line; --all shows every one",
    ]
    each = both("diff", *files(both, "old.yaml", "new.yaml"), "--all").out.splitlines()
    assert len(each) - len(lines) == 178 - 1


def test_a_clock_change_is_no_other_step(both: Prompt) -> None:
    """A schedule moved by an hour on the wall is one line over the whole year."""
    lines = both("diff", *files(both, "old.yaml", "new.yaml"), "--days", "365").out.splitlines()
    assert sum(line.startswith("moved") for line in lines) <= 4


def test_without_an_old_file_it_is_what_a_reload_would_change(both: Prompt) -> None:
    """The scheduler compares, since it alone knows what is in force."""
    answer = {
        "added": ["fresh"],
        "removed": [],
        "changed": {"load": ["schedules"]},
        "settings": {"max_running": ["32", "4"]},
        "pools": {"db": [None, 2]},
        "calendars": [],
        "same": False,
        "firings": [
            {
                "kind": "added",
                "job": "fresh",
                "text": "",
                "run_date": "2027-05-21",
                "before": None,
                "after": "2027-05-21T01:00:00Z",
            }
        ],
    }
    both.scheduler.replies = {"GET /api/diff": answer}
    for given in ([], [str(both.config)]):
        lines = both("diff", *given, "--days", "7").out.splitlines()
        assert both.scheduler.asked[-1] == ("GET /api/diff", {"days": 7})
        assert lines[:4] == [
            "job fresh is new",
            "job load differs in schedules",
            "scheduler max_running: 32 -> 4",
            "pool db: not there -> 2",
        ]
        assert lines[-1] == "1 run shown: 1 added"
    assert both("diff", "--days", "400").code == 2
    assert both("diff", "a", "b", "c").code == 2


def test_with_one_other_file_the_schedulers_own_is_the_old_one(both: Prompt) -> None:
    """Said, since what lies on disk need not be in force."""
    both.config.write_text(OLD)
    said = both("diff", *files(both, "new.yaml"), "--days", "1")
    assert "job fresh is new" in said.out
    assert "as it is on disk" in said.err


def test_at_eighty_columns_both_times_are_whole(both: Prompt) -> None:
    """The seconds give way, never the offset."""
    lines = both(
        "diff", *files(both, "old.yaml", "new.yaml"), "--days", "1", terminal=Terminal(width=80)
    ).out.splitlines()
    assert lines[-2] == "moved   load     2027-05-21  2027-05-21 02:30+02:00  2027-05-21 03:30+02:00"


def test_the_difference_for_programs(both: Prompt) -> None:
    """Stable names, instants in UTC."""
    found = both("diff", *files(both, "old.yaml", "new.yaml"), "--days", "1", "--json").json
    assert (found["added"], found["removed"]) == (["fresh"], ["gone"])
    assert found["pools"] == {"db": {"old": 2, "new": 3}}
    moved = next(each for each in found["firings"] if each["job"] == "extract")
    assert (moved["kind"], moved["before"], moved["after"]) == ("moved", "2027-05-21T00:30:00Z", "2027-05-21T01:30:00Z")


def test_nothing_differs(both: Prompt) -> None:
    """Exit code 0 whatever differs; a file against itself differs in nothing."""
    said = both("diff", *files(both, "old.yaml", "old.yaml"))
    assert (said.code, said.out) == (0, "Nothing differs.\n")


def test_a_change_that_moves_no_run(both: Prompt) -> None:
    """Said in so many words."""
    (both.folder / "other.yaml").write_text(OLD.replace('gone: {command: "true"', 'gone: {command: "false"'))
    lines = both("diff", *files(both, "old.yaml", "other.yaml"), "--days", "5").out.splitlines()
    assert lines == ["job gone differs in command", "", "No run of the next 5 days comes, goes or moves."]


def test_a_faulty_file_is_exit_code_2(both: Prompt) -> None:
    """Whichever of the two it is."""
    (both.folder / "bad.yaml").write_text("jobs: []")
    assert both("diff", *files(both, "old.yaml", "bad.yaml")).code == 2
