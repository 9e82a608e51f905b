"""The demo: a real night, twice. What it prints is what it did."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from pathlib import Path

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


def most_extracts_at_once(lines: list[str]) -> int:
    """Return how many extracts were seen running at the same time: they share a pool of two."""
    running = most = 0
    for line in lines:
        if line.startswith("20") and "extract-" in line:
            state = line.rpartition(": ")[2].partition(" ")[0]
            running += (state == "running") - (state == "succeeded")
            most = max(most, running)
    return most


def test_the_demo_runs_twice(tmp_path: Path) -> None:
    """Everything succeeds but the branch for failures; the second run works on an earlier day in the same folder."""
    with shell(tmp_path) as pysched:
        days = []
        for _ in range(2):
            done = pysched.ok("demo", "--folder", "night")
            board = [line.split() for line in done.lines if line.split(".")[0] in CHAIN]
            assert [row[0].partition(".")[0] for row in board] == CHAIN
            assert [row[2] for row in board] == ["succeeded"] * 7 + ["skipped"]
            tries = {row[0].partition(".")[0]: row[3] for row in board}
            assert tries["load"] == "2"
            assert "load." in done.out
            assert "retry_wait (retry 1/2 after exit 75)" in done.out
            assert most_extracts_at_once(done.lines) == 2
            # whoever finds the pool full is said to wait for it
            assert any(line.startswith("20") and "extract-" in line and ": queued (" in line for line in done.lines)
            days.append(board[0][0].split(".")[1])
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
