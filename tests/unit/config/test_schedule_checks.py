"""Whether every schedule can fire, and whether every program is there. Spec: jobs.md 12.2; DESIGN 8 row 17."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.config.conftest import Build, Load

HEAD = "calendars: {bank: {}, sat: {weekdays: [sat]}}\n"


def job(schedule: str, more: str = "") -> str:
    return f"{HEAD}jobs:\n  j: {{command: x, schedule: {schedule}{more}}}\n"


@pytest.mark.parametrize(
    ("schedule", "more"),
    [
        ("'0 0 31 4 *'", ""),
        ("'0 0 30 2 *'", ""),
        ("'0 9 * * sun'", ", calendar: bank"),
        ("{at: '09:00', days: [sun]}", ", calendar: bank"),
        ("{cron: '0 9 1 1 *', months: [2]}", ""),
        ("{business_day: 6, at: '09:00'}", ", calendar: sat"),
        ("{at: '09:00', exclude: '08:00-10:00'}", ""),
        ("{once: '2027-06-05 09:00'}", ", calendar: bank"),
    ],
)
def test_a_schedule_that_can_never_fire_is_an_error(problems: Build, schedule: str, more: str) -> None:
    (found,) = problems(job(schedule, more))
    assert found.startswith("error c.yaml:3:29: job j: schedule: this schedule can never fire")


@pytest.mark.parametrize("schedule", ["'0 0 29 2 *'", "'0 0 31 4,5 *'", "{business_day: 23, at: '09:00'}"])
def test_a_schedule_that_fires_seldom_is_fine(load: Load, schedule: str) -> None:
    load(job(schedule, ", calendar: bank"))


@pytest.mark.parametrize("schedule", ["{once: '2027-05-02 09:00'}", "{at: '09:00', end: 2027-05-02}"])
def test_a_schedule_that_is_over_is_a_warning(problems: Build, schedule: str) -> None:
    """Today is 2027-05-03."""
    found = problems(job(schedule))
    assert found == ["warning c.yaml:3:29: job j: schedule: lies in the past: it will not fire any more; remove it"]


@pytest.mark.parametrize("schedule", ["{once: '2027-05-03 00:00'}", "{at: '09:00', end: 2027-05-03}"])
def test_today_is_not_yet_over(load: Load, schedule: str) -> None:
    assert load(job(schedule)).warnings == ()


def test_each_job_with_the_same_bad_schedule_is_told_at_its_own_place(problems: Build) -> None:
    found = problems("jobs:\n" + "".join(f"  j{n}: {{command: x, schedule: '0 0 31 4 *'}}\n" for n in range(3)))
    assert [line.split(":")[1] for line in found] == ["2", "3", "4"]


@pytest.mark.parametrize(
    ("cron", "differs"),
    [
        ("0 9 */2 * 1", True),
        ("0 9 1 * */2", True),
        ("0 9 1-31/2 * 1", False),
        ("0 9 * * 1", False),
        ("0 9 */2 * *", False),
        ("*/5 * 1 * 1", False),
        ("@monthly", False),
    ],
)
def test_a_schedule_that_two_crons_read_differently_is_warned_of(problems: Build, cron: str, differs: bool) -> None:
    """FC-002: whoever comes from Debian's cron hears it before the wrong night, and the setting silences it."""
    found = problems(job(f"'{cron}'"))
    assert [("either day field" in line, "cron_star: leading" in line) for line in found] == [(True, True)] * differs
    assert problems("scheduler: {cron_star: leading}\n" + job(f"'{cron}'")) == []


def test_the_star_setting_decides_what_can_fire(problems: Build, load: Load) -> None:
    """`0 0 31 4 */1`: either day field by jobs.md, both by Debian's rule (FC-002)."""
    text = "jobs: {j: {command: x, schedule: '0 0 31 4 */1'}}\n"
    load(text)
    (found,) = problems("scheduler: {cron_star: leading}\n" + text)
    assert "can never fire" in found


# --------------------------------------------------------------------------- programs


def commands(command: str, more: str = "") -> str:
    return f"jobs:\n  j: {{command: {command}, schedule: manual{more}}}\n"


def test_a_program_that_is_not_on_the_path_is_warned_of(problems: Build) -> None:
    """It may be installed before the first run; the first run would end as a start error."""
    (found,) = problems(commands("[no-such-program-here, x]"), env={"PATH": "/bin:/usr/bin"})
    what = 'no program "no-such-program-here" on the PATH; the first run would end as a start error'
    assert found == f"warning c.yaml:2:17: job j: command: {what}"


def test_an_absolute_path_that_is_no_program_is_warned_of(problems: Build) -> None:
    (found,) = problems(commands("[/no/such/thing]"))
    assert found.startswith('warning c.yaml:2:17: job j: command: "/no/such/thing" is no program')


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("[sh]", ""),
        ("[/bin/sh]", ""),
        ("no-such-program-here", ""),
        ("['{job}']", ""),
        ("['${X}']", ""),
        ("[./relative]", ", cwd: /somewhere"),
        ("[no-such-program-here]", ", env: {PATH: '${X}:/bin'}"),
        ("[no-such-program-here]", ", env: {PATH: '/opt/{job}'}"),
    ],
)
def test_what_cannot_be_known_is_not_judged(problems: Build, command: str, more: str) -> None:
    """A shell's text, placeholders, paths below a `cwd`, a PATH that only a run knows."""
    assert problems(commands(command, more), env={"PATH": "/bin:/usr/bin", "X": "x"}) == []


def test_the_job_s_own_path_is_searched(problems: Build, tmp_path: Path) -> None:
    program = tmp_path / "own-program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = commands("[own-program]", f", env: {{PATH: '{tmp_path}'}}")
    assert problems(text, env={"PATH": "/bin"}) == []
    assert len(problems(commands("[own-program]"), env={"PATH": "/bin"})) == 1
