"""A configuration that another machine put into the store, as it counts here. DESIGN 6."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyscheduler.config import Config, load_config
from pyscheduler.config.stored import has_texts_of, load_stored
from pyscheduler.model.config_record import ConfigRecord
from tests.builders import NOON

MAIN = """
include: [jobs/*.yaml]
scheduler:
  store: postgresql+psycopg://u@h/d
  state_dir: "${WHERE}/state"
  max_running: %d
  cluster: {node: "${NAME}"}
"""
JOB = "jobs:\n  load: {command: 'echo ${WORD}', schedule: manual}\n"


def written(folder: Path, most: int) -> Path:
    (folder / "jobs").mkdir(parents=True)
    (folder / "jobs" / "load.yaml").write_text(JOB)
    main = folder / "pysched.yaml"
    main.write_text(MAIN % most)
    return main


def loaded(main: Path, name: str) -> tuple[Config, dict[str, str]]:
    env = {"WHERE": str(main.parent), "NAME": name, "WORD": f"word of {name}"}
    return load_config(main, env=env), env


async def test_texts_are_the_stores_and_the_machine_is_our_own(tmp_path: Path) -> None:
    """Jobs and limits come from the text; folders, variables and the node's name do not travel."""
    there, _ = loaded(written(tmp_path / "there", 7), "a")
    here, env = loaded(written(tmp_path / "here", 3), "b")
    record = ConfigRecord(version=4, loaded_at=NOON, digest=there.digest, sources=there.sources)
    found = await load_stored(record, here, env=env)
    assert (found.settings.max_running, found.settings.state_dir) == (7, here.settings.state_dir)
    assert (found.settings.cluster.node, found.variables["WORD"]) == ("b", "word of b")
    assert (found.path, found.digest, found.sources) == (here.path, there.digest, there.sources)
    assert found.jobs["load"].source.file == str(tmp_path / "there" / "jobs" / "load.yaml")


async def test_the_text_in_force_here_is_not_read_twice(tmp_path: Path) -> None:
    """The same digest is the same configuration."""
    here, env = loaded(written(tmp_path / "here", 3), "b")
    record = ConfigRecord(version=4, loaded_at=NOON, digest=here.digest, sources=())
    assert await load_stored(replace(record), here, env=env) is here


async def test_the_same_files_in_another_folder_are_the_same_configuration(tmp_path: Path) -> None:
    """A failover between machines that hold copies of one file makes no new version: what is in force stays."""
    there, _ = loaded(written(tmp_path / "there", 7), "a")
    here, env = loaded(written(tmp_path / "here", 7), "b")
    record = ConfigRecord(version=4, loaded_at=NOON, digest=there.digest, sources=there.sources)
    assert has_texts_of(record, here)
    found = await load_stored(record, here, env=env)
    assert (found.digest, found.sources, found.jobs) == (there.digest, there.sources, here.jobs)
    other, _ = loaded(written(tmp_path / "other", 8), "b")
    assert not has_texts_of(record, other)
