"""Business calendars with every source resolved to dates. Spec: jobs.md 1.7; DESIGN 8 row 15."""

from __future__ import annotations

from datetime import date

import pytest

from tests.unit.config.conftest import Build, Load


def test_a_calendar_works_from_monday_to_friday_unless_it_says_otherwise(load: Load) -> None:
    specs = load("calendars: {a: {}, b: {weekdays: [sat, sun], extra_days: [2027-05-17]}}").calendars
    assert (specs["a"].weekdays, specs["a"].holidays, specs["a"].ends) == (frozenset(range(5)), frozenset(), None)
    assert specs["b"].weekdays == {5, 6}
    assert specs["b"].extra_days == {date(2027, 5, 17)}


def test_included_calendars_add_their_holidays_and_nothing_else(load: Load) -> None:
    """Transitively; weekdays and extra days are not merged."""
    specs = load(
        """
        calendars:
          a: {holidays: [2027-01-01], include: [b]}
          b: {holidays: [2027-01-02], include: [c], weekdays: [sat]}
          c: {holidays: [2027-01-03], extra_days: [2027-01-09]}
        """
    ).calendars
    assert specs["a"].holidays == {date(2027, 1, 1), date(2027, 1, 2), date(2027, 1, 3)}
    assert specs["a"].weekdays == frozenset(range(5))
    assert specs["a"].extra_days == frozenset()


@pytest.mark.parametrize(
    ("calendars", "complaint"),
    [
        ("a: {include: [b]}", '1:27: calendars.a.include: unknown calendar "b"'),
        ("bank: {}, a: {include: [bnak]}", '1:37: calendars.a.include: unknown calendar "bnak"; did you mean "bank"?'),
        ("a: {weekdays: []}", "1:17: calendars.a.weekdays: no day is a working day; name weekdays or extra_days"),
        ("a: {weekdays: [Mon]}", '1:28: calendars.a.weekdays: "Mon" is none of mon, tue, wed, thu, fri, sat, sun'),
        ("a: {holidays: [2027-02-30]}", '1:28: calendars.a.holidays: "2027-02-30" is no day of the calendar'),
        ("a: {holydays: []}", '1:17: calendars.a: unknown key "holydays"; did you mean "holidays"?'),
        ("a: {subdiv: ENG}", "1:17: calendars.a.subdiv: subdiv belongs to country; add country"),
        ("a: {country: XX}", '1:26: calendars.a.country: "XX" is no country the holidays library knows'),
        ("a: {country: GB, subdiv: XX}", '1:26: calendars.a.country: "GB" has no subdivision XX; it has'),
        ("a: {file: no.ics}", '1:23: calendars.a.file: "no.ics" cannot be read: No such file or directory'),
        ("a: {ends: soon}", '1:23: calendars.a.ends: "soon" is no date'),
    ],
)
def test_what_is_wrong_with_a_calendar_is_said_at_its_key(problems: Build, calendars: str, complaint: str) -> None:
    (found,) = problems(f"calendars: {{{calendars}}}\n")
    assert found.startswith(f"error c.yaml:{complaint}")


def test_a_circle_of_includes_is_shown_as_a_path(problems: Build) -> None:
    found = problems("calendars:\n  c: {include: [a]}\n  a: {include: [b]}\n  b: {include: [c]}\n")
    assert found == [
        "error c.yaml:3:7: calendars.a.include: the calendars include each other in a circle: a -> b -> c -> a"
    ]


def test_the_built_in_calendar_may_be_included_and_adds_nothing(load: Load) -> None:
    assert load("calendars: {a: {include: [none]}}").calendars["a"].holidays == frozenset()


def test_nothing_is_said_about_including_a_calendar_that_could_not_be_read(problems: Build) -> None:
    assert len(problems("calendars: {a: {include: [b]}, b: {weekdays: [x]}}\n")) == 1


# --------------------------------------------------------------------------- where a calendar ends


