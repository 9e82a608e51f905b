"""The names and signatures that programs of the pipeline rely on: pipeline.md 1, row by row."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pypepper.scheduler import job, task, worker

ROOT = Path(__file__).resolve().parents[2]

REEXPORTED = [
    *("CallableExecutor", "Channel", "ChannelEnqueueError", "ChannelFullError", "ChannelStoppedError"),
    *(
        "IJobStore",
        "Job",
        "JobRecord",
        "JobRedeliveryError",
        "JobRequeuedError",
        "Status",
        "Task",
        "Worker",
        "Workflow",
    ),
    *("configure_job_store", "events", "executor_registry", "get_job_store", "manager", "reset_job_store"),
    "setup_from_config",
]
ELSEWHERE = ["set_job_store", "Tag", "Executor", "IExecutor", "Processor", "dispatcher", "CANCEL_EVENT_KEY"]
NAMES = {
    "scheduler.task": "Task ITask DEFAULT_RETRY_UNTIL_MAX",
    "scheduler.tag": "Tag ITag",
    "scheduler.workflow": "Workflow IWorkflow log",
    "scheduler.job": "Job IJob Processor Dispatcher dispatcher CANCEL_EVENT_KEY ChannelEnqueueError ChannelFullError "
    "ChannelStoppedError JobRedeliveryError JobRequeuedError",
    "scheduler.channel": "Channel ChannelManager manager new SendResult SEND_OK SEND_FULL SEND_STOPPED",
    "scheduler.worker": "Worker",
    "scheduler.executor": "IExecutor Executor CallableExecutor ExecutorFactory ExecutorRegistry executor_registry",
    "scheduler.events": "INIT SCHEDULE RUN COMPLETE FAIL CANCEL build_scheduler_fsm FSM",
    "scheduler.status": "Status",
    "scheduler.base": "IBase",
    "scheduler.store": "Backend IJobStore InMemoryJobStore JobRecord configure_job_store get_job_store set_job_store "
    "reset_job_store setup_from_config job_store reset_job_store_mismatch_warning",
    "scheduler.store.interfaces": "JobRecord IJobStore",
    "scheduler.store.memory": "InMemoryJobStore",
    "scheduler.store.lifecycle": "existing_statuses_put_may_replace put_applies put_may_write",
    "scheduler.store.sql": "SqlJobStore TABLE_NAME scheduler_jobs",
    "scheduler.store.mongodb": "MongoJobStore SchedulerJobDoc",
    "common.config": "config Config YmlConfig ConfScheduler ConfSchedulerJobStore",
    "common.context": "Context new born",
    "common.log": "log",
    "common.tracing": "get_tracer setup_from_config setup_for_tests shutdown",
    "helper.db.uri": "build_postgres_uri build_mysql_uri",
    "exceptions": "InternalException",
    "errors": "ERROR_INVALID_EVENT",
    "event.event": "new",
    "fsm.fsm": "FSM Options State Transition new",
}


def module(name: str) -> ModuleType:
    return importlib.import_module(f"pypepper.{name}")


def test_the_package_gives_what_the_manual_lists_and_no_more() -> None:
    """pipeline.md 1.1."""
    package = module("scheduler")
    assert sorted(package.__all__) == sorted(REEXPORTED)
    assert [name for name in REEXPORTED if not hasattr(package, name)] == []
    assert [name for name in ELSEWHERE if name in package.__all__] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_modules_names_are_there(name: str) -> None:
    """pipeline.md 1.2, each row."""
    found = module(name)
    assert [each for each in NAMES[name].split() if not hasattr(found, each)] == []


def test_signatures_take_what_programs_give() -> None:
    """pipeline.md 2, 7 and 9: in this order, by position or by name."""
    given = list(inspect.signature(task.Task.__init__).parameters)[1:19]
    assert given == [
        *("channel_id", "dag_id", "fingerprint", "name", "category", "description", "tags", "executor"),
        *("round_timeout", "round_times", "version", "retry_count", "retry_delay", "retry_until_completed"),
        *("retry_until_max", "optional", "executor_id", "round_timeout_join"),
    ]
    assert list(inspect.signature(job.Job.__init__).parameters)[1:3] == ["category", "channel_id"]
    assert list(inspect.signature(worker.Worker.__init__).parameters)[1:2] == ["channel"]
    error = inspect.signature(job.JobRedeliveryError.__init__).parameters
    assert [error[name].kind for name in ("reason", "job")] == [inspect.Parameter.KEYWORD_ONLY] * 2


def test_drivers_load_only_when_they_are_configured() -> None:
    """pipeline.md 1.2, last paragraph: importing the pipeline imports no database library and no OpenTelemetry."""
    program = (
        "import sys, pypepper.scheduler;"
        "print([n for n in ('sqlalchemy', 'psycopg', 'pymysql', 'mongoengine', 'pymongo', 'opentelemetry', "
        "'prometheus_client') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "src", capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"


def test_guards_hold_without_assertions() -> None:
    """pipeline.md 5, manager: all of it holds under `python -O`."""
    program = (
        "from pypepper.scheduler import manager, Task, Job, executor_registry\n"
        "calls = [lambda: manager.new(''), lambda: manager.put('a', None), lambda: executor_registry.register('', 1),\n"
        "         lambda: Task('c','d','f','n','c','',[],None,retry_count=-1)]\n"
        "for call in calls:\n"
        "    try: call()\n"
        "    except ValueError: print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-O", "-c", program], cwd=ROOT / "src", capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["refused"] * 4
