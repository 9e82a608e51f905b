"""Choosing the store, the deferred guard and its one warning. Spec: pipeline.md 14."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pypepper.scheduler.store as store_module
from pypepper.common.config import Config, config
from pypepper.scheduler.store import (
    IJobStore,
    InMemoryJobStore,
    JobRecord,
    choosing,
    configure_job_store,
    get_job_store,
    guarded_job_store,
    reset_job_store,
    reset_job_store_mismatch_warning,
    set_job_store,
    setup_from_config,
)
from pypepper.scheduler.store.sql import SqlJobStore

ROOT = Path(__file__).resolve().parents[4]
RECORD = JobRecord("a", None, "c", "Scheduled", "born", "born")


class Yaml:
    """Loads settings from texts, one file of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "app.config.yaml"

    def load(self, text: str) -> None:
        self.file.write_text(text)
        config.load_config(self.file)

    def backend(self, name: str) -> None:
        self.load(f"scheduler: {{jobStore: {{backend: '{name}'}}}}")


@pytest.fixture
def yaml(tmp_path: Path) -> Iterator[Yaml]:
    """Give a settings file; leave the process as it was."""
    reset_job_store()
    made = Yaml(tmp_path)
    yield made
    made.load("{serviceInfo: {serviceName: nobody}}")
    reset_job_store()


class Lasting(IJobStore):
    """A store of a program's own that is no memory store."""

    def put(self, record: JobRecord) -> bool:
        return bool(record)

    def get(self, job_id: str) -> JobRecord | None:
        return None

    def list(self, channel_id: str | None = None) -> list[JobRecord]:
        return []

    def delete(self, job_id: str) -> None:
        """Nothing is kept."""

    def clear(self) -> None:
        """Nothing is kept."""


class Counting(InMemoryJobStore):
    """A subclass of the memory store counts as one."""


