"""Programs as people write them, each in a process of its own: the seed's, the examples, the command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pyscheduler.config import load_config

ROOT = Path(__file__).resolve().parents[3]
SEED = """
import asyncio

from pypepper.scheduler.channel import manager
from pypepper.scheduler.executor import CallableExecutor
from pypepper.scheduler.job import Job
from pypepper.scheduler.task import Task
from pypepper.scheduler.worker import Worker
from pypepper.scheduler.workflow import Workflow


def work(task, context):
    return {"ok": True, "task": task.name}


workflow = Workflow()
workflow.add_task(
    Task(
        channel_id="demo-channel",
        dag_id="dag-1",
        fingerprint="fp-1",
        name="step-1",
        category="demo",
        description="first step",
        tags=[],
        executor=CallableExecutor(work),
        retry_count=1,
        retry_delay=0,
        optional=False,
    )
)

job = Job(category="demo", channel_id="demo-channel")
job.workflows.append(workflow)
# Optional: create a bounded channel *before* worker/dispatch (default is unbounded).
# manager.new("demo-channel", maxsize=100)
job.scheduled()  # dispatch into channel via Dispatcher

worker = Worker(manager.available("demo-channel"))
asyncio.run(worker.run_once())
"""


def run(*arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": path} | env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_program_of_the_seed_runs_unchanged(tmp_path: Path) -> None:
    """Seed 001, minimal path; pipeline.md 19: status and row are Completed."""
    done = run("-c", SEED + "print(job.status, Job.get_saved(job.id).status)", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Completed Completed\n"


def test_the_seeds_settings_are_loaded_from_the_root(tmp_path: Path) -> None:
    """Seed 001: `load_config("./conf/app.config.yaml")` and `setup_from_config`, then a job; sqlite outlives it."""
    program = f"""
        from pypepper.common.config import config
        from pypepper.scheduler.job import Job
        from pypepper.scheduler.store import configure_job_store, get_job_store, setup_from_config
        config.load_config("./conf/app.config.yaml")
        setup_from_config(config.get_yml_config())
        configure_job_store("sqlite", db={str(tmp_path / "jobs.db")!r})
        job = Job(category="demo", channel_id="demo-channel")
        job.scheduled()
        saved = Job.get_saved(job.id)
        assert saved is not None
        assert saved.status == "Scheduled"
        assert get_job_store().get(job.id) is not None
    """
    done = run("-c", textwrap.dedent(program), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "jobs.db").exists()


def test_the_example_of_the_seed_reaches_complete() -> None:
    """Issue 3: example/scheduler/app.py, from the root."""
    done = run("example/scheduler/app.py", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "scheduled: Scheduled, saved as Scheduled",
        "worked off: Completed, saved as Completed",
        "results: [[{'greeting': 'hello from greet'}]]",
    ]


def test_the_example_workflow_is_a_command(tmp_path: Path) -> None:
    """Issue 3: a progress line a task and an exit code."""
    target = tmp_path / "clean.csv"
    folder = ROOT / "examples" / "pipeline"
    done = run("-m", "pypepper.scheduler.run", "clean:workflow", cwd=folder, CLEAN_TARGET=str(target))
    assert done.returncode == 0, done.stderr
    assert [line.split(" (")[0] for line in done.stdout.splitlines()] == [
        "[1/3] read: ok",
        "[2/3] clean: ok",
        "[3/3] write: ok",
    ]
    assert target.read_text().split() == ["station,value", "harbour,17.5", "hill,12.25", "field,19"]


def test_the_example_job_is_a_job_of_the_scheduler() -> None:
    """Issue 3: the same command in a configuration that the scheduler takes."""
    config = load_config(ROOT / "examples" / "pipeline" / "pysched.yaml")
    (job,) = config.jobs.values() if hasattr(config.jobs, "values") else config.jobs
    assert "pypepper.scheduler.run" in str(job)


def test_the_command_without_a_name_says_how(tmp_path: Path) -> None:
    """Exit code 2, as every command of this kind."""
    assert run("-m", "pypepper.scheduler.run", cwd=tmp_path).returncode == 2
    done = run("-m", "pypepper.scheduler.run", "nowhere:flow", cwd=tmp_path)
    assert done.returncode == 2
    assert "no module nowhere" in done.stderr


@pytest.mark.parametrize("polite", [True, False])
def test_the_command_under_a_signal(tmp_path: Path, polite: bool) -> None:
    """One SIGTERM lets the task end and begins no other; a second one ends the process."""
    (tmp_path / "slow.py").write_text(
        textwrap.dedent("""
        from pypepper.scheduler import CallableExecutor, Task, Workflow
        from pypepper.scheduler.job import CANCEL_EVENT_KEY

        def work(task, context):
            print("started", flush=True)
            assert context.context[CANCEL_EVENT_KEY].wait(60)
            print("asked", flush=True)
            import sys
            sys.stdin.readline()

        workflow = Workflow()
        for name in ("first", "second"):
            workflow.add_task(Task("c", "d", "f", name, "t", "", [], CallableExecutor(work)))
        """)
    )
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, "-m", "pypepper.scheduler.run", "slow:workflow"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "asked\n"
        if polite:
            process.stdin.write("\n")
            process.stdin.flush()
            rest = process.stdout.read()
            assert process.wait(30) == 143
            assert rest.splitlines()[0].startswith("[1/2] first: ok")
            assert rest.splitlines()[1:] == ["stopped by SIGTERM"]
        else:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == -signal.SIGTERM


def test_a_call_that_hangs_for_ever_does_not_keep_the_program(tmp_path: Path) -> None:
    """H13, done better: an orphan of a bounded join, and a worker's blocked executor, die with the program."""
    program = """
        import asyncio, threading
        from pypepper.scheduler import CallableExecutor, Job, Task, Worker, Workflow, manager

        hanging = threading.Semaphore(0)

        def hang(task, context):
            print("hangs", flush=True)
            hanging.release()
            threading.Event().wait()

        def job(**limits):
            made = Job("t", "c")
            flow = Workflow()
            flow.add_task(Task("c", "d", "f", "n", "t", "", [], CallableExecutor(hang), **limits))
            made.workflows.append(flow)
            made.scheduled()
            return made

        timed, untimed = job(round_timeout=0.05, round_timeout_join=0.05), job()

        async def main():
            worker = Worker(manager.available("c"))
            try:
                await worker.run_once()
            except TimeoutError:
                pass
            await asyncio.to_thread(hanging.acquire)
            second = asyncio.create_task(worker.run_once())
            await asyncio.to_thread(hanging.acquire)
            try:
                await asyncio.wait_for(second, 0.1)
            except TimeoutError:
                print("left", flush=True)

        asyncio.run(main())
        print(timed.status, untimed.status)
    """
    done = run("-c", textwrap.dedent(program), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["hangs", "hangs", "left", "Failed InProgress"]
