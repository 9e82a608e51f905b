"""Each mistake of claims.md C12, made on purpose, is found under real processes."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from tests.faults.cluster import points
from tests.faults.cluster.crews import SHORT, lengthy, narrow, work
from tests.faults.cluster.fleet import Crew, Ground
from tests.faults.cluster.mutants import MUTANT, MUTANTS
from tests.faults.cluster.nemesis import LONG_S, SHORT_S, Kind, storm
from tests.faults.cluster.ready import side_by_side
from tests.faults.cluster.tale import SETTLE_S, tell

BUDGET: Final = 8
"""Seeds until a mistake must have been found."""
HUNT_S: Final = 12.0
"""So long is waited for what does not come, where there is a mistake."""


@dataclass(frozen=True)
class Hunt:
    """Which faults, at which points and for how long, bring a mistake to light."""

    crew: Crew
    kinds: tuple[Kind, ...]
    at: tuple[str, ...] = points.POINTS
    lasting: tuple[float, float] = LONG_S
    length_s: float = 7.0


STOPPED: Final = (Kind.STOP_AT,)
UNFENCED: Final = {"reclaim_after": 3600.0}
"""Nobody is fenced for being silent: the fence would guard as well."""
JUST_TOO_LONG: Final = (2.3, 2.9)
"""Just until somebody else has begun the same run."""
HUNTS: Final[dict[str, Hunt]] = {
    "start_without_token": Hunt(narrow(SHORT | UNFENCED), STOPPED, (points.BEFORE_START,), JUST_TOO_LONG, 10.0),
    "start_unguarded": Hunt(work(SHORT), STOPPED, (points.BEFORE_START,)),
    "outcome_by_state_only": Hunt(lengthy(SHORT), STOPPED, (points.AFTER_START,), JUST_TOO_LONG),
    "claim_while_fenced": Hunt(work(SHORT), STOPPED, (points.BEFORE_CLAIM,)),
    "no_reconcile": Hunt(work(SHORT), (Kind.DEAF_THEN_RESET,), lasting=SHORT_S),
    "proof_by_scheduler_only": Hunt(lengthy(SHORT), (Kind.KILL,), lasting=SHORT_S),
    "execute_before_commit": Hunt(work(SHORT), (Kind.RESET,)),
    "authority_without_lock": Hunt(work(SHORT), (Kind.STOP,)),
}


def hunt(folder: Path, ground: Ground, name: str, seed: int, *, mistaken: bool = True) -> list[str]:
    """Return what one seed finds."""
    chosen = HUNTS[name]
    crew = replace(chosen.crew, env=(*chosen.crew.env, (MUTANT, name))) if mistaken else chosen.crew
    plan = storm(
        seed, hosts=crew.hosts, processes=crew.processes, length_s=chosen.length_s, kinds=chosen.kinds, at=chosen.at,
        lasting=(chosen.lasting,),
    )  # fmt: skip
    place = folder / f"{name}{seed}"
    place.mkdir()
    return [str(wrong) for wrong in tell(place, crew, ground, plan, HUNT_S if mistaken else SETTLE_S).broken]


def test_every_mistake_is_hunted() -> None:
    """No mutant without its hunt."""
    assert HUNTS.keys() == MUTANTS.keys()


@pytest.mark.alone
@pytest.mark.timeout(900)
def test_every_mistake_is_found_within_its_budget(tmp_path: Path, grounds: list[Ground]) -> None:
    """The harness is worth what it finds."""
    missed = []

    def one(ground: Ground, name: str) -> None:
        for seed in range(BUDGET):
            if found := hunt(tmp_path, ground, name, seed):
                print(f"{name}: {len(found)} under seed {seed}, first {found[0]}", flush=True)
                return
        missed.append(name)

    side_by_side(grounds, iter(os.environ.get("FAULTS_HUNT", " ".join(MUTANTS)).split()), one)
    assert not missed


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_nothing_is_found_where_no_mistake_was_made(tmp_path: Path, grounds: list[Ground]) -> None:
    """The same hunts after schedulers that do it right: what is found is the mistake's, not the hunt's."""
    found: list[str] = []
    side_by_side(
        grounds, iter(HUNTS), lambda ground, name: found.extend(hunt(tmp_path, ground, name, 0, mistaken=False))
    )
    assert found == []
