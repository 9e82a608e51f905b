"""Which store the process uses, and how it came to be chosen. Spec: pipeline.md 14.

One store at a time; a choice that fails leaves the old one. A durable store that a loaded settings file names and that
nobody applied is guarded against in `config`; a memory store installed although the file names a durable one is said
once, until the next reset.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Literal, get_args

from pypepper.common.config import config
from pypepper.common.log import log
from pypepper.scheduler.store.interfaces import IJobStore
from pypepper.scheduler.store.memory import InMemoryJobStore

Backend = Literal["memory", "sqlite", "postgres", "mysql", "mongodb"]

_PASSED_ON: Final = (
    "uri",
    "host",
    "port",
    "username",
    "user",
    "password",
    "db",
    "sslmode",
    "charset",
    "auth_source",
)
"""The keys of `scheduler.jobStore` that a backend is given, where they are set."""


class _Chosen:
    """The present store and whether the mismatch was said; one lock for both."""

    def __init__(self) -> None:
        self.lock: Final = threading.Lock()
        self.store: IJobStore = InMemoryJobStore()
        self.warned = False


_chosen: Final = _Chosen()


def get_job_store() -> IJobStore:
    """Return the store in use; never guarded (H16): `guarded_job_store` is what a job asks."""
    return _chosen.store


def guarded_job_store() -> IJobStore:
    """Return the store in use, or raise ValueError where the settings name a durable one that nobody applied."""
    store = _chosen.store
    config.ensure_scheduler_job_store_applied(using_default_memory_store=isinstance(store, InMemoryJobStore))
    return store


def set_job_store(store: IJobStore) -> None:
    """Use this store from now on. The one before is not closed: somebody may still hold it."""
    with _chosen.lock:
        _chosen.store = store
        config.mark_scheduler_job_store_applied()
        durable = config.durable_job_store_backend()
        first = isinstance(store, InMemoryJobStore) and durable is not None and not _chosen.warned
        _chosen.warned = _chosen.warned or first
    if first:
        log.warn(
            f"the job store is in-memory now although the settings name {durable!r}: jobs will not outlive this process"
        )


def configure_job_store(backend: Backend | str = "memory", **settings: Any) -> IJobStore:
    """Build a store and use it; ValueError for an unknown name, and whatever the backend says of its settings.

    `memory` always makes a new, empty one and needs no settings. A store that cannot be built leaves the old one.
    """
    store = _build(backend, settings)
    set_job_store(store)
    return store


def reset_job_store() -> None:
    """Use a fresh memory store, as at the start of the process: the guard follows the loaded settings again."""
    with _chosen.lock:
        _chosen.store = InMemoryJobStore()
        _chosen.warned = False
        config.refresh_scheduler_job_store_deferred()


def reset_job_store_mismatch_warning() -> None:
    """Let the next mismatch be said again."""
    with _chosen.lock:
        _chosen.warned = False


def setup_from_config(yml_config: Any = None) -> None:
    """Use the store that `scheduler.jobStore` of these settings names; without such a section nothing happens.

    A missing or empty backend means memory, and a memory store already in use keeps its rows.
    """
    section = getattr(getattr(yml_config, "scheduler", None), "jobStore", None)
    if section is None:
        return
    backend = getattr(section, "backend", None) or "memory"
    if backend == "memory" and isinstance(get_job_store(), InMemoryJobStore):
        config.mark_scheduler_job_store_applied()
        return
    given = {key: getattr(section, key, None) for key in _PASSED_ON}
    configure_job_store(backend, **{key: value for key, value in given.items() if value is not None})


def _sql(backend: str) -> Callable[..., IJobStore]:
    from pypepper.scheduler.store.sql import SqlJobStore

    return lambda **settings: SqlJobStore(backend, **settings)


def _mongodb(_backend: str) -> Callable[..., IJobStore]:
    from pypepper.scheduler.store.mongodb import MongoJobStore

    return MongoJobStore


def _memory(_backend: str) -> Callable[..., IJobStore]:
    return lambda **_settings: InMemoryJobStore()


_BUILDERS: Final[dict[str, Callable[[str], Callable[..., IJobStore]]]] = {
    "memory": _memory,
    "sqlite": _sql,
    "postgres": _sql,
    "mysql": _sql,
    "mongodb": _mongodb,
}
"""Each imports its driver only when called."""


def _build(backend: str, settings: dict[str, Any]) -> IJobStore:
    builder = _BUILDERS.get(backend)
    if builder is None:
        meant = str(backend).strip().lower()
        hint = f"write {meant}" if meant in _BUILDERS else f"write one of {', '.join(get_args(Backend))}"
        raise ValueError(f"unsupported job store backend {backend!r}: {hint}")
    return builder(backend)(**settings)
