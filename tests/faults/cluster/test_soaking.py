"""A soak ends by itself, is written down after every seed, and goes on after a seed that went wrong."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from tests.faults.cluster import soaking
from tests.faults.cluster.crews import work
from tests.faults.cluster.fleet import Crew, Ground
from tests.faults.cluster.history import History
from tests.faults.cluster.ledger import Ledger
from tests.faults.cluster.nemesis import Kind, Plan, calm
from tests.faults.cluster.soaking import HOSTS, PROCESSES, ROUND, endless, soak
from tests.faults.cluster.tale import Tale
from tests.faults.cluster.world import Broken


@pytest.fixture
def grounds_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Play no seed: 2 breaks an invariant, 3 cannot be played; note each ground that was made."""
    made: list[int] = []

    @contextmanager
    def ground() -> Iterator[None]:
        made.append(len(made))
        yield

    def tell(folder: Path, crew: Crew, ground: Ground, plan: Plan) -> Tale:
        assert plan.seed != 3, "it does not stop"
        wrong = [Broken("I7", "a run was executed twice")] if plan.seed == 2 else []
        return Tale(plan, History(()), wrong, [], Counter({"runs": 10, "superseded": 1}), Counter({Kind.KILL: 2}))

    monkeypatch.setattr(soaking, "_ground", ground)
    monkeypatch.setattr(soaking, "tell", tell)
    return made


def played(folder: Path) -> Ledger:
    """Return the ledger of a soak over some calm seeds."""
    ledger = Ledger(folder / "report", 3600.0)
    soak(folder, 3600.0, 1, ledger, ((work, calm(number, length_s=1.0)) for number in range(1, 7)))
    return ledger


def test_a_bad_seed_is_written_down_and_the_rest_is_played(tmp_path: Path, grounds_made: list[int]) -> None:
    """Also one that could not be played to its end; after that one the server is another."""
    ledger = played(tmp_path)
    assert [entry.seed for entry in ledger.entries] == [1, 2, 3, 4, 5, 6]
    assert [entry.seed for entry in ledger.wrong] == [2, 3]
    assert len(grounds_made) == 2
    assert "it does not stop" in (tmp_path / "report" / "seed-3.txt").read_text()
    assert "executed twice" in (tmp_path / "report" / "seed-2.txt").read_text()
    assert not (tmp_path / "seed1").exists()


def test_the_report_has_seeds_faults_and_counts(tmp_path: Path, grounds_made: list[int]) -> None:
    """As JSON, and as a page."""
    played(tmp_path)
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert (report["total"]["runs"], report["total"]["superseded"], report["broken"]) == (50, 5, 2)
    assert report["faults"]["kill"] == 10
    assert [seed["seed"] for seed in report["seeds"]] == [1, 2, 3, 4, 5, 6]
    page = (tmp_path / "report" / "report.md").read_text()
    assert "| late reports kept (`superseded`) | 5 | 5 |" in page
    assert "I7: a run was executed twice" in page


def test_it_ends_when_its_time_is_over(tmp_path: Path, grounds_made: list[int]) -> None:
    """Nothing is begun after it."""
    ledger = Ledger(tmp_path / "report", 0.0)
    soak(tmp_path, -1.0, 2, ledger, endless())
    assert ledger.entries == []


def test_the_seeds_are_of_both_crews_and_of_every_sort() -> None:
    """In each round a calm one and an outage of each."""
    found = Counter((make.__name__, plan.sort) for make, plan in islice(endless(), 2 * ROUND))
    for crew in ("work", "serve"):
        assert (found[crew, "calm"], found[crew, "outage"], found[crew, "storm"]) == (1, 1, ROUND - 2)
    assert {fault.host for _, plan in islice(endless(), 9) for fault in plan.faults} == set(range(HOSTS))
    assert {fault.process for _, plan in islice(endless(), 9) for fault in plan.faults} == set(range(PROCESSES))
