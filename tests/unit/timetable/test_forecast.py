from __future__ import annotations

from collections.abc import Mapping
from datetime import time

from pyscheduler.model.job import AtSpec, Dependency, DependsOn, Job
from pyscheduler.timetable import ALL_DAYS, BusinessCalendar, ForecastEntry, Timetable, forecast
from tests.unit.timetable.support import UK_2027, at, job


def needs(*upstreams: str | Dependency) -> tuple[Dependency, ...]:
    return tuple(Dependency(it) if isinstance(it, str) else it for it in upstreams)


def seen(
    *jobs: Job,
    since: str = "2027-05-13T00:00",
    until: str = "2027-05-14T00:00",
    typical: Mapping[str, float] | None = None,
    calendar: BusinessCalendar = ALL_DAYS,
) -> list[ForecastEntry]:
    by_name = {it.name: it for it in jobs}
    return forecast(
        by_name,
        lambda name: Timetable.of(by_name[name], calendar),
        lambda _: calendar,
        at(since),
        at(until),
        typical or {},
    )


def lines(entries: list[ForecastEntry]) -> list[str]:
    return [
        f"{it.job} {it.run_date:%d} {it.expected_start:%d %H:%M}-{it.expected_end:%d %H:%M}"
        + (f" {it.via}" if it.via else "")
        for it in entries
    ]


def test_a_scheduled_job_starts_when_it_fires() -> None:
    """One entry a firing, in (start, end]; its dependencies do not move it."""
    late = job("0 3 * * *", name="late")
    load = job("0 0,1 * * *", name="load", depends_on=needs("late"))
    entries = seen(late, load, typical={"late": 7200.0})
    assert lines(entries) == ["load 13 13 01:00-13 01:00", "late 13 13 03:00-13 05:00", "load 14 14 00:00-14 00:00"]
    assert entries[0].expected_duration_s is None
    assert entries[1].expected_duration_s == 7200.0


def test_a_dependency_only_job_starts_at_the_end_of_its_last_upstream() -> None:
    """The deciding one is named; a duration nobody knows counts as none."""
    entries = seen(
        job("0 1 * * *", name="a"),
        job("0 2 * * *", name="b"),
        job(name="join", depends_on=needs("a", "b")),
        job(name="tail", depends_on=needs("join")),
        typical={"a": 5400.0, "join": 60.0},
    )
    assert lines(entries) == [
        "a 13 13 01:00-13 02:30",
        "b 13 13 02:00-13 02:00",
        "join 13 13 02:30-13 02:31 a",
        "tail 13 13 02:31-13 02:31 join",
    ]


def test_of_upstreams_that_end_together_the_first_named_decides() -> None:
    """A stable answer."""
    entries = seen(job("0 1 * * *", name="b"), job("0 1 * * *", name="a"), job(name="join", depends_on=needs("b", "a")))
    assert entries[-1].via == "b"


def test_of_several_upstream_runs_of_one_date_the_first_that_ends_alone_opens() -> None:
    """An hourly upstream: one run of the dependant, behind the first, as the engine does it."""
    entries = seen(job("0 1-3 * * *", name="a"), job(name="join", depends_on=needs("a")), typical={"a": 60.0})
    assert [line for line in lines(entries) if line.startswith("join")] == ["join 13 13 01:01-13 01:01 a"]
    assert len(entries) == 4


def test_an_upstream_that_is_overtaken_by_its_next_run_opens_when_that_has_ended() -> None:
    """The latest run speaks: while a newer one goes, the older one's end is not enough."""
    entries = seen(job("0 1-3 * * *", name="a"), job(name="join", depends_on=needs("a")), typical={"a": 5400.0})
    # 01:00-02:30; the one of 02:00 waits, runs 02:30-04:00, and the one of 03:00 waits for it until 05:30.
    assert [line for line in lines(entries) if line.startswith("join")] == ["join 13 13 05:30-13 05:30 a"]


