"""A configuration's jobs as a schedule: what `pysched tick` and `pysched work` run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from pyscheduler.cluster.honoured import check_jobs
from pyscheduler.cluster.orders import works_of_config
from pyscheduler.cluster.schedule import Schedule
from pyscheduler.cluster.scheduler import Scheduler
from pyscheduler.config import Config
from pyscheduler.engine import machine


def scheduler_of(config: Config, environ: Mapping[str, str]) -> Scheduler:
    """Return the scheduler of a configuration's jobs. Raises ConfigError where one says what is not honoured."""
    check_jobs(config)
    settings = config.settings
    works = works_of_config(config, environ=environ, boot_id=machine.boot_id())
    cluster, times = settings.cluster, asdict(settings.cluster.timing)
    schedule = Schedule(name=settings.name).reclaim_after(times.pop("reclaim_after_s"))
    schedule.retention_s = settings.retention_s
    return Scheduler(
        schedule,
        settings.store or settings.state_dir,
        state_dir=settings.state_dir,
        timing={name.removesuffix("_s"): value for name, value in times.items()},
        node=cluster.node,
        tags=cluster.tags,
        environ=environ,
        works=works,
    )