@pytest.mark.parametrize(
    ("ends", "verb"), [("2027-07-01", "ends"), ("2027-05-03", "ends"), ("2027-05-02", "ended"), ("2020-12-31", "ended")]
)
def test_a_calendar_that_ends_within_sixty_days_warns(problems: Build, ends: str, verb: str) -> None:
    """Sixty days ahead, and still when it is over: never no holidays in silence (FC-096 f). Today is 2027-05-03."""
    found = problems(f"calendars: {{a: {{holidays: [2027-01-01], ends: {ends}}}}}\n")
    what = f"the calendar {verb} on {ends}: days after that count as if there were no holidays"
    assert found == [f"warning c.yaml:1:41: calendars.a.ends: {what}; add the next year's days"]


@pytest.mark.parametrize("ends", ["2027-07-02", "2028-12-31"])
def test_a_calendar_that_goes_on_longer_is_silent(load: Load, ends: str) -> None:
    config = load(f"calendars: {{a: {{ends: {ends}}}}}\n")
    assert config.warnings == ()
    assert config.calendars["a"].ends == date.fromisoformat(ends)


def test_a_list_by_hand_without_an_end_never_warns(load: Load) -> None:
    assert load("calendars: {a: {holidays: [2020-01-01]}}\n").warnings == ()


def test_a_calendar_ends_with_the_first_of_its_sources(problems: Build) -> None:
    """Included ones count; its own `ends` wins over all."""
    text = "calendars: {a: {include: [b]}, b: {ends: 2027-06-01}, c: {include: [b], ends: 2029-01-01}}\n"
    found = problems(text)
    assert [line.split(": ")[1] for line in found] == ["calendars.a.include", "calendars.b.ends"]


# --------------------------------------------------------------------------- countries


def test_a_country_brings_its_holidays_for_the_years_around_today(load: Load) -> None:
    """FC-084: NO is Norway, not false."""
    specs = load("calendars: {n: {country: NO}, e: {country: GB, subdiv: ENG, holidays: [2027-06-01]}}").calendars
    assert date(2027, 5, 17) in specs["n"].holidays
    assert specs["n"].ends == date(2033, 12, 31)
    assert min(specs["n"].holidays).year == 2025
    assert {date(2027, 5, 31), date(2027, 6, 1)} <= specs["e"].holidays


def test_a_country_calendar_gives_no_warning_while_the_library_knows_more(load: Load) -> None:
    assert load("calendars: {n: {country: NO}}").warnings == ()


# --------------------------------------------------------------------------- iCalendar files

