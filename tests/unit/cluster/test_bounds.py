"""What a scheduler that lives for years keeps in memory has a bound."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from pyscheduler.cluster.evidence import Evidence
from pyscheduler.cluster.succession import Successor
from pyscheduler.cluster.tally import MOST_FAILURES, Tally, TaskFailed
from pyscheduler.rules.leases import timing


def test_of_failures_the_newest_are_kept() -> None:
    """All of them are counted and logged."""
    tally = Tally()
    for number in range(MOST_FAILURES + 10):
        tally.failures.append(TaskFailed("job", f"job.2027-05-20.{number}", "exit 1"))
    failures = tally.ticked().failures
    assert [failures[0].run_id, failures[-1].run_id] == ["job.2027-05-20.10", f"job.2027-05-20.{MOST_FAILURES + 9}"]


def test_of_others_only_those_that_are_there_are_remembered() -> None:
    """One that comes again is watched anew."""
    times = timing()
    evidence = Evidence(times, lambda: 0.0)
    row = cast("Any", SimpleNamespace(inc_id="a", hb_seq=7))
    looks = [number * times.observe_s / 3 for number in range(5)]
    for asked_at in looks:
        evidence.keep(frozenset({"a"}))
        seen = evidence.saw(row, asked_at)
    assert seen is not None
    evidence.keep(frozenset({"b"}))
    assert evidence.saw(row, looks[-1] + 1) is None


async def test_whoever_looks_tells_its_memory_who_is_there(tmp_path: Path) -> None:
    """Itself, what is fenced and what has lost its row are not; what was seen of them goes at the next look."""
    times = timing()
    clock: Any = SimpleNamespace(now_s=0.0, boottime=lambda: clock.now_s)
    evidence = Evidence(times, clock.boottime)
    rows = [a_row(name) for name in ("me", "other", "fenced")]
    claims = SimpleNamespace(me=rows[0].identity, nodes=lambda: rows, strays=list)

    async def call(work: Callable[[], Any]) -> Any:
        return work()

    shift = cast("Any", SimpleNamespace(claims=claims, clock=clock, call=call))
    successor = Successor(shift, cast("Any", None), evidence, tmp_path, "boot", adopts=False)
    for clock.now_s in (number * times.observe_s / 3 for number in range(5)):
        await successor.look()
    assert evidence.saw(rows[1], clock.now_s) is not None, "the other has stood still"
    gone, rows[:] = rows[1], [rows[0], rows[2]]
    await successor.look()
    assert evidence.saw(gone, clock.now_s) is None, "and is forgotten once it has gone"


def a_row(name: str) -> Any:
    """Return the row of an incarnation on another machine, alive or fenced."""
    me = SimpleNamespace(
        inc_id=name, host_id=f"host of {name}", boot_id="boot", pid_ns="ns", pid=None, start_ticks=None
    )
    fenced_at = "then" if name == "fenced" else None
    return SimpleNamespace(
        inc_id=name, identity=me, pid=None, hb_seq=7, renewed_at=None, now=None, lives=True, fenced_at=fenced_at
    )
