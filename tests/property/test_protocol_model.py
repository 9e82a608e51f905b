"""The protocol of DESIGN 4, searched to the last interleaving, and each of its rules broken once to see it matter."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tests.property.protocol_model import Broken, Rules, check_endings, search

RULES = [field.name for field in fields(Rules) if field.name != "kills"]


def test_no_interleaving_of_two_kills_breaks_a_promise() -> None:
    """Never two starts, a live job called lost, or a code lost while a guardian lives; nothing waits or stays."""
    graph = search(Rules())
    check_endings(graph)
    endings = {state.sched for state in graph if state.sched.startswith("done")}
    assert endings == {"done code", "done never", "done unknown", "done unstarted"}


def test_without_both_guardians_killed_nothing_is_lost() -> None:
    """One kill can never cost an exit code: "exit unknown" takes two."""
    graph = search(Rules(kills=1))
    check_endings(graph)
    assert "done unknown" not in {state.sched for state in graph}


def test_without_kills_every_attempt_that_began_ends_with_its_code() -> None:
    """Slow nurseries, late orders and resends alone never lose or double anything."""
    graph = search(Rules(kills=0))
    check_endings(graph)
    assert {state.sched for state in graph if state.sched.startswith("done")} == {"done code", "done never"}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_needed(rule: str) -> None:
    """A protocol without this rule fails the search: the model can see what the rule is for."""

    def broken() -> None:
        check_endings(search(replace(Rules(), **{rule: False})))

    with pytest.raises(Broken):
        broken()