def test_what_has_started_before_the_window_is_not_promised_again() -> None:
    """Its run date has more firings to come, but its run was opened by the first."""
    jobs = job("0 */6 * * *", name="up"), job(name="down", depends_on=needs("up"))
    entries = seen(*jobs, since="2027-05-13T07:00", until="2027-05-13T23:00", typical={"up": 60.0})
    assert {it.job for it in entries} == {"up"}


def test_what_was_created_before_the_window_and_starts_in_it_is_promised() -> None:
    """The upstream was running when the window began."""
    jobs = job("0 1 * * *", name="up"), job(name="down", depends_on=needs("up"))
    entries = seen(*jobs, since="2027-05-13T01:30", until="2027-05-13T23:00", typical={"up": 3600.0})
    assert lines(entries) == ["down 13 13 02:00-13 02:00 up"]


def test_an_entry_does_not_move_with_the_end_of_the_window() -> None:
    """A longer window adds entries and changes none."""
    jobs = (
        job("0 1 * * *", name="a"),
        job("0 5,9 * * *", name="b"),
        job(name="join", depends_on=needs("a", "b")),
        job(name="tail", depends_on=needs("join", Dependency("a", run_date=-1))),
    )
    wide = set(lines(seen(*jobs, until="2027-05-16T00:00", typical={"b": 60.0})))
    for hour in range(2, 24):
        narrow = lines(seen(*jobs, until=f"2027-05-13T{hour:02}:00", typical={"b": 60.0}))
        assert set(narrow) <= wide
        assert "join 13 13 05:01-13 05:01 b" in narrow


def test_a_run_whose_upstream_never_comes_is_not_promised() -> None:
    """The engine lets it wait for good: a disabled upstream, one by hand, one of another date."""
    entries = seen(
        job("0 1 * * *", name="a"),
        job("0 2 * * *", name="off", enabled=False),
        job(name="hand", manual=True),
        job("0 3 1 * *", name="monthly"),
        job(name="x", depends_on=needs("a", "off")),
        job(name="y", depends_on=needs("a", "hand")),
        job(name="z", depends_on=needs("a", "monthly")),
    )
    assert [it.job for it in entries] == ["a"]


def test_jitter_delays_what_is_expected() -> None:
    """The start is later, the window asks for the firing."""
    entries = seen(job(AtSpec(times=(time(6),), jitter_s=600), name="a"))
    assert at("2027-05-13T06:00") < entries[0].expected_start < at("2027-05-13T06:10")


def test_a_delayed_start_may_be_the_last_of_its_date() -> None:
    """Overlap lets the second run wait for the delayed first, and the dependant waits for both."""
    both = (AtSpec(times=(time(6),), jitter_s=36000), AtSpec(times=(time(6, 1),)))
    entries = seen(job(*both, name="load"), job(name="join", depends_on=needs("load")))
    delayed = max(it.expected_start for it in entries if it.job == "load")
    assert delayed > at("2027-05-13T06:01")
    assert next(it.expected_start for it in entries if it.job == "join") == delayed


def test_a_start_behind_the_window_is_kept() -> None:
    """It follows from a firing within; and `on` is not looked at."""
    entries = seen(
        job("0 23 * * *", name="a"),
        job(name="clean", depends_on=(Dependency("a", DependsOn.FAILURE),)),
        typical={"a": 7200.0},
    )
    assert lines(entries)[-1] == "clean 13 14 01:00-14 01:00 a"


def test_an_offset_calls_for_the_working_day_that_waits() -> None:
    """Spec 4.5: Thursday's ingest is for Friday's digest, Friday's for Tuesday's behind the holiday."""
    entries = seen(
        job("0 4 * * *", name="ingest"),
        job(name="digest", depends_on=needs(Dependency("ingest", run_date=-1))),
        until="2027-05-15T00:00",
        calendar=UK_2027,
    )
    assert lines(entries) == [
        "digest 14 13 04:00-13 04:00 ingest",
        "ingest 13 13 04:00-13 04:00",
        "digest 18 14 04:00-14 04:00 ingest",
        "ingest 14 14 04:00-14 04:00",
    ]


