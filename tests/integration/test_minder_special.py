"""Job set-up that takes a fork: user, limits, nice. DESIGN 4, "Job set-up"; FC-064, FC-066."""

from __future__ import annotations

import os
import pwd
import resource
import signal
from pathlib import Path

import pytest

from pyscheduler.engine import machine
from pyscheduler.engine.launcher import MinderLauncher
from pyscheduler.engine.ports import AttemptResult, LaunchSpec
from tests.yard import minders

ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
NOBODY = pwd.getpwnam("nobody")


async def run(launcher: MinderLauncher, spec: LaunchSpec) -> AttemptResult:
    return await (await launcher.launch(spec)).wait()


@ROOT
@pytest.mark.root
async def test_a_job_becomes_its_user_for_good(tmp_path: Path) -> None:
    """All three ids, the user's own groups and none of root's, no capability, and no way back."""
    tmp_path.chmod(0o755)
    script = "grep -E '^(Uid|Gid|Groups|CapEff|CapPrm)' /proc/self/status; id -u; cat secret; echo x > /proc/self/fd/1"
    async with minders(tmp_path) as (launcher, yard):
        yard.file("secret").write_text("for root only")
        yard.file("secret").chmod(0o600)
        spec = yard.spec(script.replace("secret", str(yard.file("secret"))), user="nobody", cwd="/")
        await run(launcher, spec)
        lines = dict(line.split(":", 1) for line in yard.out(spec).splitlines() if ":" in line)
        assert lines["Uid"].split() == [str(NOBODY.pw_uid)] * 4
        assert lines["Gid"].split() == [str(NOBODY.pw_gid)] * 4
        groups = {str(gid) for gid in os.getgrouplist("nobody", NOBODY.pw_gid)}
        assert set(lines["Groups"].split()) == groups
        assert int(lines["CapEff"], 16) == int(lines["CapPrm"], 16) == 0
        assert "for root only" not in yard.out(spec)
        assert spec.stdout_path.stat().st_uid == 0
        assert spec.stderr_path is not None
        assert "Permission denied" in spec.stderr_path.read_text()


@ROOT
@pytest.mark.root
async def test_the_environment_of_another_users_job_still_carries_the_key(tmp_path: Path) -> None:
    """The nursery of root may look into it, so that the job is known after its minder's death."""
    tmp_path.chmod(0o755)
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec('printf %s "$PYSCHED_ATTEMPT_KEY"', user="nobody", cwd="/")
        await run(launcher, spec)
        assert yard.out(spec) == spec.key


async def test_an_unknown_user_runs_nothing(tmp_path: Path) -> None:
    """If any step of the set-up fails the program is not run."""
    async with minders(tmp_path) as (launcher, yard):
        result = await run(launcher, yard.spec("touch ran", user="nobody-of-that-name"))
        assert result.start_error == (
            "no user 'nobody-of-that-name' on this machine; create it, or correct the job's user"
        )
        assert not yard.file("ran").exists()


async def test_limits_are_set_and_their_signals_told(tmp_path: Path) -> None:
    """`nofile` is what ulimit shows; an overrun of fsize ends with SIGXFSZ, of cpu with SIGXCPU."""
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("ulimit -n; ulimit -Hn; ulimit -c", limits={"nofile": 256, "core": 0})
        assert (await run(launcher, spec)).exit_code == 0
        assert yard.out(spec).split() == ["256", "256", "0"]
        result = await run(launcher, yard.spec("exec head -c 3000000 /dev/zero > big", limits={"fsize": 1_000_000}))
        assert result.signal == signal.SIGXFSZ
        assert yard.file("big").stat().st_size == 1_000_000
        result = await run(launcher, yard.spec("while :; do :; done", limits={"cpu": 1}))
        assert result.signal == signal.SIGXCPU


async def test_a_limit_of_no_such_name_runs_nothing(tmp_path: Path) -> None:
    """A misspelt limit is a start error, not a job without its limit."""
    async with minders(tmp_path) as (launcher, yard):
        result = await run(launcher, yard.spec("touch ran", limits={"nofiles": 10}))
        assert result.start_error == "cannot set limits.nofiles: no limit is called so here"
        assert not yard.file("ran").exists()


async def test_nice_is_the_jobs_alone(tmp_path: Path) -> None:
    """The job is nicer than the scheduler; the minder that watches it is not."""
    mine = os.nice(0)
    async with minders(tmp_path) as (launcher, yard):
        spec = yard.spec("nice; while [ ! -e go ]; do sleep 0.02; done", nice=5)
        handle = await launcher.launch(spec)
        assert handle.pid is not None
        assert os.getpriority(os.PRIO_PROCESS, handle.pid) == mine
        yard.file("go").touch()
        assert (await handle.wait()).exit_code == 0
        assert int(yard.out(spec)) == min(mine + 5, 19)


async def test_a_missing_program_of_a_special_job_is_told_as_always(tmp_path: Path) -> None:
    """The fork's fault comes back in the same words as posix_spawn's."""
    async with minders(tmp_path) as (launcher, yard):
        result = await run(launcher, yard.spec("no-such-program", "x", nice=1))
        assert result.start_error == "[Errno 2] No such file or directory: 'no-such-program'"


async def test_limits_the_scheduler_raised_for_itself_stay_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ulimit -n` in a job is what the scheduler was started with. FC-066."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(machine, "inherited_files", None)
    resource.setrlimit(resource.RLIMIT_NOFILE, (777, hard))
    try:
        assert machine.raise_open_files(1500) == 1500
        async with minders(tmp_path) as (launcher, yard):
            spec = yard.spec("ulimit -n")
            await run(launcher, spec)
            assert yard.out(spec) == "777\n"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
