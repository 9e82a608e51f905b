"""Schedulers on three hosts under faults drawn from a seed: whatever happens, I1 to I16 hold. Spec: claims.md C14.

`make soak-cluster` does the same for an hour, with a new seed each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.faults.cluster import points
from tests.faults.cluster.conftest import SIDE_BY_SIDE
from tests.faults.cluster.crews import PATIENT, SHORT, lengthy, serve, work
from tests.faults.cluster.ending import BITES
from tests.faults.cluster.fleet import Ground
from tests.faults.cluster.ledger import Ledger
from tests.faults.cluster.nemesis import LONG_S, Kind, calm, outage, storm
from tests.faults.cluster.ready import side_by_side
from tests.faults.cluster.soaking import HOSTS, PROCESSES, Seed, endless, soak
from tests.faults.cluster.tale import Tale, tell

LENGTH_S = 6.0
WORK_FROM, OF_WORK = 100, 13
SERVE_FROM, OF_SERVE = 200, 2
"""The longer ones first: two are played at a time, and none is to be the last alone."""
CHANGING: Final = (Kind.EDIT, Kind.FULL, Kind.STOP, Kind.KILL)
BITING_FROM, MOST_BITING = 300, 8
BITING_AT: Final = (points.BEFORE_START, points.AFTER_START)
SOAK_S = 3600.0
SAMPLE_S = 60.0


def seeds() -> Iterator[Seed]:
    """Yield the seeds of a test run: of each crew one without a fault, one with an outage for all, and storms."""
    lease_s = PATIENT["lease"]
    yield serve, outage(4, hosts=HOSTS, lease_s=lease_s, length_s=3.0)
    yield work, outage(3, hosts=HOSTS, lease_s=lease_s, length_s=3.0)
    yield serve, calm(2, length_s=4.0)
    yield work, calm(1, length_s=4.0)
    yield serve, storm(5, hosts=HOSTS, processes=PROCESSES, length_s=LENGTH_S, kinds=CHANGING)
    for crew, first, storms in ((serve, SERVE_FROM, OF_SERVE), (work, WORK_FROM, OF_WORK)):
        for number in range(first, first + storms):
            yield crew, storm(number, hosts=HOSTS, processes=PROCESSES, length_s=LENGTH_S)


def biting(tales: list[Tale]) -> Iterator[Seed]:
    """Yield seeds whose faults take something from somebody, for as long as one of its kinds has not happened."""
    for number in range(BITING_FROM, BITING_FROM + MOST_BITING):
        if all(total(tales)[bite] for bite in BITES):
            return
        yield lengthy, storm(
            number, hosts=HOSTS, processes=PROCESSES, length_s=LENGTH_S, kinds=(Kind.STOP_AT,), at=BITING_AT,
            lasting=(LONG_S,),
        )  # fmt: skip


def total(tales: list[Tale]) -> Counter[str]:
    return sum((tale.counts for tale in tales), Counter())


def play(folder: Path, ground: Ground, seed: Seed) -> Tale:
    crew, plan = seed
    place = folder / f"seed{plan.seed}"
    place.mkdir()
    tale = tell(place, crew(PATIENT if plan.quiet else SHORT), ground, plan)
    print(crew.__name__, tale, flush=True)
    return tale


def play_all(folder: Path, grounds: list[Ground], seeds: Iterator[Seed]) -> list[Tale]:
    """Play them side by side, as many at a time as there are grounds; and more, where it was by chance too mild."""
    tales: list[Tale] = []
    side_by_side(grounds, seeds, lambda ground, seed: tales.append(play(folder, ground, seed)))
    side_by_side(grounds, biting(tales), lambda ground, seed: tales.append(play(folder, ground, seed)))
    return tales


def judge(tales: list[Tale]) -> None:
    assert not [tale for tale in tales if tale.broken], "\n\n".join(tale.told() for tale in tales if tale.broken)
    calm_ones = sum((tale.counts for tale in tales if tale.plan.quiet and not tale.plan.faults), Counter[str]())
    assert not any(calm_ones[bite] for bite in BITES), f"nothing was wrong: {calm_ones}"
    counts = total(tales)
    print(len(tales), "seeds", dict(counts))
    assert all(counts[bite] for bite in BITES), f"the faults did not bite: {counts}"


@pytest.mark.alone
@pytest.mark.timeout(600)
def test_every_invariant_holds_under_every_seed(tmp_path: Path, grounds: list[Ground]) -> None:
    """Twenty seeds, five of `serve`; the faults bite, and nobody is robbed where nothing but the store was away."""
    judge(play_all(tmp_path, grounds, seeds()))


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
