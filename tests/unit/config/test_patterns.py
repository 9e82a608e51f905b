"""What an include pattern names, and what it costs at most. Spec: jobs.md 1.1."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest

from pyscheduler.config import patterns
from pyscheduler.config.patterns import matches
from pyscheduler.config.values import BadValue

FILES = ("a.yaml", "b.yml", ".hidden.yaml", "d/c.yaml", "d/e/f.yaml", "d/.g/h.yaml", "x[1].yaml", "d.yaml/i.yaml")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("d")
    (tmp_path / "broken.yaml").symlink_to("nowhere")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "pattern",
    [
        "*", "*.yaml", "**", "**/*.yaml", "d/**", "d/**/*.yaml", "*/*.yaml", "**/e/*", "**/**/f.yaml", ".*", "d/.*/*",
        "?.yaml", "[ab].*", "x[[]1].yaml", "d/*/f.yaml", "**/f.yaml", "no/*", "a.yaml/*", "**.yaml", "[!a]*", "*/e/**",
        "../*/a.yaml",
    ],
)  # fmt: skip
@pytest.mark.parametrize("absolute", [False, True])
def test_a_pattern_names_what_glob_says(folder: Path, pattern: str, absolute: bool) -> None:
    """Hidden names only where asked for, links followed, what is no file left out."""
    pattern = os.path.normpath(folder / pattern) if absolute else pattern
    assert matches(pattern) == sorted({path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)})


def test_the_entries_looked_at_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they match or not."""
    monkeypatch.setattr(patterns, "MAX_LOOKED", 5)
    with pytest.raises(BadValue, match="has more than 5 files to look at; begin the pattern"):
        matches("**/nothing")


def test_the_time_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MAX_S", -1.0)
    with pytest.raises(BadValue, match="takes longer than"):
        matches("**/nothing")


@pytest.mark.parametrize("pattern", ["/proc/**", "/proc/*/cmdline", "/sys/**/x", "/dev/*", "/*/*/x.yaml", "way/**"])
def test_the_kernels_trees_are_never_listed(folder: Path, pattern: str) -> None:
    """Not through a link either."""
    (folder / "way").symlink_to("/proc")
    with pytest.raises(BadValue, match=r"leads into /(proc|sys|dev)\b.*, which is the kernel's"):
        matches(pattern)
