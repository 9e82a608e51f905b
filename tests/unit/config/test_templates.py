"""Texts with holes. Spec: jobs.md 1.4, 1.11."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from pyscheduler.config.templates import TemplateError, check_template, placeholders_in, redact, render

VALUES: dict[str, object] = {
    "job": "ingest",
    "run_date": date(2027, 5, 20),
    "run_id": "ingest.2027-05-20.1",
    "attempt": 2,
    "scheduled_at": datetime(2027, 5, 20, 6, 5, tzinfo=timezone(timedelta(hours=2))),
    "log_dir": "/var/log",
    "files": "/in/a /in/b",
}


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("{job}", "ingest"),
        ("{job:>8}|", "  ingest|"),
        ("{job!r}", "'ingest'"),
        ("{run_date}", "2027-05-20"),
        ("{run_date:%Y%m%d}", "20270520"),
        ("{run_id}", "ingest.2027-05-20.1"),
        ("{attempt}", "2"),
        ("{attempt:03d}", "002"),
        ("{scheduled_at}", "2027-05-20T04:05:00Z"),
        ("{scheduled_at:%H:%M}", "04:05"),
        ("{log_dir}/x", "/var/log/x"),
        ("{files}", "/in/a /in/b"),
        ("awk '{{print $1}}'", "awk '{print $1}'"),
        ("date +%Y%m%d", "date +%Y%m%d"),
        ("no holes $HOME ${{X:-y}} 100%", "no holes $HOME ${X:-y} 100%"),
        ("", ""),
    ],
)
def test_every_placeholder_has_a_plain_and_a_formatted_form(text: str, rendered: str) -> None:
    """The table of spec 1.11; `%` is an ordinary character (FC-060)."""
    assert render(text, VALUES, {}) == rendered


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("${A}", "x{y}z"),
        ("${A} {job}", "x{y}z ingest"),
        ("$$", "$"),
        ("$${job}", "$ingest"),
        ("$$${A}", "$x{y}z"),
        ("${{HOME}}", "${HOME}"),
        ("$${{HOME}}", "${HOME}"),
        ("{run_date:${F}}", "05"),
    ],
)
def test_the_environment_enters_first_and_never_becomes_a_placeholder(text: str, rendered: str) -> None:
    """A value's braces come back unchanged; `$$` is a dollar; a shell's own `${HOME}` is written `${{HOME}}`."""
    assert render(text, VALUES, {"A": "x{y}z", "F": "%m"}) == rendered


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "never closed"),
        ("}", "a single }"),
        ("a{job", "never closed"),
        ("{nope}", "unknown placeholder {nope}"),
        ("{}", "unknown placeholder {}"),
        ("{0}", "unknown placeholder {0}"),
        ("{job.upper}", "unknown placeholder {job.upper}"),
        ("{job[0]}", "unknown placeholder {job[0]}"),
        ("{job:{attempt}}", "holds braces"),
        ("{job!x}", "no such conversion"),
        ("{job:%Y}", "does not fit {job}"),
        ("{attempt:zz}", "does not fit {attempt}"),
        ("{attempt:1000000000d}", "number over 999"),
        ("{run_date:%1000000000Y}", "number over 999"),
        ("$${HOME}", "write ${{HOME}}"),
    ],
)
def test_a_wrong_template_is_found_before_it_runs(text: str, why: str) -> None:
    """Wrong formats too: there the attempt would have failed as a start error (DESIGN 8 row 17)."""
    with pytest.raises(TemplateError) as refused:
        check_template(text, {})
    assert why in str(refused.value)


def test_an_unknown_placeholder_lists_the_known_ones() -> None:
    with pytest.raises(TemplateError) as refused:
        check_template("awk {print}", {})
    assert "{run_date}" in refused.value.mend
    assert "{{ and }}" in refused.value.mend
    assert refused.value.placeholder == "print"


def test_the_placeholders_of_a_template_are_known_without_its_values() -> None:
    assert placeholders_in("${A}/{job}/{run_date:%Y}{{x}}") == {"job", "run_date"}
    assert placeholders_in("plain ${A}") == set()


def test_a_check_returns_the_placeholders() -> None:
    assert check_template("{files} {attempt:02d}", {}) == {"files", "attempt"}
    assert check_template("plain", {}) == set()


def test_a_hole_without_a_value_is_refused() -> None:
    with pytest.raises(TemplateError, match="no value here"):
        render("{files}", {"job": "x"}, {})


def test_a_variable_that_is_gone_is_named() -> None:
    with pytest.raises(TemplateError, match=r"\$\{A\} is not set; set A"):
        render("${A}", VALUES, {})


def test_rendering_takes_an_instant_in_any_zone_and_writes_utc() -> None:
    assert render("{scheduled_at}", {"scheduled_at": datetime(2027, 1, 1, tzinfo=UTC)}, {}) == "2027-01-01T00:00:00Z"


# --------------------------------------------------------------------------- redaction


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("password s3cr!", "password ${DB}"),
        ("s3cr!s3cr!", "${DB}${DB}"),
        ("four", "${FOUR}"),
        ("short 123 stays", "short 123 stays"),
        ("long s3cr!-and-more", "long ${LONG}"),
        ("doubled x{{y}}z", "doubled ${BRACES}"),
        ("plain x{y}z", "plain ${BRACES}"),
        ("nothing", "nothing"),
    ],
)
def test_values_of_the_environment_are_put_back_as_their_names(text: str, redacted: str) -> None:
    """Longest first, brace-doubled form too, and nothing shorter than four characters (spec 1.4, FC-082)."""
    variables = {"DB": "s3cr!", "PIN": "123", "LONG": "s3cr!-and-more", "BRACES": "x{y}z", "EMPTY": "", "FOUR": "four"}
    assert redact(text, variables) == redacted


def test_a_value_that_is_part_of_a_name_does_not_bite_into_it() -> None:
    """What was put back is not looked at again."""
    assert redact("topsecret", {"SECRET": "topsecret", "X": "SECRET"}) == "${SECRET}"


def test_without_values_a_text_is_left_alone() -> None:
    assert redact("text", {}) == "text"
    assert redact("text", {"PIN": "123"}) == "text"
