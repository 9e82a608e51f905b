"""Field cases of kinds that the configuration answers: what goes wrong elsewhere and does not here.

Inputs and numbers are those of the cases, with our own words for their keys. Where a case offers policies or the
reference decides, the docstring names what decides.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from textwrap import dedent

import pytest

from pyscheduler.config import Config, ConfigError, build_config, config_diff, load_config
from pyscheduler.config.templates import render
from pyscheduler.model.ids import make_run_id, parse_run_id

TODAY = date(2027, 5, 3)
Load = Callable[..., Config]
Errors = Callable[..., list[str]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def loaded(text: str, env: Mapping[str, str] | None = None, today: date = TODAY) -> Config:
        path = tmp_path / "c.yaml"
        path.write_text(dedent(text))
        return load_config(path, env=env or {}, today=today)

    return loaded


@pytest.fixture
def problems(tmp_path: Path) -> Errors:
    def found(text: str, env: Mapping[str, str] | None = None, today: date = TODAY) -> list[str]:
        path = tmp_path / "c.yaml"
        path.write_text(dedent(text))
        return [f"{problem.severity} {problem}" for problem in build_config(path, env=env or {}, today=today)[1]]

    return found


def one(keys: str) -> str:
    return f"jobs: {{j: {{command: x, {keys}}}}}\n"


# --------------------------------------------------------------------------- FC-006 dates that never come


@pytest.mark.parametrize("cron", ["0 0 31 4 *", "0 0 30 2 *", "0 0 31 2 *", "0 0 31 2,4,6,9,11 *"])
def test_fc_006_a_date_that_never_comes_is_an_error_at_load(problems: Errors, cron: str) -> None:
    (found,) = problems(one(f"schedule: '{cron}'"))
    assert "this schedule can never fire" in found


def test_fc_006_a_date_that_comes_seldom_is_valid(load: Load) -> None:
    """From 2026-01-01: 31 May 2026, and 29 February 2028."""
    config = load("jobs: {e: {command: x, schedule: '0 0 31 4,5 *'}, f: {command: x, schedule: '0 0 29 2 *'}}\n")
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert config.timetable("e").next(start).scheduled_at == datetime(2026, 5, 31, tzinfo=UTC)  # type: ignore[union-attr]
    assert config.timetable("f").next(start).scheduled_at == datetime(2028, 2, 29, tzinfo=UTC)  # type: ignore[union-attr]


def test_fc_006_the_other_jobs_stay_readable_while_the_bad_one_is_refused(tmp_path: Path) -> None:
    """A reload refuses the whole text with the one complaint; the configuration in force is not touched by it."""
    path = tmp_path / "c.yaml"
    path.write_text("jobs: {a: {command: x, schedule: '@daily'}}\n")
    in_force = load_config(path, env={}, today=TODAY)
    path.write_text("jobs: {a: {command: x, schedule: '@daily'}, b: {command: x, schedule: '0 0 31 4 *'}}\n")
    with pytest.raises(ConfigError) as refused:
        load_config(path, env={}, today=TODAY)
    assert [problem.job for problem in refused.value.problems] == ["b"]
    assert in_force.timetable("a").next(datetime(2027, 1, 1, tzinfo=UTC)) is not None


# --------------------------------------------------------------------------- FC-018, FC-020 zones


@pytest.mark.parametrize("host", ["UTC", "Europe/London", "Asia/Kathmandu", "Pacific/Apia"])
def test_fc_018_the_host_s_zone_changes_nothing(load: Load, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("TZ", host)
    crons = ("59 0 * * *", "0 1 * * *", "1 1 * * *", "30 1 * * *", "59 1 * * *", "0 2 * * *")
    config = load("jobs:\n" + "".join(f"  j{n}: {{command: x, schedule: '{cron}'}}\n" for n, cron in enumerate(crons)))
    night = datetime(2025, 10, 26, tzinfo=UTC), datetime(2025, 10, 26, 12, tzinfo=UTC)
    fired = [f"{f.scheduled_at:%H:%M}" for name in config.jobs for f in config.timetable(name).between(*night)]
    assert fired == ["00:59", "01:00", "01:01", "01:30", "01:59", "02:00"]
    london = load(one("schedule: '30 1 * * *', timezone: Europe/London"))
    assert [f.scheduled_at.hour for f in london.timetable("j").between(*night)] == [0]


@pytest.mark.parametrize("zone", ["Europe/Berln", "GMT+3", "", "local", "europe/berlin", "../etc/passwd"])
def test_fc_020_an_unknown_zone_is_an_error_that_names_it_and_never_utc(problems: Errors, zone: str) -> None:
    (found,) = problems(one(f"schedule: '0 9 * * *', timezone: '{zone}'"))
    assert f'timezone: "{zone}" is no time zone of the IANA database' in found


def test_fc_020_old_names_and_reversed_signs_mean_what_the_data_says(load: Load) -> None:
    """Etc/GMT+3 is three hours west of Greenwich."""
    config = load(one("schedule: '0 9 * * *', timezone: Etc/GMT+3"))
    firing = config.timetable("j").next(datetime(2026, 11, 29, tzinfo=UTC))
    assert firing is not None
    assert firing.scheduled_at == datetime(2026, 11, 29, 12, tzinfo=UTC)
    for zone in ("EST5EDT", "CET"):
        load(one(f"schedule: manual, timezone: {zone}"))


def test_fc_020_a_job_without_a_zone_is_in_utc_whatever_the_host_says(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documented: the scheduler's `timezone`, by default UTC; /etc/localtime and TZ are not asked."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert load(one("schedule: manual")).jobs["j"].timezone == "UTC"


# --------------------------------------------------------------------------- FC-058, FC-060 environment and quoting


def test_fc_058_values_of_the_environment_are_literal_but_for_what_is_documented(load: Load) -> None:
    """`$A` stays for the shell; `${NAME}` is the scheduler's; a newline is one; an empty value exists."""
    config = load(
        """
        jobs:
          j:
            command: sh -c 'set -u; echo $HOME'
            schedule: manual
            env: {A: "x y", B: "$A", C: "a\\nb", D: "", PATH: "/opt/bin:${PATH}"}
        """,
        env={"PATH": "/usr/bin", "SECRET_TOKEN": "never read"},
    )
    job = config.jobs["j"]
    rendered = {name: render(value, {}, config.variables) for name, value in job.env.items()}
    assert rendered == {"A": "x y", "B": "$A", "C": "a\nb", "D": "", "PATH": "/opt/bin:/usr/bin"}
    assert render(str(job.command), {}, config.variables) == "sh -c 'set -u; echo $HOME'"
    assert set(config.variables) == {"PATH"}


