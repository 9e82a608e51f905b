"""What a node keeps ready of the stored configurations, and when it reads one again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyscheduler.cluster import recipes
from pyscheduler.cluster.recipes import KEPT, Recipes
from pyscheduler.errors import ConfigError
from pyscheduler.model.config_record import ConfigRecord
from pyscheduler.model.problem import Problem

NOON = datetime(2026, 10, 19, 12, tzinfo=UTC)
RECORD = ConfigRecord(version=3, loaded_at=NOON, digest="d3", sources=())


class Shelf:
    """The store's configurations, and a count of how often one was made of its texts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.records = {each: replace(RECORD, version=each, digest=f"d{each}") for each in range(1, 10)}
        self.made: list[int] = []
        self.worked_out: list[str] = []
        self.broken = False
        monkeypatch.setattr(recipes, "load_stored", self.load)
        monkeypatch.setattr(recipes, "Orders", lambda config, version, *_more: (config, version))
        self.recipes = Recipes(cast("Any", None), self.records.get, {}, "boot")

    async def load(self, record: ConfigRecord, _own: object, **_more: object) -> Any:
        self.made.append(record.version)
        if self.broken:
            raise ConfigError([Problem("a.yaml", 1, 1, "no such variable: HOME_OF_ALL")])
        note = self.worked_out.append
        jobs = {"load": None}
        return SimpleNamespace(digest=record.digest, jobs=jobs, timetable=note, dependents=note)


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    return Shelf(monkeypatch)


async def test_what_was_made_ready_is_not_read_again(shelf: Shelf) -> None:
    """A lead that is taken over finds the configuration, its timetables and its graph as they were left."""
    await shelf.recipes.make_ready(3)
    assert shelf.worked_out == ["", "load"]
    assert (await shelf.recipes.config(RECORD)).digest == "d3"
    await shelf.recipes.make_ready(3)
    assert shelf.made == [3]
    assert shelf.recipes.at_hand(3) is not None


async def test_a_version_with_other_texts_is_read_again(shelf: Shelf) -> None:
    """A store that was restored from a backup counts its versions again from there."""
    await shelf.recipes.make_ready(3)
    other = replace(RECORD, digest="of another text")
    assert (await shelf.recipes.config(other)).digest == "of another text"
    assert shelf.made == [3, 3]


async def test_what_is_in_force_stays_whatever_else_is_asked_for(shelf: Shelf) -> None:
    """Old runs ask for old versions; the one that is made ready again and again is never the one let go of."""
    for version in (9, 1, 9, 2, 9, 4, 9, 5, 9, 6, 9):
        await shelf.recipes.make_ready(version)
    assert shelf.made.count(9) == 1
    assert len([each for each in range(1, 10) if shelf.recipes.at_hand(each)]) == KEPT


async def test_one_that_cannot_be_used_here_is_none_to_have_at_hand(shelf: Shelf) -> None:
    """Whoever is to lead by it is told why, each time; nobody else tries again and again."""
    shelf.broken = True
    await shelf.recipes.make_ready(3)
    await shelf.recipes.make_ready(3)
    assert shelf.made == [3]
    assert shelf.recipes.at_hand(3) is None
    with pytest.raises(ConfigError):
        await shelf.recipes.config(RECORD)
