"""An attempt that must not outlive its node's word (`on_uncertain: stop`): under its minder, and under the nursery."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyscheduler.minder import guard, kernel, kin, lease, notes
from pyscheduler.model.job import OnUncertain
from pyscheduler.model.run import Outcome
from pyscheduler.rules.retry import outcome_of
from tests.builders import a_job, a_run, an_attempt
from tests.yard import Yard, alive, kill, minders, until

FOREVER_S = 1e6


def word_of(yard: Yard, until_s: float) -> Path:
    """Write a word that holds for so long, and return its file."""
    path = yard.file("word")
    lease.write(os.fspath(path), lease.boot_now() + until_s)
    return path


async def test_a_word_that_runs_out_ends_the_attempt(tmp_path: Path) -> None:
    """TERM first; the note says who ended it and why, and that counts as lost."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("trap 'exit 7' TERM; while :; do sleep 0.05; done", lease_path=word_of(yard, 1.0))
        result = await (await launcher.launch(spec)).wait()
        assert (result.stopped_by, result.note) == ("lease", lease.REASON)
        assert outcome_of(an_attempt(a_run()), result, None) == (Outcome.LOST, "lost")
        assert os.readlink(lease.link_path(os.fspath(spec.status_path))) == os.fspath(yard.file("word"))
        await launcher.discard([yard.ref(spec)])
        assert list(yard.status.iterdir()) == []


async def test_who_ignores_it_is_killed_after_the_grace_of_leases(tmp_path: Path) -> None:
    """Not after the job's own: the others wait no longer than they are told to."""
    async with minders(tmp_path) as (launcher, yard):
        path = word_of(yard, FOREVER_S)
        command = "trap '' TERM; touch deaf; while :; do sleep 0.05; done"
        handle = await launcher.launch(yard.spec(command, kill_grace_s=3600.0, lease_path=path, lease_grace_s=0.2))
        await until(yard.file("deaf").exists)
        assert handle.pid is not None
        lease.write(os.fspath(path), 0.0)
        kill(handle.pid)  # who takes over looks the word up anew
        result = await handle.wait()
        assert (result.stopped_by, result.signal) == ("lease", signal.SIGKILL)


async def test_who_is_being_ended_gets_no_longer_for_it(tmp_path: Path) -> None:
    """A kill with an hour's grace under way: the word that runs out cuts it short, and the kill stays the reason."""
    async with minders(tmp_path) as (launcher, yard):
        path = word_of(yard, FOREVER_S)
        command = "trap 'touch told' TERM; touch listens; while :; do sleep 0.05; done"
        spec = yard.spec(command, kill_grace_s=3600.0, lease_path=path, lease_grace_s=0.2)
        handle = await launcher.launch(spec)
        assert handle.pid is not None
        await until(yard.file("listens").exists)
        handle.terminate("kill", "by ada")
        await until(yard.file("told").exists)
        lease.write(os.fspath(path), 0.0)
        kill(handle.pid)  # who takes over looks the word up anew
        result = await handle.wait()
        assert (result.stopped_by, result.signal) == ("kill", signal.SIGKILL)


async def test_without_the_key_it_goes_on_whatever_the_word_says(tmp_path: Path) -> None:
    """`continue`, the default: nobody looks."""
    async with minders(tmp_path) as (launcher, yard):
        word_of(yard, 0.0)
        handle = await launcher.launch(yard.spec("while [ ! -e go ]; do sleep 0.02; done; exit 4"))
        ending = await launcher.launch(yard.spec("sleep 600", lease_path=yard.file("word")))
        assert (await ending.wait()).stopped_by == "lease"
        yard.file("go").touch()
        assert (await handle.wait()).exit_code == 4


async def test_where_nobody_vouches_it_is_not_let_run(tmp_path: Path) -> None:
    """No file, no word."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("sleep 600", lease_path=yard.file("nothing"))
        assert (await (await launcher.launch(spec)).wait()).stopped_by == "lease"


async def test_the_nursery_keeps_the_word_for_a_dead_minder(tmp_path: Path) -> None:
    """The identity says that there is one to keep; the link, where it stands."""
    async with minders(tmp_path) as (launcher, yard):
        path = word_of(yard, FOREVER_S)
        handle = await launcher.launch(yard.spec("echo $$ > pid; exec sleep 600", lease_path=path, lease_grace_s=30.0))
        await until(lambda: yard.file("pid").exists() and yard.file("pid").read_text().endswith("\n"))
        assert handle.pid is not None
        lease.write(os.fspath(path), 0.0)  # the minder knows of a better one, and does not look
        kill(handle.pid)
        result = await handle.wait()
        assert (result.stopped_by, result.signal) == ("lease", signal.SIGTERM)
        assert not alive(int(yard.file("pid").read_text()))


# --------------------------------------------------------------------------- stepped by hand


class Watched:
    """A guard over a real process, on a boot clock that the test moves."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.status = os.fspath(home / "status.json")
        self.now = 0.0
        monkeypatch.setattr(lease, "boot_now", lambda: self.now)
        self.process = subprocess.Popen(["sleep", "600"], start_new_session=True)
        named = notes.Proc(self.process.pid, kernel.start_ticks(self.process.pid) or 0)
        limits = notes.Limits(None, 5.0, "leave", 1.0)
        identity = notes.Identity(
            key="k", minder=kernel.myself(), nursery=None, boot_id="b", started_at="", minder_at="", monotonic=0.0,
            limits=limits,
        )  # fmt: skip
        identity.job = named
        lock = os.open(home / "status.json.pid", os.O_RDWR | os.O_CREAT)
        self.word, self.others = os.fspath(home / "word"), os.fspath(home / "others")
        lease.write(self.word, 10.0)
        lease.bind(self.status, self.word)
        self.guard = guard.Guard(self.status, identity, lock, tree=kin.Relatives(named, "k"))

    def at(self, now: float) -> str | None:
        """Step once at that instant of the boot clock, and return by whom it is being ended."""
        self.now = now
        self.guard.step(0.0)
        return self.guard.stopped_by


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    made = Watched(tmp_path, monkeypatch)
    yield made
    made.process.kill()
    made.process.wait()
    os.close(made.guard.lock)


def test_a_word_that_moves_on_keeps_it_alive(watched: Watched) -> None:
    """The file is looked at when the deadline that is known has passed, and not before."""
    assert watched.at(1.0) is None
    lease.write(watched.word, 20.0)
    assert watched.at(15.0) is None
    lease.write(watched.word, 0.0)
    assert watched.at(19.9) is None
    assert watched.at(20.0) == "lease"


def test_who_adopts_it_vouches_from_then_on(watched: Watched) -> None:
    """The link is put in its place anew; the dead owner's word may run out."""
    assert watched.at(1.0) is None
    lease.write(watched.others, 30.0)
    assert lease.bind_again(watched.status, watched.others)
    assert watched.at(11.0) is None
    assert watched.at(30.0) == "lease"


def test_what_hangs_on_nobodys_word_is_not_made_to(tmp_path: Path) -> None:
    """An adopted attempt of `continue` stays one."""
    assert not lease.bind_again(os.fspath(tmp_path / "status.json"), "word")
    assert list(tmp_path.iterdir()) == []


def test_the_key_is_the_jobs() -> None:
    """`continue` where nothing is said."""
    assert a_job().on_uncertain is OnUncertain.CONTINUE