def test_fc_060_percent_is_an_ordinary_character_and_braces_have_a_documented_escape(load: Load) -> None:
    config = load("jobs: {j: {command: \"date +%Y%m%d; awk '{{print $1}}'; echo ${{HOME}}\", schedule: manual}}\n")
    assert render(str(config.jobs["j"].command), {}, {}) == "date +%Y%m%d; awk '{print $1}'; echo ${HOME}"


# --------------------------------------------------------------------------- FC-062 umask


@pytest.mark.parametrize(("typed", "umask"), [('"0027"', 0o027), ("0027", 0o027), ("027", 0o027), ("'022'", 0o022)])
def test_fc_062_a_umask_is_octal_text_quoted_or_not(load: Load, typed: str, umask: int) -> None:
    assert load(one(f"schedule: manual, umask: {typed}")).jobs["j"].umask == umask


@pytest.mark.parametrize("typed", ["27", '"8"', "23", "0o27", "0x17", "1777"])
def test_fc_062_a_umask_whose_base_could_be_doubted_is_an_error(problems: Errors, typed: str) -> None:
    (found,) = problems(one(f"schedule: manual, umask: {typed}"))
    assert f'umask: "{typed.strip(chr(34))}" is no umask' in found


def test_fc_062_what_is_kept_does_not_depend_on_the_umask(tmp_path: Path) -> None:
    """The cache is for nobody else, under any umask."""
    from pyscheduler.config import load_cached

    path = tmp_path / "c.yaml"
    path.write_text(one("schedule: manual"))
    for number, umask in enumerate((0o000, 0o022, 0o077)):
        before = os.umask(umask)
        try:
            load_cached(path, tmp_path / f"k{number}", {}, today=TODAY)
        finally:
            os.umask(before)
        (kept,) = (tmp_path / f"k{number}").iterdir()
        assert kept.stat().st_mode & 0o777 == 0o600
        assert kept.parent.stat().st_mode & 0o777 == 0o700


