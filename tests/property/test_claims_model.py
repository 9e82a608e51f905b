"""The protocol of claims.md, searched to the last interleaving, and each of its rules broken once to see it matter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.property.claims_model import (
    DONE,
    MUTANTS,
    Broken,
    Rules,
    check_endings,
    search,
    search_leaders,
)


def test_no_interleaving_breaks_a_promise() -> None:
    """Four incarnations, kills, windows, lost answers at any moment: I2, I3, I4, I7, I8, I9, G2 and G6 hold."""
    graph = search(Rules(incarnations=4, tokens=7))
    check_endings(graph)
    assert len(graph) > 50_000
    assert max(state.lost for state in graph) >= 2
    assert any(len(state.executed) == 3 for state in graph if state.run == DONE)


def test_a_run_that_is_taken_by_its_own_window_breaks_no_promise() -> None:
    """Its owner is not fenced, goes on claiming and starting, and may tell of the end of what was taken from it."""
    graph = search(Rules(own_windows=True, windows=False))
    check_endings(graph)
    assert any(state.lost and not state.fenced and len(state.executed) == 2 for state in graph)


def test_without_windows_nothing_is_ever_executed_twice_at_once() -> None:
    """Proof alone, claims handed out at any time, adoption, kills of everything: never two executions together."""
    graph = search(Rules(windows=False, incarnations=4, tokens=7))
    check_endings(graph)
    assert any(state.lost for state in graph)


def test_without_kills_and_windows_a_run_is_executed_once() -> None:
    """C10: without a lost lease exactly one execution of a try that completes, whatever was not acknowledged."""
    graph = search(Rules(windows=False, kills=False, tokens=9))
    check_endings(graph)
    assert {len(state.executed) for state in graph if state.run == DONE} == {1}
    assert not any(state.lost for state in graph)


@pytest.mark.parametrize("rule", MUTANTS)
def test_each_rule_is_needed(rule: str) -> None:
    """A protocol without this rule fails the search, with windows or without them: the model can see what it is for."""

    def broken(*, windows: bool) -> None:
        check_endings(search(replace(Rules(windows=windows), **{rule: False})))

    for windows in (True, False):
        try:
            broken(windows=windows)
        except Broken:
            return
    pytest.fail(f"nothing notices that {rule} is gone")


def test_what_the_authority_writes_it_writes_while_it_leads() -> None:
    """I11: takeovers at any time, transactions open across them; and it is the lock that does it."""
    assert len(search_leaders(locked=True)) > 30
    with pytest.raises(Broken, match="I11"):
        search_leaders(locked=False)
