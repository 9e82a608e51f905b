"""Each mistake of claims.md C12, made on purpose, is found under real processes; and none is where none was made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from tests.faults.cluster import points
from tests.faults.cluster.crews import SHORT, WORK_STEPS, narrow, work
from tests.faults.cluster.fleet import Crew, Ground
from tests.faults.cluster.mutants import MUTANT, MUTANTS
from tests.faults.cluster.nemesis import LONG_S, Kind, storm
from tests.faults.cluster.ready import ground_of
from tests.faults.cluster.tale import tell
from tests.servers.fixtures import GetServer

BUDGET: Final = 4
"""Seeds until a mistake must have been found."""
LENGTH_S: Final = 7.0
SETTLE_S: Final = 12.0


@dataclass(frozen=True)
class Hunt:
    """Which faults, at which points, bring a mistake to light."""

    crew: Crew
    kinds: tuple[Kind, ...]
    at: tuple[str, ...] = points.POINTS


STOPPED: Final = (Kind.STOP_AT,)
HUNTS: Final[dict[str, Hunt]] = {
    "start_without_token": Hunt(narrow(SHORT), STOPPED, (points.BEFORE_START,)),
    "start_unguarded": Hunt(work(SHORT), STOPPED, (points.BEFORE_START,)),
    "outcome_by_state_only": Hunt(work(SHORT), STOPPED, (points.AFTER_START, points.AFTER_END)),
    "claim_while_fenced": Hunt(work(SHORT), STOPPED, (points.BEFORE_CLAIM,)),
    "no_reconcile": Hunt(work(SHORT), (Kind.DEAF_THEN_RESET,)),
    "proof_by_scheduler_only": Hunt(work(SHORT), (Kind.KILL,)),
    "execute_before_commit": Hunt(work(SHORT), (Kind.RESET,)),
    "authority_without_lock": Hunt(work(SHORT), (Kind.STOP,)),
}


@pytest.fixture
def ground(own_server: GetServer) -> Iterator[Ground]:
    with ExitStack() as stack:
        yield stack.enter_context(ground_of(own_server("postgres")))


def hunt(folder: Path, ground: Ground, name: str, seed: int) -> list[str]:
    """Return what one seed finds."""
    chosen = HUNTS[name]
    crew = replace(chosen.crew, env=(*chosen.crew.env, (MUTANT, name)))
    size = {"hosts": crew.hosts, "processes": crew.processes, "length_s": LENGTH_S}
    plan = storm(seed, kinds=chosen.kinds, at=chosen.at, lasting=(LONG_S,), **size)  # type: ignore[arg-type]
    place = folder / f"{name}{seed}"
    place.mkdir()
    return [str(wrong) for wrong in tell(place, crew, ground, plan, WORK_STEPS, SETTLE_S).broken]


def test_every_mistake_is_hunted() -> None:
    """No mutant without its hunt."""
    assert HUNTS.keys() == MUTANTS.keys()


@pytest.mark.alone
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_is_found_within_the_budget(tmp_path: Path, ground: Ground, name: str) -> None:
    """The harness is worth what it finds."""
    for seed in range(BUDGET):
        found = hunt(tmp_path, ground, name, seed)
        if found:
            print(f"{name}: {len(found)} under seed {seed}, first {found[0]}")
            return
    pytest.fail(f"{name} was not found under {BUDGET} seeds")