# --------------------------------------------------------------------------- FC-068 job names


@pytest.mark.parametrize(
    "name",
    [
        "a/b",
        "etl 50%",
        "a%2Fb",
        "naïve-日本",
        "🐙",
        "..",
        ".",
        "x?y=1#z",
        "x" * 300,
        "é",
        "e\u0301",
        "a\nb",
        " lead",
        "",
    ],
)
def test_fc_068_a_name_that_would_need_escaping_somewhere_is_refused_at_load(problems: Errors, name: str) -> None:
    """One rule for URL, file, shell and metrics: letters, digits, `_` and `-`."""
    escaped = name.replace("\n", "\\n")
    (found,) = problems(f'jobs: {{"{escaped}": {{command: x, schedule: manual}}}}\n')
    assert "is no name; use 1 to 64 letters (a to z), digits, _ and -" in found
    assert "\n" not in found


@pytest.mark.parametrize("name", ["con", "-rf", "--help", "A", "a", "on", "no"])
def test_fc_068_any_other_name_is_allowed_and_is_one_part_of_a_run_id(load: Load, name: str) -> None:
    config = load(f"jobs: {{{name}: {{command: x, schedule: manual}}}}\n")
    run_id = make_run_id(next(iter(config.jobs)), date(2027, 5, 20), 1)
    assert parse_run_id(run_id).job == name
    assert os.sep not in run_id


def test_fc_068_names_that_differ_in_letter_case_are_two_jobs_and_a_warning(problems: Errors, load: Load) -> None:
    text = "jobs: {A: {command: x, schedule: manual}, a: {command: x, schedule: manual}}\n"
    assert len(load(text).jobs) == 2
    assert "their log files meet on a disk that folds case" in problems(text)[0]


# --------------------------------------------------------------------------- FC-078, FC-080 reload and rename


def test_fc_078_a_broken_file_is_said_with_its_place_and_replaces_nothing(problems: Errors) -> None:
    """5) tab indentation: the message is clear, and there is no configuration to put in force."""
    (found,) = problems("jobs:\n\tj: {command: x}\n")
    assert found.startswith("error ")
    assert "c.yaml:2:1: a value cannot begin with this character (a tab" in found


def test_fc_078_an_editor_s_swap_files_are_no_part_of_the_configuration(tmp_path: Path) -> None:
    """7) A pattern names what it names: `*.yaml` takes neither `.x.yaml.swp` nor `x.yaml~` nor a hidden file."""
    (tmp_path / "d").mkdir()
    for name in ("x.yaml", ".x.yaml.swp", "x.yaml~", ".hidden.yaml", "x.yaml.new"):
        (tmp_path / "d" / name).write_text("" if name == "x.yaml" else "half: [")
    (tmp_path / "c.yaml").write_text("include: ['d/*.yaml']\n")
    config = load_config(tmp_path / "c.yaml", env={}, today=TODAY)
    assert [Path(source.path).name for source in config.sources] == ["c.yaml", "x.yaml"]


