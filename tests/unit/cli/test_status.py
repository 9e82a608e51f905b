"""The board: worst first, today's whole work, and what is amiss with the scheduler itself."""

from __future__ import annotations

import click
import pytest

from pyscheduler.cli.faults import Refused, Unreachable
from pyscheduler.cli.terminal import Terminal
from tests.unit.cli.prompt import Prompt, a_run, a_scheduler, waiting

RUNS = [
    a_run("extract.2027-05-20.1"),
    a_run("load.2027-05-20.1", state="failed", reason="exit 3", attempt=3, duration_seconds=0.4),
    a_run(
        "report.2027-05-20.1", state="running", ended_at=None, duration_seconds=None, started_at="2027-05-20T11:56:55Z"
    ),
    waiting("clean-up.2027-05-20.1", "waiting for load (2027-05-20)"),
    a_run(
        "日報.2027-05-19.1", state="skipped", reason="skip by ann", attempt=0, started_at=None, duration_seconds=None
    ),
]


@pytest.fixture
def board(pysched: Prompt) -> Prompt:
    pysched.scheduler.replies = {
        "GET /api/scheduler": a_scheduler(),
        "GET /api/runs": {"runs": RUNS, "next_cursor": None},
    }
    return pysched


def test_the_board_for_people(board: Prompt) -> None:
    """Worst first; times in the scheduler's zone with the offset; wide characters count two."""
    said = board("status")
    assert said.code == 0
    assert said.out.splitlines() == [
        "night: today 2027-05-20 Thu, now 2027-05-20 14:00:00+02:00",
        "",
        "RUN                    STATE        TRY  STARTED           TOOK  REASON",
        "load.2027-05-20.1      ✗ failed       3  03:00:00+02:00    0.4s  exit 3",
        "report.2027-05-20.1    ▶ running      1  13:56:55+02:00  3m05s+  -",
        "clean-up.2027-05-20.1  ◷ waiting      -  -                    -  waiting for load (2027-05-20)",
        "日報.2027-05-19.1      » skipped      -  -                    -  skip by ann",
        "extract.2027-05-20.1   ✓ succeeded    1  03:00:00+02:00   3m05s  -",
        "",
        "5 runs: 1 failed, 1 running, 1 waiting, 1 skipped, 1 succeeded",
        "next firing 2027-05-21 03:00:00+02:00",
    ]


def test_where_the_console_is_stands_below(board: Prompt) -> None:
    """Where TCP is listened at; nothing where it is not."""
    board.scheduler.replies["GET /api/scheduler"] = a_scheduler(listen="127.0.0.1:8470")
    assert board("status").out.splitlines()[-1] == "console at http://127.0.0.1:8470/"
    board.scheduler.replies["GET /api/scheduler"] = a_scheduler(listen=None)
    assert "console" not in board("status").out


def test_at_eighty_columns_the_reason_is_cut(board: Prompt) -> None:
    """No line wraps, and there is ASCII only where there is nothing else."""
    said = board("status", terminal=Terminal(width=80, height=24, unicode=False))
    table = said.out.splitlines()[2:8]
    assert table[1] == "load.2027-05-20.1      ! failed       3  03:00:00+02    0.4s  exit 3"
    assert table[3] == "clean-up.2027-05-20.1  . waiting      -  -                 -  waiting for loa..."
    assert all(len(line) <= 80 for line in table)
    assert "✗" not in said.out


def test_colours_change_nothing_but_the_colour(board: Prompt) -> None:
    """On a terminal a failed run is red; without the colours the text is the same."""
    plain = board("status", terminal=Terminal(width=120))
    coloured = board("status", terminal=Terminal(width=120, colour=True))
    assert "\x1b[31m✗ failed\x1b[0m" in coloured.out
    assert "\x1b" not in plain.out
    assert [line.rstrip() for line in click.unstyle(coloured.out).splitlines()] == plain.out.splitlines()


def test_todays_board_has_last_nights_and_whatever_is_open(board: Prompt) -> None:
    """A nightly job works on yesterday: its run is due today, and a blocked one of last week still matters."""
    board("status")
    queries = [query for route, query in board.scheduler.asked if route == "GET /api/runs"]
    assert [sorted(query.keys() - {"limit"}) for query in queries] == [["run_date"], ["since"], ["state"]]
    assert queries[1]["since"] == "2027-05-19T22:00:00Z"
    assert set(queries[2]["state"]) == {"scheduled", "waiting", "blocked", "queued", "running", "retry_wait", "held"}


def test_the_board_of_a_date_has_that_run_date_alone(board: Prompt) -> None:
    """`--date` is exact."""
    said = board("status", "--date", "2027-05-19")
    queries = [query for route, query in board.scheduler.asked if route == "GET /api/runs"]
    assert [query["run_date"] for query in queries] == ["2027-05-19"]
    assert said.out.startswith("night: run date 2027-05-19 Wed")


