"""Whose a file is, from its name alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from pyscheduler.engine.minding.tidy import _NAME, ENDINGS, remove_all, status_path, sweep
from pyscheduler.minder import notes

T = TypeVar("T")
STATUS = status_path(Path("/state/status"), "nightly.2027-05-20.1", 2, "0a1b2c")


def test_the_key_is_part_of_the_name() -> None:
    """`<run_id>.<attempt>.<key>.json`, and everything else hangs on that."""
    assert str(STATUS) == "/state/status/nightly.2027-05-20.1.2.0a1b2c.json"


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_file_of_an_attempt_is_known_by_its_key(ending: str) -> None:
    """Note, identity, order to stop, and what a crash leaves of them."""
    match = _NAME.fullmatch(STATUS.name + ending)
    assert match is not None
    assert (match["key"], match["stem"]) == ("0a1b2c", STATUS.name)


@pytest.mark.parametrize("name", ["readme.txt", ".lock-test.12", "x.json.bak", "x.json.pid.old", "json", "x.pid"])
def test_what_is_not_ours_is_nobodys(name: str) -> None:
    """A file of any other shape is never removed."""
    assert _NAME.fullmatch(name) is None


def test_nothing_that_hangs_on_a_note_is_forgotten() -> None:
    """Every suffix the formats know is among those removed."""
    assert {notes.IDENTITY, notes.STOP, notes.BLOCK, ""} <= set(ENDINGS)


async def test_an_attempt_that_came_and_went_since_the_listing_is_no_stranger(tmp_path: Path) -> None:
    """Nobody knows its key any more, because its files have gone; one whose files lie there is named."""
    gone, stays = (
        status_path(tmp_path, "a.2027-05-20.1", 1, "gone"),
        status_path(tmp_path, "a.2027-05-20.1", 1, "stays"),
    )
    for status in (gone, stays):
        Path(notes.identity_path(str(status))).touch()

    def known(key: str) -> bool | None:
        if key == "gone":
            remove_all([str(gone)])
        return None

    async def in_thread(call: Callable[..., T], *given: object) -> T:
        return call(*given)

    assert await sweep(tmp_path, known, in_thread) == (stays,)
