"""What is left of an attempt without a guardian, from its identity and a census."""

from __future__ import annotations

from pyscheduler.engine.minding.census import Census
from pyscheduler.engine.minding.sight import Bare, Gone, Guarded, Nothing, Owed, judge, without_file
from pyscheduler.minder import kernel, notes

BOOT = "this boot"
NURSERY = notes.Proc(40, 90)


def process(pid: int, *, session: int = 0, ticks: int = 100, state: str = "S") -> kernel.Stat:
    fields = [state, 1, session or pid, session or pid, *[0] * 15, ticks]
    return kernel.Stat(pid, [str(field).encode() for field in fields])


def identity(*, job: bool = True, boot: str = BOOT) -> notes.Identity:
    found = notes.Identity(
        key="k",
        minder=notes.Proc(45, 95),
        nursery=NURSERY,
        boot_id=boot,
        started_at="",
        minder_at="",
        monotonic=0.0,
        limits=notes.Limits(None, 1.0, "leave"),
    )
    found.job = notes.Proc(50, 100) if job else None
    return found


def census(*processes: kernel.Stat, carriers: tuple[int, ...] = ()) -> Census:
    return Census({one.pid: one for one in processes}, {"k": frozenset(carriers)})


def test_a_living_job_is_named_first() -> None:
    """The operator reads the job's own number, not that of some child."""
    found = judge(identity(), census(process(49, session=50), process(50), carriers=(49,)), BOOT)
    assert isinstance(found, Bare)
    assert [one.pid for one in found.processes] == [50, 49]


def test_a_process_with_the_key_is_enough() -> None:
    """The job was never named, or has gone: what carries the key still runs."""
    for named in (True, False):
        found = judge(identity(job=named), census(process(70), carriers=(70,)), BOOT)
        assert isinstance(found, Bare)


def test_a_zombie_counts_as_such() -> None:
    """It runs no code any more, but is not gone either."""
    found = judge(identity(), census(process(50, state="Z")), BOOT)
    assert isinstance(found, Bare)
    assert found.zombies


def test_a_living_nursery_owes_a_note() -> None:
    """Nobody alive, but the nursery: it is about to take over, zombie or not."""
    nursery = process(40, ticks=90)
    assert judge(identity(), census(nursery), BOOT) == Owed(NURSERY)
    assert judge(identity(), census(nursery, process(50, state="Z")), BOOT) == Owed(NURSERY)


def test_a_nurserys_number_alone_owes_nothing() -> None:
    """Reused by another process, or a zombie: it writes no note."""
    for other in (process(40, ticks=91), process(40, ticks=90, state="Z")):
        assert isinstance(judge(identity(), census(other), BOOT), Gone)


def test_nobody_left_is_gone() -> None:
    """With the reason for people."""
    assert judge(identity(), census(), BOOT) == Gone("exit unknown: minder and nursery are gone")


def test_another_boot_leaves_nobody() -> None:
    """The same numbers mean nothing then."""
    found = judge(identity(boot="earlier"), census(process(50), carriers=(50,)), BOOT)
    assert found == Gone("exit unknown: the machine was restarted")


def test_a_missing_file_does_not_hide_a_carrier() -> None:
    """Who carries the key runs, whatever was deleted."""
    nothing = Nothing("may have run", sure=False)
    assert without_file(nothing, census(process(70)), "k") == nothing
    assert isinstance(without_file(nothing, census(process(70), carriers=(70,)), "k"), Bare)
    assert without_file(nothing, census(process(70, state="Z"), carriers=(70,)), "k") == nothing


def test_a_guardian_is_a_minder_or_its_heir() -> None:
    """A minder ends with its attempt and rings; a nursery lives on and is looked at."""
    found = identity()
    assert Guarded(found.guardian, found).by_minder
    assert not Guarded(NURSERY, found).by_minder
    assert not Guarded(None, None).by_minder
