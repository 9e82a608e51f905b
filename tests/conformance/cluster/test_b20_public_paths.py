"""B20: every defect class has its test through what people use (claims.md B20). On SQLite too: only files are read."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NUMBERS = range(1, 29)


def module(number: int) -> ast.Module:
    (path,) = HERE.glob(f"test_b{number:02d}_*.py")
    return ast.parse(path.read_text())


@pytest.mark.parametrize("number", NUMBERS)
def test_each_class_has_its_file_and_says_where_it_runs(number: int) -> None:
    """B1 to B28: the file's first words name the class, and SQLite is spoken of."""
    said = ast.get_docstring(module(number)) or ""
    assert said.startswith(f"B{number}: ")
    assert "SQLite" in said


@pytest.mark.parametrize("number", NUMBERS)
def test_each_drives_the_scheduler_and_no_part_of_it(number: int) -> None:
    """`Scheduler`, the commands or the documents; nothing of the machinery behind them is called."""
    allowed = {"identity", "journal"}  # a variable's name, and the place of B10's hook
    for node in ast.walk(module(number)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyscheduler.cluster."):
            assert (node.module or "").rpartition(".")[2] in allowed, node.module
