"""Who belongs to a job, from a table of processes."""

from __future__ import annotations

from pyscheduler.minder import kernel, kin, notes


def process(
    pid: int, parent: int = 1, group: int = 0, session: int = 0, ticks: int = 100, state: str = "S"
) -> kernel.Stat:
    fields = [state, parent, group or pid, session or pid, *[0] * 15, ticks]
    return kernel.Stat(pid, [str(field).encode() for field in fields])


def table(*processes: kernel.Stat) -> dict[int, kernel.Stat]:
    return {one.pid: one for one in processes}


JOB = notes.Proc(50, 100)
NOBODY: frozenset[int] = frozenset()


def pids(found: list[kernel.Stat]) -> set[int]:
    return {one.pid for one in found}


def test_descendants_are_everything_below() -> None:
    """Children of children, not the roots, not the neighbours; a circle in a torn table does not hang."""
    everyone = table(process(50), process(51, 50), process(52, 51), process(60), process(61, 60))
    assert pids(kin.descendants({50}, everyone)) == {51, 52}
    torn = table(process(70, 71), process(71, 70))
    assert pids(kin.descendants({70}, torn)) == {71}


def test_the_named_job_is_known_by_number_and_start_ticks() -> None:
    """The same number with other ticks is a stranger, and so is everything below the stranger."""
    assert pids(kin.relatives(JOB, "k", table(process(50)), NOBODY)) == {50}
    reused = table(process(50, ticks=999), process(51, 50))
    assert kin.relatives(JOB, "k", reused, NOBODY) == []


def test_group_and_session_count_while_their_number_is_nobody_elses() -> None:
    """A dead leader's number is not given away while its group lives; a reused one proves a new group."""
    orphans = (process(51, 1, group=50, session=50), process(52, 1, group=52, session=50))
    assert pids(kin.relatives(JOB, "k", table(*orphans), NOBODY)) == {51, 52}
    assert pids(kin.relatives(JOB, "k", table(process(50), *orphans), NOBODY)) == {50, 51, 52}
    assert kin.relatives(JOB, "k", table(process(50, ticks=999), *orphans), NOBODY) == []


def test_whoever_carries_the_key_belongs_with_all_below() -> None:
    """Also without a named job, and also in a session of its own."""
    everyone = table(process(70, session=70), process(71, 70), process(80))
    assert pids(kin.relatives(None, "k", everyone, frozenset({70}))) == {70, 71}


def test_a_zombie_is_told_from_the_living() -> None:
    """It is found, and is not alive."""
    (found,) = kin.relatives(JOB, "k", table(process(50, state="Z")), NOBODY)
    assert not found.alive
    assert process(50, state="D").alive
