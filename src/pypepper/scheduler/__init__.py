"""Task → Workflow → Job → Channel → Worker, with snapshots of jobs in a store."""

from __future__ import annotations

from pypepper.scheduler import events
from pypepper.scheduler.channel import Channel, manager
from pypepper.scheduler.executor import CallableExecutor, executor_registry
from pypepper.scheduler.job import (
    ChannelEnqueueError,
    ChannelFullError,
    ChannelStoppedError,
    Job,
    JobRedeliveryError,
    JobRequeuedError,
)
from pypepper.scheduler.status import Status
from pypepper.scheduler.store import (
    IJobStore,
    JobRecord,
    configure_job_store,
    get_job_store,
    reset_job_store,
    setup_from_config,
)
from pypepper.scheduler.task import Task
from pypepper.scheduler.worker import Worker
from pypepper.scheduler.workflow import Workflow

__all__ = [
    "CallableExecutor",
    "Channel",
    "ChannelEnqueueError",
    "ChannelFullError",
    "ChannelStoppedError",
    "IJobStore",
    "Job",
    "JobRecord",
    "JobRedeliveryError",
    "JobRequeuedError",
    "Status",
    "Task",
    "Worker",
    "Workflow",
    "configure_job_store",
    "events",
    "executor_registry",
    "get_job_store",
    "manager",
    "reset_job_store",
    "setup_from_config",
]
