"""The demo: a real night, twice. What it prints is what it did."""

from __future__ import annotations

import re
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.shell import ROOT, shell

CHAIN = [
    "extract-america",
    "extract-asia",
    "extract-europe",
    "extract-others",
    "transform",
    "load",
    "report",
    "clean-up",
]


NIGHT_S = 170.0
"""A night is a dozen programs and a second's wait; the demo itself gives it three minutes."""


PRINTED = re.compile(r"20\S+ \S+  (\S+): (\w+)(?: \((.*)\))?")
LOGGED = re.compile(r"20\S+ INFO pyscheduler\.runs: (\S+) is (\w+)(?:: (.*))?")
Change = tuple[str, str, str | None]


def changes(lines: list[str], form: re.Pattern[str], day: str) -> list[Change]:
    """Return run, new state and reason of each line that tells of a change of a run of this date."""
    found = (form.fullmatch(line) for line in lines)
    return [(match[1], match[2], match[3]) for match in found if match and f".{day}." in match[1]]


def most_extracts_at_once(told: list[Change]) -> int:
    """Return how many extracts ran at the same time: they share a pool of two."""
    running = most = 0
    for run_id, state, _ in told:
        if run_id.startswith("extract-"):
            running += (state == "running") - (state == "succeeded")
            most = max(most, running)
    return most


@pytest.mark.timeout(400)
def test_the_demo_runs_twice(tmp_path: Path) -> None:
    """Everything succeeds but the branch for failures; the second run works on an earlier day in the same folder.

    What it prints it has seen in looks a moment apart: on a busy machine some changes fall between two of them. So what
    has happened is read in the log, and what was printed must have happened.
    """
    with shell(tmp_path) as pysched:
        days = []
        for _ in range(2):
            done = pysched.ok("demo", "--folder", "night", patience_s=NIGHT_S)
            board = [line.split() for line in done.lines if line.split(".")[0] in CHAIN]
            assert [row[0].partition(".")[0] for row in board] == CHAIN
            assert [row[2] for row in board] == ["succeeded"] * 7 + ["skipped"]
            tries = {row[0].partition(".")[0]: row[3] for row in board}
            assert tries["load"] == "2"
            days.append(board[0][0].split(".")[1])
            log = (tmp_path / "night" / "pysched.log").read_text().splitlines()
            happened, printed = changes(log, LOGGED, days[-1]), changes(done.lines, PRINTED, days[-1])
            assert (f"load.{days[-1]}.1", "retry_wait", "retry 1/2 after exit 75") in happened
            assert most_extracts_at_once(happened) == 2
            # whoever finds the pool full waits for it, and is said to where somebody looks meanwhile
            assert any(run_id.startswith("extract-") and state == "queued" for run_id, state, _ in happened)
            said = [why for run_id, state, why in printed if run_id.startswith("extract-") and state == "queued"]
            assert not said or any(said)
            assert {change[:2] for change in printed} <= {change[:2] for change in happened}
            assert [(row[0], row[2]) for row in board] == sorted(
                ((run_id, state) for run_id, state, _ in printed if state in ("succeeded", "skipped")),
                key=lambda end: CHAIN.index(end[0].partition(".")[0]),
            )
            report = Path(next(line for line in done.lines if line.startswith("The report: ")).partition(": ")[2])
            assert report == tmp_path / "night" / "reports" / f"{days[-1]}.md"
            assert report.read_text().startswith(f"# Clock changes around {days[-1]}\n")
        assert days[1] < days[0]
        with closing(sqlite3.connect(tmp_path / "night" / "clocks.db")) as database:
            rows = dict(database.execute("SELECT run_date, count(*) FROM changes GROUP BY run_date"))
        assert set(rows) == set(days)
        assert all(count > 1000 for count in rows.values())
        assert (tmp_path / "night" / "pysched.log").exists()


def test_a_folder_of_somebodys_own_is_left_alone(tmp_path: Path) -> None:
    """Exit code 1, and nothing is written into it."""
    with shell(tmp_path) as pysched:
        mine = tmp_path / "mine"
        mine.mkdir()
        (mine / "letter.txt").write_text("dear all")
        done = pysched("demo", "--folder", "mine")
        assert done.code == 1
        assert "something else is there already" in done.err
        assert [path.name for path in mine.iterdir()] == ["letter.txt"]


def test_ctrl_c_ends_the_demo(tmp_path: Path) -> None:
    """Exit code 130; the scheduler stops politely."""
    with shell(tmp_path) as pysched:
        demo = pysched.begin("demo", "--folder", "night")
        socket = tmp_path / "night" / "state" / "api.sock"
        pysched.until(socket.exists, "the scheduler is there")
        demo.send_signal(signal.SIGINT)
        _, err = demo.communicate(timeout=60)
        assert demo.returncode == 130
        assert b"Traceback" not in err
        assert not socket.exists()


def test_the_example_is_a_valid_configuration_with_its_programs(tmp_path: Path) -> None:
    """Read as an example, it must be one."""
    folder = ROOT / "examples" / "nightly"
    with shell(tmp_path) as pysched:
        done = pysched.ok("validate", str(folder / "pysched.yaml"))
        assert done.err == ""
        days = pysched.ok(
            "simulate", str(folder / "pysched.yaml"), "--from", "2027-05-17", "--to", "2027-05-23", "--json"
        )
        dates = {run["run_date"] for run in days.json["runs"]}
        assert dates == {"2027-05-14", "2027-05-17", "2027-05-18", "2027-05-19", "2027-05-20"}
    text = (folder / "pysched.yaml").read_text()
    for program in folder.glob("*.py"):
        assert program.name in text
