"""What the text reads of the environment. Spec: jobs.md 1.4."""

from __future__ import annotations

import pytest

from pyscheduler.config.values import BadValue
from pyscheduler.config.variables import Variables


def test_a_value_is_filled_in_and_remembered() -> None:
    variables = Variables({"A": "alpha", "B": "beta"})
    assert variables.expand("${A}/$$/${A} $B ${B:-x}") == "alpha/$/alpha $B ${B:-x}"
    assert variables.read == {"A": "alpha"}, "only what the text names is read"
    assert variables.plain == {"A"}


def test_a_template_is_left_as_typed_and_its_variables_are_remembered() -> None:
    variables = Variables({"A": "alpha"})
    assert variables.note("${A} {job}") == "${A} {job}"
    assert variables.read == {"A": "alpha"}
    assert variables.plain == set(), "a template holds no value in clear"


@pytest.mark.parametrize("text", ["${NOPE}", "x${NOPE}y"])
def test_an_unset_variable_is_named_and_never_becomes_empty(text: str) -> None:
    with pytest.raises(BadValue) as expanding:
        Variables({}).expand(text)
    with pytest.raises(BadValue) as noting:
        Variables({}).note(text)
    assert "${NOPE}, which is not set" in str(expanding.value)
    assert str(noting.value) == str(expanding.value)


def test_an_empty_value_is_a_value() -> None:
    assert Variables({"E": ""}).expand("[${E}]") == "[]"


def test_what_was_read_is_taken_out_of_texts() -> None:
    variables = Variables({"A": "alpha", "B": "beta"})
    assert variables.redact("alpha beta") == "alpha beta"
    variables.expand("${A}")
    assert variables.redact("alpha beta") == "${A} beta"