def test_jobs_by_hand_and_disabled_ones_are_left_out() -> None:
    """A schedule beside `manual` counts (DESIGN 8 row 17 of the traps): the job will fire."""
    entries = seen(
        job(name="hand", manual=True),
        job("0 1 * * *", name="both", manual=True),
        job("0 2 * * *", name="off", enabled=False),
        job(name="off-too", enabled=False, depends_on=needs("both")),
        job(name="after-off", depends_on=needs("off")),
        job(name="hand-after", manual=True, depends_on=needs("both")),
    )
    assert [it.job for it in entries] == ["both"]


def test_cycles_of_one_date_are_left_out_and_what_hangs_on_them_is_not() -> None:
    """Config refuses them; the forecast ends all the same."""
    entries = seen(
        job("0 1 * * *", name="root"),
        job(name="a", depends_on=needs("b", "root")),
        job(name="b", depends_on=needs("a")),
        job(name="me", depends_on=needs("me", "root")),
        job(name="tail", depends_on=needs("root")),
    )
    assert lines(entries) == ["root 13 13 01:00-13 01:00", "tail 13 13 01:00-13 01:00 root"]


def test_offset_loops_come_to_an_end() -> None:
    """Spec 4.5: as many levels as there are jobs."""
    entries = seen(
        job("0 1 * * *", name="root"),
        job(name="a", depends_on=needs("root", Dependency("b", run_date=-1))),
        job(name="b", depends_on=needs("a")),
    )
    assert [(it.job, it.run_date.day) for it in entries if it.job != "root"] == [("a", 13), ("b", 13), ("a", 14)]


def test_a_job_that_waits_for_its_own_yesterday_is_no_loop() -> None:
    """A dependency on itself never creates runs, and moves none that has another cause."""
    entries = seen(
        job("0 1 * * *", name="root"),
        job(name="a", depends_on=needs("root", Dependency("a", run_date=-1))),
        until="2027-05-15T00:00",
    )
    assert lines(entries) == [
        "a 13 13 01:00-13 01:00 root",
        "root 13 13 01:00-13 01:00",
        "a 14 14 01:00-14 01:00 root",
        "root 14 14 01:00-14 01:00",
    ]


def test_a_run_by_an_upstream_far_ahead_does_not_pass_its_own_upstreams() -> None:
    """Dates are settled in order: what a date hangs on comes first, whatever called for it."""
    entries = seen(
        job("0 1 * * *", name="root"),
        job(name="x", depends_on=needs(Dependency("root", run_date=-1), "z")),
        job(name="z", depends_on=needs("root")),
        until="2027-05-15T00:00",
        typical={"z": 36000.0},
    )
    assert [line for line in lines(entries) if line.startswith("x")] == [
        "x 13 13 11:00-13 11:00 z",
        "x 14 14 11:00-14 11:00 z",
        "x 15 15 11:00-15 11:00 z",
    ]


def test_the_order_is_start_then_job() -> None:
    """What a page shows from top to bottom."""
    entries = seen(job("0 1 * * *", name="b"), job("0 1 * * *", name="a"), job("30 0 * * *", name="c"))
    assert [(it.job, shown_start(it)) for it in entries] == [
        ("c", "2027-05-13T00:30"),
        ("a", "2027-05-13T01:00"),
        ("b", "2027-05-13T01:00"),
    ]


def shown_start(entry: ForecastEntry) -> str:
    return entry.expected_start.isoformat()[:16]


def test_a_long_chain_is_settled_link_by_link() -> None:
    """Every link once: the chain's end is right, and twice the chain is not four times the entries."""
    links = [job("0 0 1 * *", name="j0")]
    links += [job(name=f"j{n}", depends_on=needs(f"j{n - 1}")) for n in range(1, 2000)]
    entries = seen(*links, since="2027-05-01T12:00", until="2027-06-01T00:00", typical={it.name: 1.0 for it in links})
    last = max(entries, key=lambda it: it.expected_end)
    assert (len(entries), last.job, last.expected_end) == (2000, "j1999", at("2027-06-01T00:33:20"))
