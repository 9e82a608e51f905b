"""Schedulers on three hosts under faults drawn from a seed: whatever happens, I1 to I16 hold. Spec: claims.md C14.

`make soak-cluster` does the same for an hour, with a new seed each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.cluster.conftest import SIDE_BY_SIDE
from tests.faults.cluster.crews import PATIENT, SHORT, work
from tests.faults.cluster.ending import BITES
from tests.faults.cluster.fleet import Crew, Ground
from tests.faults.cluster.ledger import Ledger
from tests.faults.cluster.nemesis import Plan, calm, outage, storm
from tests.faults.cluster.ready import side_by_side
from tests.faults.cluster.soaking import HOSTS, PROCESSES, endless, soak
from tests.faults.cluster.tale import Tale, tell

LENGTH_S = 6.0
STORMS = 16
SOAK_S = 3600.0
SAMPLE_S = 60.0


Seed = tuple[Callable[[dict[str, float]], Crew], Plan]


def seeds(storms: int) -> Iterator[Seed]:
    """Yield the seeds of a test run: without a fault, with an outage for all, and storms."""
    quiet = [calm(1, length_s=4.0), calm(2, length_s=4.0)]
    quiet += [outage(seed, hosts=HOSTS, lease_s=PATIENT["lease"], length_s=3.0) for seed in (3, 4)]
    stormy = [storm(100 + n, hosts=HOSTS, processes=PROCESSES, length_s=LENGTH_S) for n in range(storms)]
    return ((work, plan) for plan in quiet + stormy)


def play(folder: Path, ground: Ground, seed: Seed) -> Tale:
    crew, plan = seed
    place = folder / f"seed{plan.seed}"
    place.mkdir()
    tale = tell(place, crew(PATIENT if plan.quiet else SHORT), ground, plan)
    print(crew.__name__, tale, flush=True)
    return tale


def play_all(folder: Path, grounds: list[Ground], seeds: Iterator[Seed]) -> list[Tale]:
    """Play them side by side, as many at a time as there are grounds."""
    tales: list[Tale] = []
    side_by_side(grounds, seeds, lambda ground, seed: tales.append(play(folder, ground, seed)))
    return tales


def judge(tales: list[Tale]) -> None:
    assert not [tale for tale in tales if tale.broken], "\n\n".join(tale.told() for tale in tales if tale.broken)
    calm_ones = sum((tale.counts for tale in tales if tale.plan.quiet and not tale.plan.faults), Counter[str]())
    assert not any(calm_ones[bite] for bite in BITES), f"nothing was wrong: {calm_ones}"
    total: Counter[str] = sum((tale.counts for tale in tales), Counter())
    print(len(tales), "seeds", dict(total))
    assert all(total[bite] for bite in BITES), f"the faults did not bite: {total}"


@pytest.mark.alone
@pytest.mark.timeout(600)
def test_every_invariant_holds_under_every_seed(tmp_path: Path, grounds: list[Ground]) -> None:
    """Twenty seeds; the faults bite, and nobody who lives is robbed where nothing but the store was away."""
    judge(play_all(tmp_path, grounds, seeds(STORMS)))


@pytest.mark.slow
@pytest.mark.timeout(2 * SOAK_S)
def test_every_invariant_holds_for_an_hour(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """The same with ever new seeds, longer ones, and `serve` in turns; a minute where nobody asks for an hour.

    The hour's report is in `soak-cluster/`; one bad seed is in it, and ends nothing.
    """
    is_hour = pytestconfig.getoption("--soak")
    seconds, place = (SOAK_S, pytestconfig.rootpath / "soak-cluster") if is_hour else (SAMPLE_S, tmp_path / "report")
    ledger = Ledger(place, seconds)
    soak(tmp_path, seconds, SIDE_BY_SIDE, ledger, endless())
    print((place / "report.md").read_text())
    assert not ledger.wrong, f"{[(entry.seed, entry.broken[:3]) for entry in ledger.wrong]}: see {place}"
    assert ledger.entries
