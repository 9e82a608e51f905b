"""libyaml's complaints in our words."""

from __future__ import annotations

from yaml import MarkedYAMLError

from pyscheduler.config.yaml_words import translated


def test_a_complaint_that_is_not_in_the_table_keeps_its_words() -> None:
    """A new libyaml may say something new: never a traceback, never silence."""
    error = translated(MarkedYAMLError(context="while flying", problem="found a moon"))
    assert (error.line, error.what) == (0, "no YAML: while flying found a moon")


def test_a_complaint_without_any_words_is_still_one() -> None:
    assert translated(MarkedYAMLError()).what == "no YAML: "
