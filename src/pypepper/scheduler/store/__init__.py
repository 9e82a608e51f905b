"""Where jobs are remembered. Spec: pipeline.md 12 to 14.

`job_store` is an attribute of this module that follows the store in use; a name imported from here goes stale, so ask
`get_job_store()`. The SQL and MongoDB stores, and their drivers, load only when such a backend is configured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypepper.scheduler.store.choosing import (
    Backend,
    configure_job_store,
    get_job_store,
    guarded_job_store,
    reset_job_store,
    reset_job_store_mismatch_warning,
    set_job_store,
    setup_from_config,
)
from pypepper.scheduler.store.interfaces import IJobStore, JobRecord
from pypepper.scheduler.store.memory import InMemoryJobStore

if TYPE_CHECKING:
    job_store: IJobStore

__all__ = [
    "Backend",
    "IJobStore",
    "InMemoryJobStore",
    "JobRecord",
    "configure_job_store",
    "get_job_store",
    "guarded_job_store",
    "job_store",
    "reset_job_store",
    "reset_job_store_mismatch_warning",
    "set_job_store",
    "setup_from_config",
]


def __getattr__(name: str) -> IJobStore:
    if name == "job_store":
        return get_job_store()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
