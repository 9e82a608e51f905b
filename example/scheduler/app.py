"""One job from its settings to COMPLETE: load the settings, open the store they name, schedule a job, work it off.

Run it from the root of the repository, with this package installed: `python example/scheduler/app.py [settings.yaml]`.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from pypepper.common.config import config
from pypepper.common.context import Context
from pypepper.scheduler import CallableExecutor, Job, Task, Worker, Workflow, manager, setup_from_config

CHANNEL = "example"


def greet(task: Task, _context: Context) -> dict[str, str]:
    """Do the work of the one task; what it returns is kept with the job."""
    return {"greeting": f"hello from {task.name}"}


def build() -> Job:
    """Return a job of one workflow with one task."""
    workflow = Workflow()
    workflow.add_task(
        Task(
            channel_id=CHANNEL,
            dag_id="example-dag",
            fingerprint="example-1",
            name="greet",
            category="example",
            description="say hello",
            tags=[],
            executor=CallableExecutor(greet),
            retry_count=2,
            retry_delay=1,
        )
    )
    job = Job(category="example", channel_id=CHANNEL)
    job.workflows.append(workflow)
    return job


async def work_off() -> None:
    """Take what is queued and see it to its end; stopping closes the intake only."""
    channel = manager.available(CHANNEL)
    channel.request_stop()
    await Worker(channel).run_forever()


def show(job: Job, step: str) -> None:
    """Say what the job thinks, and what its row says."""
    saved = Job.get_saved(job.id)
    sys.stdout.write(f"{step}: {job.status}, saved as {saved.status if saved else 'nothing'}\n")


def main(arguments: list[str]) -> int:
    """Return 0 if the job was completed, here and in the store."""
    config.load_config(arguments[0] if arguments else "./conf/app.config.yaml")
    setup_from_config(config.get_yml_config())

    manager.new(CHANNEL, maxsize=100)  # before the first job, or the channel is unbounded
    job = build()
    job.scheduled()
    show(job, "scheduled")
    asyncio.run(work_off())
    show(job, "worked off")

    saved: Any = Job.get_saved(job.id)
    sys.stdout.write(f"results: {saved.results}\n")
    return 0 if saved.status == "Completed" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
