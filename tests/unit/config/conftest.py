"""A folder with a configuration in it, and the complaints about it as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from textwrap import dedent

import pytest

from pyscheduler.config import Config, build_config, load_config

TODAY = date(2027, 5, 3)
"""A Monday: the day from which all horizons of these tests are counted."""

Build = Callable[..., list[str]]
Load = Callable[..., Config]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write files beside a main file `c.yaml` and stand in that folder, so that complaints name short paths."""
    monkeypatch.chdir(tmp_path)

    def put(main: str | bytes, files: Mapping[str, str] | None = None) -> Path:
        for name, text in (files or {}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text))
        if isinstance(main, bytes):
            Path("c.yaml").write_bytes(main)
        else:
            Path("c.yaml").write_text(dedent(main))
        return Path("c.yaml")

    return put


@pytest.fixture
def problems(write: Callable[..., Path]) -> Build:
    """Return every complaint about a text as people see it, each after `error ` or `warning `."""

    def build(
        main: str | bytes,
        files: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        *,
        allow_inactive: bool = False,
    ) -> list[str]:
        path = write(main, files)
        _, found = build_config(path, env=env or {}, today=TODAY, allow_inactive=allow_inactive)
        return [f"{problem.severity} {problem}" for problem in found]

    return build


@pytest.fixture
def load(write: Callable[..., Path]) -> Load:
    """Load a text that has no faults."""

    def loaded(
        main: str | bytes,
        files: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        *,
        allow_inactive: bool = False,
    ) -> Config:
        return load_config(write(main, files), env=env or {}, today=TODAY, allow_inactive=allow_inactive)

    return loaded