def test_pages_are_followed_to_their_end(board: Prompt) -> None:
    """Four thousand jobs are one board."""
    pages = {None: {"runs": RUNS[:2], "next_cursor": "c1"}, "c1": {"runs": RUNS[2:], "next_cursor": None}}
    board.scheduler.replies["GET /api/runs"] = lambda query: pages[query.get("cursor")]
    assert len(board("status", "--date", "2027-05-20", "--json").json["runs"]) == 5


def test_the_board_for_programs(board: Prompt) -> None:
    """One JSON document: date, counts, the scheduler's own state, the runs as the API has them."""
    found = board("status", "--json").json
    assert found["date"] == "2027-05-20"
    assert found["counts"] == {"failed": 1, "running": 1, "waiting": 1, "skipped": 1, "succeeded": 1}
    assert found["complete"] is True
    assert found["scheduler"]["name"] == "night"
    assert sorted(run["run_id"] for run in found["runs"]) == sorted(run["run_id"] for run in RUNS)


def test_what_is_amiss_stands_above_the_board(board: Prompt) -> None:
    """A pause, a held catch-up and a failed reload explain a quiet board before anybody asks."""
    at = "2027-05-20T10:00:00Z"
    board.scheduler.replies["GET /api/scheduler"] = a_scheduler(
        pauses=[
            {"job": None, "by": "ann", "since": at, "reason": "disk\nfull"},
            {"job": "load", "by": "bob", "since": at, "reason": ""},
        ],
        catch_up_held={"since": at, "until": at},
        config={"jobs": 3, "version": 1, "reload_failure": {"at": at, "actor": "bob", "problems": []}},
        next_firing=None,
    )
    lines = board("status").out.splitlines()
    assert lines[1] == "▲ everything is paused by ann since 2027-05-20 12:00:00+02:00: disk\\nfull"
    assert lines[2] == "▲ job load is paused by bob since 2027-05-20 12:00:00+02:00"
    assert "pysched catch-up --dry-run" in lines[3]
    assert "the reload by bob at 2027-05-20 12:00:00+02:00 failed" in lines[4]
    assert lines[-1].endswith("no firing is to come")


def test_an_empty_board_says_so(board: Prompt) -> None:
    """No heading without a row."""
    board.scheduler.replies["GET /api/runs"] = {"runs": [], "next_cursor": None}
    lines = board("status").out.splitlines()
    assert lines[2:] == ["no runs", "next firing 2027-05-21 03:00:00+02:00"]


def test_no_scheduler_is_exit_code_1_and_a_way_out(board: Prompt) -> None:
    """Where, what, how to mend it; stdout stays empty for programs."""
    board.scheduler.replies["GET /api/scheduler"] = Unreachable(
        "no scheduler is running", where="pysched.yaml", mend="pysched serve pysched.yaml starts one"
    )
    said = board("status", "--json")
    assert (said.code, said.out) == (1, "")
    assert said.err == ("error: pysched.yaml: no scheduler is running\n  mend: pysched serve pysched.yaml starts one\n")


def test_a_failed_engine_is_exit_code_1(board: Prompt) -> None:
    """The service stays and says so."""
    board.scheduler.replies["GET /api/scheduler"] = Refused("scheduler failed; see the scheduler log", status=503)
    said = board("status")
    assert (said.code, said.err) == (1, "error: scheduler failed; see the scheduler log\n")


def test_watching_and_json_exclude_each_other(board: Prompt) -> None:
    """Wrong usage is exit code 2."""
    said = board("status", "--watch", "--json")
    assert said.code == 2
    assert "do not go together" in said.err


def test_watching_fills_the_screen_and_no_more(board: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each board is painted over the last one; Ctrl-C ends it with 130 and leaves the last one there, whole."""
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("pyscheduler.cli.status.time.sleep", nap)
    said = board("status", "--watch", terminal=Terminal(width=80, height=6))
    assert said.code == 130
    screens = said.out.split("\x1b[H")[1:]
    assert len(screens) == 3
    assert screens[2].splitlines()[-1].startswith("next firing ")
    assert "more lines" not in screens[2]
    assert [line.removesuffix("\x1b[K") for line in screens[0].splitlines()][4] == "... and 7 more lines"
    assert naps == [2.0, 2.0]


def test_the_next_firing_has_its_jobs(board: Prompt) -> None:
    """A few of them by name."""
    board.scheduler.replies["GET /api/scheduler"] = a_scheduler(next_firing_jobs=["a", "b", "c", "d"])
    assert board("status").out.splitlines()[-1] == "next firing 2027-05-21 03:00:00+02:00: a, b, c and 1 other"