ICS = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//test//EN
BEGIN:VEVENT
UID:1
SUMMARY:One day
DTSTART;VALUE=DATE:20270517
END:VEVENT
BEGIN:VEVENT
UID:2
SUMMARY:Three days
DTSTART;VALUE=DATE:20271224
DTEND;VALUE=DATE:20271227
END:VEVENT
BEGIN:VEVENT
UID:3
SUMMARY:Called off
STATUS:CANCELLED
DTSTART;VALUE=DATE:20270601
END:VEVENT
{more}END:VCALENDAR
"""
EVENT = "BEGIN:VEVENT\nUID:9\nDTSTART{start}\n{rest}END:VEVENT\n"


def days_of(load: Load, more: str = "") -> set[date]:
    config = load("calendars: {a: {file: sub/uk.ics}}\n", {"sub/uk.ics": ICS.replace("{more}", more)})
    return set(config.calendars["a"].holidays)


BASE = {date(2027, 5, 17), date(2027, 12, 24), date(2027, 12, 25), date(2027, 12, 26)}


def test_all_day_events_are_holidays_their_end_excluded_and_cancelled_ones_left_out(load: Load) -> None:
    assert days_of(load) == BASE


@pytest.mark.parametrize(
    ("start", "rest", "days"),
    [
        (";VALUE=DATE:20270601", "DURATION:P2D\n", {date(2027, 6, 1), date(2027, 6, 2)}),
        (";VALUE=DATE:20270601", "DTEND;VALUE=DATE:20270601\n", {date(2027, 6, 1)}),
        (";VALUE=DATE:20270601", "RDATE;VALUE=DATE:20270605\n", {date(2027, 6, 1), date(2027, 6, 5)}),
        (
            ";VALUE=DATE:20270601",
            "RRULE:FREQ=WEEKLY;COUNT=3\nEXDATE;VALUE=DATE:20270608\n",
            {date(2027, 6, 1), date(2027, 6, 15)},
        ),
        (";VALUE=DATE:20200601", "RRULE:FREQ=YEARLY;UNTIL=20271231\n", {date(y, 6, 1) for y in (2025, 2026, 2027)}),
        (";VALUE=DATE:20200601", "RRULE:FREQ=YEARLY\n", {date(year, 6, 1) for year in range(2025, 2034)}),
    ],
)  # fmt: skip
def test_events_last_and_repeat_as_they_say(load: Load, start: str, rest: str, days: set[date]) -> None:
    """A rule without end is followed for the years around today."""
    assert days_of(load, EVENT.format(start=start, rest=rest)) == BASE | days


@pytest.mark.parametrize("what", ["days", "events"])
def test_the_size_of_a_file_is_bounded(problems: Build, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr("pyscheduler.config.holiday_sources.MAX_DAYS", 3 if what == "days" else 1)
    (found,) = problems("calendars: {a: {file: uk.ics}}\n", {"uk.ics": ICS.replace("{more}", "")})
    assert f"has more than {3 if what == 'days' else 1} {what}" in found


def test_events_with_a_clock_time_are_left_out_and_said(load: Load) -> None:
    more = EVENT.format(start=":20270701T100000Z", rest="")
    config = load("calendars: {a: {file: uk.ics}}\n", {"uk.ics": ICS.replace("{more}", more)})
    assert config.calendars["a"].holidays == BASE
    assert [problem.message for problem in config.warnings] == [
        "calendars.a.file: 1 events with a clock time are no holidays and were left out"
    ]


def test_a_file_ends_with_its_last_day_and_belongs_to_the_configuration(load: Load) -> None:
    """It is a source like the others, so that a changed file is another configuration."""
    text = ICS.replace("{more}", "")
    config = load("calendars: {a: {file: uk.ics}}\n", {"uk.ics": text})
    assert config.calendars["a"].ends == date(2027, 12, 26)
    assert [source.path for source in config.sources] == ["c.yaml", "uk.ics"]
    other = load("calendars: {a: {file: uk.ics}}\n", {"uk.ics": text.replace("20270517", "20270518")})
    assert other.digest != config.digest


def repeating(start: str, rule: str) -> str:
    return ICS.replace("{more}", EVENT.format(start=f";VALUE=DATE:{start}", rest=f"RRULE:{rule}\n"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nothing of the kind", "is no iCalendar file"),
        ("BEGIN:VCALENDAR\nVERSION:2.0\nEND:VCALENDAR\n", "holds no all-day event around this year"),
        (
            ICS.replace("{more}", EVENT.format(start=";VALUE=DATE:20270601", rest="RRULE:FREQ=SECONDLY\n")),
            "cannot be read",
        ),
        (
            ICS.replace("{more}", EVENT.format(start=";VALUE=DATE:18000601", rest="RRULE:FREQ=DAILY\n")),
            "cannot be read",
        ),
        (
            ICS.replace("{more}", EVENT.format(start=";VALUE=DATE:20270601", rest="RRULE:FREQ=NEVER\n")),
            "cannot be read",
        ),
        ("a\0b", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(problems: Build, text: str, why: str) -> None:
    (found,) = problems("calendars: {a: {file: uk.ics}}\n", {"uk.ics": text})
    assert 'calendars.a.file: "uk.ics" ' in found
    assert why in found