def test_fc_080_saving_an_unrelated_job_changes_no_firing_and_no_other_job(load: Load) -> None:
    """The phase of `every` hangs on the clock, not on the moment of loading."""
    text = """
        jobs:
          E: {command: x, schedule: {every: 10m}}
          F: {command: x, schedule: {once: "2027-05-04 00:07"}}
          G: {command: x, schedule: "*/7 * * * *"}
          U: {command: %s, schedule: manual}
        """
    before, after = load(text % "x"), load(text % "y")
    difference = config_diff(before, after)
    assert (difference.changed, difference.added, difference.removed) == ({"U": ("command",)}, (), ())
    window = datetime(2027, 5, 4, tzinfo=UTC), datetime(2027, 5, 4, 0, 20, tzinfo=UTC)
    for name in "EFG":
        assert list(before.timetable(name).between(*window)) == list(after.timetable(name).between(*window))
    assert [f.scheduled_at.minute for f in after.timetable("E").between(*window)] == [10, 20]
    assert [f.scheduled_at.minute for f in after.timetable("F").between(*window)] == [7]


# --------------------------------------------------------------------------- FC-082 secrets

SECRETS = {"DB_PASS": "s3cr€t&<x>/+=", "PIN": "1", "MULTI": "line1\nline2", "EMPTY": ""}


def test_fc_082_a_secret_is_in_nothing_that_is_kept_or_shown(load: Load) -> None:
    """Neither in a job, a repr, a pickle, a source nor a difference; a job's own environment has it when it runs."""
    import pickle

    text = """
        jobs:
          j:
            command: 'echo $DB_PASS; echo ${DB_PASS}'
            schedule: manual
            env: {DB_PASS: "${DB_PASS}", PIN: "${PIN}", MULTI: "${MULTI}", EMPTY: "${EMPTY}"}
        """
    config = load(text, env=SECRETS)
    changed = load(text, env=SECRETS | {"DB_PASS": "another-secret"})
    difference = config_diff(config, changed)
    for shown in map(repr, (config, config.jobs, config.sources, config.settings, difference)):
        assert "s3cr" not in shown
        assert "line1" not in shown
    assert "s3cr€t".encode() not in pickle.dumps(config)
    assert not difference
    rendered = {name: render(value, {}, config.variables) for name, value in config.jobs["j"].env.items()}
    assert rendered == SECRETS


def test_fc_082_masking_spares_short_and_empty_values(load: Load) -> None:
    """PIN 1 does not turn every 1 into a mask, EMPTY masks nothing."""
    from pyscheduler.config.templates import redact

    config = load("jobs: {j: {command: '${DB_PASS} ${PIN} ${MULTI} ${EMPTY}', schedule: manual}}\n", env=SECRETS)
    said = "11 times: s3cr€t&<x>/+= and line1\nline2"
    assert redact(said, config.variables) == "11 times: ${DB_PASS} and ${MULTI}"


# --------------------------------------------------------------------------- FC-084, FC-086 YAML's surprises


def test_fc_084_no_and_on_are_names_countries_and_values(load: Load) -> None:
    """Null forms are the empty text, as documented; nothing is ever the text None, True or False."""
    config = load(
        """
        calendars: {de: {country: DE}, no: {country: NO}, se: {country: SE}}
        jobs:
          on: {schedule: {cron: "0 1 * * *", days: [mon, tue, sat, sun]}, command: "true"}
          no: {schedule: "0 2 * * *", command: "true", env: {DEBUG: no, MODE: on, V: 1.0, N: null, T: ~, E: , B: true}}
          yes: {schedule: "0 3 * * *", command: "true"}
        """
    )
    assert list(config.jobs) == ["no", "on", "yes"]
    assert config.jobs["no"].env == {"DEBUG": "no", "MODE": "on", "V": "1.0", "N": "", "T": "", "E": "", "B": "true"}
    assert date(2027, 5, 17) in config.calendars["no"].holidays
    assert config.jobs["on"].schedules[0].days == (0, 1, 5, 6)


