"""A prompt for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.prompt import Prompt


@pytest.fixture
def pysched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Prompt:
    return Prompt(tmp_path, capsys)
