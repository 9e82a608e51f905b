"""Loading in a process of its own. Real processes; every wait ends by a deadline of the code under test."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.config import ConfigError, load_config, load_in_process
from tests.unit.config.conftest import TODAY

Write = Callable[..., Path]
ENV = {"PATH": os.environ["PATH"], "S": "s3cret-value", "E": "", "OTHER": "never asked for"}


async def test_it_returns_what_load_config_returns(write: Write) -> None:
    path = write(
        "include: [b.yaml]\njobs:\n"
        + "".join(f"  j{n:03d}: {{command: 'x ${{S}} ${{E}}', schedule: '@daily'}}\n" for n in range(250)),
        {"b.yaml": "pools: {p: 1}\n"},
    )
    there = await load_in_process(path, env=ENV, today=TODAY)
    here = load_config(path, env=ENV, today=TODAY)
    assert there == here
    assert (there.jobs, there.settings, there.pools, there.sources) == (
        here.jobs,
        here.settings,
        here.pools,
        here.sources,
    )
    assert list(there.jobs) == list(here.jobs)
    assert there.variables == {"S": "s3cret-value", "E": ""}
    assert there.loaded_on == TODAY


async def test_it_raises_what_load_config_raises(write: Write) -> None:
    path = write("jobs: {a: {command: '${NOPE}', schedule: manual}, b: {kommand: x}}\n")
    with pytest.raises(ConfigError) as there:
        await load_in_process(path, env=ENV, today=TODAY)
    with pytest.raises(ConfigError) as here:
        load_config(path, env=ENV, today=TODAY)
    assert there.value.problems == here.value.problems


async def test_a_part_that_is_not_active_may_be_allowed(write: Write) -> None:
    path = write("jobs: {w: {type: file_watcher, watch: /x, schedule: '@daily'}}\n")
    config = await load_in_process(path, env=ENV, today=TODAY, allow_inactive=True)
    assert config.jobs["w"].inactive == "is a watcher, not active yet"


async def test_the_child_is_told_the_values_it_asks_for_and_no_others(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its environment holds where programs and modules lie, and nothing else."""
    asked: list[str] = []

    class Watched(dict[str, str]):
        def get(self, name: str, default: Any = None) -> Any:
            asked.append(name)
            return super().get(name, default)

    real = asyncio.create_subprocess_exec
    seen: dict[str, str] = {}

    async def spawn(*argv: str, **more: Any) -> Any:
        seen.update(more["env"])
        return await real(*argv, **more)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", spawn)
    path = write("jobs: {a: {command: '${S} ${S}', schedule: manual}}\n")
    await load_in_process(path, env=Watched(ENV), today=TODAY)
    assert set(seen) == {"PATH", "PYTHONPATH", "PYTHONUTF8"}
    assert asked.count("S") == 1
    assert "OTHER" not in asked


async def test_a_value_that_is_no_utf8_arrives_byte_for_byte(write: Write) -> None:
    odd = os.fsdecode(b"\xff\xfe-odd")
    path = write("scheduler: {name: '${ODD}'}\n")
    config = await load_in_process(path, env={**ENV, "ODD": odd}, today=TODAY)
    assert config.settings.name == odd


async def test_patience_has_an_end(write: Write) -> None:
    with pytest.raises(ConfigError, match=r"the reading process failed: it was not read within 0\.001 s"):
        await load_in_process(write(""), env=ENV, timeout_s=0.001)


async def test_a_child_that_dies_is_said_and_not_waited_for(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(ConfigError, match="the reading process failed"):
        await load_in_process(write(""), env=ENV)


async def test_an_interpreter_that_is_gone_is_a_problem_too(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/no/such/python")
    with pytest.raises(ConfigError, match="No such file"):
        await load_in_process(write(""), env=ENV)


HEAD = b"\0\0\0\x05H\x80\x02N."
"""A head that holds None: enough to go on to the jobs."""


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (b"\0\0\0\0", "0 bytes at once"),
        (b"\xff\xff\xff\xff", "bytes at once"),
        (b"\0\0\0\2Z!", "!"),
        (b"\0\0\0\1E", "said nothing that makes sense"),
        (HEAD + b"\0\0\0\2Z!", "!"),
        (HEAD + b"\0\0\0\1J", "no configuration"),
        (HEAD, "ended before its time"),
        (b"\0\0\0\3Hxx", "no configuration"),
        (b"\0\0", "ended before its time"),
        (b"\0\0\0\x0cXKeyError in", "KeyError in"),
    ],
)
async def test_a_child_that_talks_nonsense_is_refused(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes, what: str
) -> None:
    script = tmp_path / "child"
    octal = "".join(f"\\{byte:03o}" for byte in said)
    script.write_text(f"#!/bin/sh\nprintf '{octal}'\n")
    script.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(script))
    with pytest.raises(ConfigError, match=what):
        await load_in_process(write(""), env=ENV)


async def test_cancelling_ends_the_child(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is left behind, and the task is really cancelled."""
    script, note = tmp_path / "child", tmp_path / "pid"
    script.write_text(f"#!/bin/sh\necho $$ > {note}.new; mv {note}.new {note}\nexec sleep 60\n")
    script.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(script))
    task = asyncio.create_task(load_in_process(write(""), env=ENV))
    async with asyncio.timeout(30):
        while not note.exists():
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


async def test_our_own_bug_is_named_without_the_values_in_it(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where, never what with: an exception's text might hold a secret."""
    (tmp_path / "sitecustomize.py").write_text(
        "import pyscheduler.config.load as load\n"
        "def broken(path, *, env, **more):\n    raise RuntimeError(env['S'])\n"
        "load.load_config = broken\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError) as refused:
        await load_in_process(write(""), env=ENV)
    assert "RuntimeError in sitecustomize.py, line 3" in str(refused.value)
    assert "s3cret" not in str(refused.value)