@pytest.mark.parametrize(
    ("typed", "clock"), [("12:30", "12:30"), ("09:30", "09:30"), ("10:00", "10:00"), ("00:30", "00:30")]
)
def test_fc_086_a_clock_time_is_the_same_with_and_without_quotes(load: Load, typed: str, clock: str) -> None:
    for quoted in (typed, f'"{typed}"', f"'{typed}'"):
        (spec,) = load(one(f"schedule: {{at: {quoted}}}")).jobs["j"].schedules
        assert [f"{at:%H:%M}" for at in spec.times] == [clock]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("typed", "mend"), [("9:05", "write 09:05"), ("23:59:59", "six fields"), ("24:00", "00:00"), ("750", "HH:MM")]
)
def test_fc_086_a_spelling_the_reference_refuses_is_refused_with_and_without_quotes(
    problems: Errors, typed: str, mend: str
) -> None:
    """jobs.md 1.3: two digits each, no seconds, no 24:00. Never read as a number of minutes."""
    for quoted in (typed, f'"{typed}"'):
        (found,) = problems(one(f"schedule: {{at: {quoted}}}"))
        assert f'schedule.at: "{typed}" is no clock time' in found
        assert mend in found


def test_fc_086_a_timeout_of_1_30_is_refused_as_ambiguous(problems: Errors) -> None:
    (found,) = problems(one("schedule: manual, timeout: 1:30"))
    assert "hours and minutes look the same there: write 1h30m or 1m30s" in found


# --------------------------------------------------------------------------- FC-096 business calendars

UK = """
    calendars:
      uk:
        weekdays: [mon, tue, wed, thu, fri]
        holidays: [2021-12-27, 2021-12-28, 2022-01-03, 2022-04-15, 2022-04-18, 2022-05-02]
        ends: 2022-12-31
    defaults: {calendar: uk, timezone: Europe/London, command: x}
    jobs:
      last: {schedule: {business_day: -1, at: "18:00"}}
      first: {schedule: {business_day: 1, at: "18:00"}}
      third: {schedule: {business_day: 3, at: "18:00"}}
"""


def test_fc_096_business_days_of_the_month_roll_over_holidays_and_the_year(load: Load) -> None:
    config = load(UK, today=date(2021, 11, 1))

    def landing(job: str, start: date, end: date) -> list[str]:
        window = (
            datetime(start.year, start.month, start.day, tzinfo=UTC),
            datetime(end.year, end.month, end.day, tzinfo=UTC),
        )
        return [f"{firing.run_date}" for firing in config.timetable(job).between(*window)]

    months = [("last", date(2021, 12, 1), date(2022, 2, 1)), ("last", date(2022, 4, 1), date(2022, 6, 1))]
    assert [day for month in months for day in landing(*month)] == [
        "2021-12-31",
        "2022-01-31",
        "2022-04-29",
        "2022-05-31",
    ]
    firsts = [(date(2021, 12, 1), date(2022, 2, 1)), (date(2022, 4, 1), date(2022, 6, 1))]
    assert [day for span in firsts for day in landing("first", *span)] == [
        "2021-12-01",
        "2022-01-04",
        "2022-04-01",
        "2022-05-03",
    ]
    assert landing("third", date(2022, 1, 1), date(2022, 2, 1)) == ["2022-01-06"]
    first = config.timetable("first").next(datetime(2022, 1, 1, tzinfo=UTC))
    last = config.timetable("last").next(datetime(2022, 4, 1, tzinfo=UTC))
    assert first is not None
    assert last is not None
    assert (first.scheduled_at, last.scheduled_at) == (
        datetime(2022, 1, 4, 18, tzinfo=UTC),
        datetime(2022, 4, 29, 17, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("today", "warned"), [(date(2022, 11, 1), False), (date(2022, 11, 2), True), (date(2023, 3, 1), True)]
)
def test_fc_096_f_a_calendar_that_ends_is_warned_of_ahead_of_time(problems: Errors, today: date, warned: bool) -> None:
    """Sixty days ahead, and ever after: never no holidays in 2023 in silence."""
    found = problems(UK, today=today)
    assert bool(found) == warned
    assert all("days after that count as if there were no holidays" in line for line in found)
