"""The lines of an older definition are found in its text, and no line of a neighbour's."""

from __future__ import annotations

from pyscheduler.model.job import ConfigSource
from pyscheduler.web.definition import LINES, as_text, excerpt

TEXT = """\
scheduler: {timezone: UTC}
jobs:
  load-all:
    command: load --all
  load:
    command: |
      first

      second
    tags: [a]
  'mail': {command: mail}
"""


def found(job: str, text: str = TEXT) -> tuple[str, str] | None:
    return excerpt([ConfigSource(path="/etc/a.yaml", text="x: 1\n"), ConfigSource(path="/etc/b.yaml", text=text)], job)


def test_a_job_is_shown_with_its_own_lines_only() -> None:
    """A name that another begins with is another job; an empty line inside does not end it."""
    assert found("load") == ("/etc/b.yaml:5", "load:\n  command: |\n    first\n\n    second\n  tags: [a]")


def test_a_quoted_name_and_a_job_on_one_line() -> None:
    assert found("mail") == ("/etc/b.yaml:11", "'mail': {command: mail}")


def test_a_job_that_is_not_there_is_not_made_up() -> None:
    assert found("other") is None
    assert found("lo.d") is None


def test_a_long_definition_is_cut() -> None:
    """However long a text is, a page stays short."""
    text = "  load:\n" + "    k: v\n" * 1000
    answer = found("load", text)
    assert answer is not None
    assert len(answer[1].splitlines()) == LINES


def test_a_definition_tells_what_is_not_the_default() -> None:
    """What a bare job has as well is noise; the schedules are told even so."""
    bare: dict[str, object] = {"schedules": [], "nice": None, "tags": []}
    assert as_text({"schedules": [], "nice": 5, "tags": []}, bare) == "schedules: []\nnice: 5\n"