def refused() -> bool:
    """Tell whether a job may not be saved now; the error names the backend and the way out."""
    try:
        guarded_job_store()
    except ValueError as error:
        said = str(error)
    else:
        return False
    assert "setup_from_config" in said
    assert repr(config.durable_job_store_backend()) in said
    return True


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was warned of."""
    return [line.message for line in caplog.records if line.levelno == logging.WARNING]


def test_get_job_store(yaml: Yaml) -> None:
    """pipeline.md 14.1: the current store; by default a fresh memory store; not guarded."""
    assert type(get_job_store()) is InMemoryJobStore
    assert get_job_store().list() == []
    yaml.backend("postgres")
    assert refused()
    assert get_job_store().put(RECORD)


def test_set_job_store(yaml: Yaml) -> None:
    """pipeline.md 14.1: installs; disarms the guard; 14.2: whatever it is."""
    for store in (Lasting(), Counting(), InMemoryJobStore()):
        yaml.backend("postgres")
        set_job_store(store)
        assert get_job_store() is guarded_job_store() is store
        reset_job_store()


def test_configure_job_store_memory(yaml: Yaml) -> None:
    """pipeline.md 14.1: `memory` is the default, always makes a new empty one, and needs no settings."""
    first = configure_job_store()
    first.put(RECORD)
    second = configure_job_store("memory", uri="ignored")
    assert second is get_job_store()
    assert second is not first
    assert second.list() == []


@pytest.mark.parametrize("name", ["oracle", "Postgres", " memory ", "", "SQLITE"])
def test_configure_job_store_of_an_unknown_name(yaml: Yaml, name: str) -> None:
    """pipeline.md 14.1: ValueError `unsupported job store backend`; the old store stays."""
    store = configure_job_store()
    with pytest.raises(ValueError, match="unsupported job store backend") as caught:
        configure_job_store(name)
    meant = name.strip().lower()
    hint = f"write {meant}" if meant in {"postgres", "memory", "sqlite"} else "write one of memory, sqlite, postgres"
    assert hint in str(caught.value)
    assert get_job_store() is store


@pytest.mark.parametrize("backend", ["postgres", "mysql", "mongodb"])
def test_a_store_that_cannot_be_built_leaves_the_old_one(yaml: Yaml, backend: str) -> None:
    """pipeline.md 14.1 and 13: ValueError that says what it requires; the guard stays armed."""
    yaml.backend(backend)
    store = get_job_store()
    with pytest.raises(ValueError, match=f"{backend} job store requires"):
        configure_job_store(backend, host="h")
    assert get_job_store() is store
    assert refused()


def test_configure_sqlite(yaml: Yaml, tmp_path: Path) -> None:
    """An embedded durable store for people without a server: another object of the same file has the rows."""
    store = configure_job_store("sqlite", db=str(tmp_path / "jobs.db"))
    assert store.put(RECORD)
    store.close()
    assert configure_job_store("sqlite", uri=f"sqlite:///{tmp_path / 'jobs.db'}").get("a") == RECORD
    get_job_store().close()


def test_reset_job_store(yaml: Yaml, caplog: pytest.LogCaptureFixture) -> None:
    """pipeline.md 14.1: fresh memory store; re-arms the guard from the YAML loaded now; itself never warns."""
    yaml.backend("postgres")
    set_job_store(Lasting())
    caplog.clear()
    reset_job_store()
    assert type(get_job_store()) is InMemoryJobStore
    assert warnings(caplog) == []
    assert refused()


@pytest.mark.parametrize(
    "yml",
    [
        None,
        SimpleNamespace(),
        SimpleNamespace(scheduler=None),
        SimpleNamespace(scheduler=SimpleNamespace()),
        SimpleNamespace(scheduler=SimpleNamespace(jobStore=None)),
    ],
)
def test_setup_from_config_without_a_section(yaml: Yaml, yml: Any) -> None:
    """pipeline.md 14.1: None, no section, or null section: no-op, and the guard stays."""
    yaml.backend("postgres")
    store = get_job_store()
    setup_from_config(yml)
    assert get_job_store() is store
    assert refused()


@pytest.mark.parametrize("backend", [None, "", "memory"])
def test_setup_from_config_of_memory_keeps_a_memory_store(yaml: Yaml, backend: str | None) -> None:
    """pipeline.md 14.1: missing or empty means memory; one in use keeps its rows; the guard is disarmed."""
    yaml.backend("postgres")
    store = get_job_store()
    store.put(RECORD)
    setup_from_config(SimpleNamespace(scheduler=SimpleNamespace(jobStore=SimpleNamespace(backend=backend))))
    assert guarded_job_store() is store
    assert store.get("a") == RECORD


def test_setup_from_config_of_memory_replaces_another(yaml: Yaml) -> None:
    """pipeline.md 14.1: memory where something else is in use makes a memory store."""
    set_job_store(Lasting())
    setup_from_config(SimpleNamespace(scheduler=SimpleNamespace(jobStore=SimpleNamespace())))
    assert type(get_job_store()) is InMemoryJobStore


@pytest.mark.parametrize("name", ["Postgres", " memory ", "MEMORY"])
def test_setup_from_config_takes_names_as_they_are(yaml: Yaml, name: str) -> None:
    """pipeline.md 14.1: the name must match exactly; H16: the error says how it is written."""
    yaml.backend(name)
    with pytest.raises(ValueError, match=f"unsupported job store backend .*: write {name.strip().lower()}"):
        setup_from_config(config.get_yml_config())


def test_setup_from_config_reads_the_object_given(yaml: Yaml, tmp_path: Path) -> None:
    """pipeline.md 14.1: not the global one; what is set is passed on, what is null is not."""
    yaml.backend("postgres")
    section = SimpleNamespace(backend="sqlite", db=str(tmp_path / "x.db"), uri=None, port=None, other="ignored")
    setup_from_config(SimpleNamespace(scheduler=SimpleNamespace(jobStore=section)))
    assert isinstance(get_job_store(), SqlJobStore)
    assert guarded_job_store().put(RECORD)
    get_job_store().close()


def test_setup_from_config_passes_all_its_keys_on(yaml: Yaml, monkeypatch: pytest.MonkeyPatch) -> None:
    """pipeline.md 14.1: all ten keys, and `user`, reach the backend where they are set; others do not."""
    said: dict[str, Any] = {}

    def build(**settings: Any) -> IJobStore:
        said.update(settings)
        return Lasting()

    monkeypatch.setitem(choosing._BUILDERS, "mysql", lambda _backend: build)
    keys = ["uri", "host", "port", "username", "user", "password", "db", "sslmode", "charset", "auth_source"]
    yaml.load(f"scheduler: {{jobStore: {{backend: mysql, colour: red, {', '.join(f'{key}: {key}' for key in keys)}}}}}")
    setup_from_config(config.get_yml_config())
    assert said == {key: key for key in keys}


def test_job_store_follows(yaml: Yaml) -> None:
    """pipeline.md 14.1: a module attribute that follows the current store; other names are not there."""
    store = configure_job_store()
    assert store_module.job_store is store
    set_job_store(other := Lasting())
    assert store_module.job_store is other
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = store_module.no_such_name


def test_the_public_names() -> None:
    """pipeline.md 1.2: what `from pypepper.scheduler.store import *` brings; and what a job asks, which is guarded."""
    brought: dict[str, Any] = {}
    exec("from pypepper.scheduler.store import *", brought)
    assert set(brought) - {"__builtins__"} == {
        "Backend", "IJobStore", "InMemoryJobStore", "JobRecord", "configure_job_store", "get_job_store",
        "guarded_job_store", "job_store", "reset_job_store", "reset_job_store_mismatch_warning", "set_job_store",
        "setup_from_config",
    }  # fmt: skip
    assert brought["job_store"] is get_job_store()
    of_sql: dict[str, Any] = {}
    exec("from pypepper.scheduler.store.sql import *", of_sql)
    assert set(of_sql) - {"__builtins__"} == {"SqlJobStore", "TABLE_NAME", "scheduler_jobs"}


def test_guard_at_the_start_of_the_process() -> None:
    """pipeline.md 14.2 row 1: none; and no driver is loaded before its backend is configured."""
    program = (
        "import sys; from pypepper.scheduler.store import guarded_job_store; guarded_job_store(); "
        "drivers = {'sqlalchemy', 'mongoengine', 'pymongo', 'psycopg', 'pymysql', 'opentelemetry'}; "
        "print(sorted(drivers & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", ["postgres", " Postgres ", "typo", "sqlite"])
def test_guard_after_loading_a_durable_backend(yaml: Yaml, name: str) -> None:
    """pipeline.md 14.2 row 2: the raw text; also after an earlier explicit choice, and on every load again."""
    configure_job_store("memory")
    yaml.backend(name)
    assert config.durable_job_store_backend() == name
    assert refused()
    assert refused()
    configure_job_store("memory")
    assert not refused()
    yaml.backend(name)
    assert refused()


@pytest.mark.parametrize(
    "text",
    [
        "{a: 1}",
        "scheduler: null",
        "scheduler: {jobStore: null}",
        "scheduler: {jobStore: {uri: x}}",
        "scheduler: {jobStore: {backend: null}}",
        "scheduler: {jobStore: {backend: ''}}",
        "scheduler: {jobStore: {backend: ' Memory '}}",
    ],
)
def test_guard_after_loading_memory_or_nothing(yaml: Yaml, text: str) -> None:
    """pipeline.md 14.2 row 2: trimmed and lower-cased empty, `memory` or absent: none."""
    yaml.backend("postgres")
    yaml.load(text)
    assert not refused()


def test_guard_with_a_store_that_is_no_memory_store(yaml: Yaml) -> None:
    """pipeline.md 14.2 rows 5 and 6: another store in use disarms it; a subclass of memory is memory."""
    set_job_store(Lasting())
    yaml.backend("postgres")
    assert isinstance(guarded_job_store(), Lasting)
    set_job_store(Counting())
    assert not refused()
    yaml.backend("postgres")
    assert refused()


def test_config_methods_of_the_guard(yaml: Yaml) -> None:
    """pipeline.md 14.4: mark, refresh and ensure, on any Config."""
    yaml.backend("mysql")
    mine = Config()
    mine.ensure_scheduler_job_store_applied()
    mine.load_config(yaml.file)
    with pytest.raises(ValueError, match=r"'mysql'.*setup_from_config"):
        mine.ensure_scheduler_job_store_applied()
    mine.mark_scheduler_job_store_applied()
    mine.ensure_scheduler_job_store_applied()
    mine.refresh_scheduler_job_store_deferred()
    mine.ensure_scheduler_job_store_applied(using_default_memory_store=False)
    mine.ensure_scheduler_job_store_applied(using_default_memory_store=True)


def test_the_one_warning(yaml: Yaml, caplog: pytest.LogCaptureFixture) -> None:
    """pipeline.md 14.3 and its example: one warning, silence, a reset, one more."""
    yaml.backend("postgres")
    assert refused()
    configure_job_store("memory")
    assert len(warnings(caplog)) == 1
    assert "postgres" in warnings(caplog)[0]
    assert "in-memory" in warnings(caplog)[0]
    assert not refused()
    configure_job_store("memory")
    set_job_store(Counting())
    assert len(warnings(caplog)) == 1
    reset_job_store()
    assert refused()
    configure_job_store("memory")
    assert len(warnings(caplog)) == 2
    yaml.backend("postgres")
    assert refused()
    reset_job_store_mismatch_warning()
    set_job_store(InMemoryJobStore())
    assert len(warnings(caplog)) == 3


def test_the_first_mismatch_of_a_process_is_said(tmp_path: Path) -> None:
    """pipeline.md 14.3: a process starts with its one warning unsaid."""
    file = tmp_path / "app.config.yaml"
    file.write_text("scheduler: {jobStore: {backend: postgres}}")
    program = (
        "import sys; from pypepper.common.config import config; "
        "from pypepper.scheduler.store import configure_job_store; "
        "config.load_config(sys.argv[1]); configure_job_store('memory'); configure_job_store('memory')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(file)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert done.stderr.count("in-memory") == 1


def test_no_warning_where_nothing_is_at_odds(yaml: Yaml, caplog: pytest.LogCaptureFixture) -> None:
    """pipeline.md 14.3: only a memory store, and only while the YAML names a durable one."""
    configure_job_store("memory")
    yaml.backend("memory")
    configure_job_store("memory")
    yaml.backend("postgres")
    set_job_store(Lasting())
    assert warnings(caplog) == []


def test_the_settings_that_ship(yaml: Yaml, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed 001: `config.load_config("./conf/app.config.yaml")` and `setup_from_config` run from the root."""
    monkeypatch.chdir(ROOT)
    config.load_config("./conf/app.config.yaml")
    setup_from_config(config.get_yml_config())
    assert guarded_job_store().put(RECORD)
