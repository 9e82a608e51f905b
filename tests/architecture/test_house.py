"""The house's own rules: where SQL may stand, how long a module may be, which names programs rely on."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
SQL = re.compile(r"\b(SELECT .+ FROM|INSERT INTO|UPDATE .+ SET|DELETE FROM|PRAGMA |CREATE TABLE)\b")

FIXED_NAMES = {
    "pynet.loop": ["run", "sleep", "spawn", "run_in_thread", "get_running_loop"],
    "pyscheduler.config": ["load_config", "ConfigError"],
    "pyscheduler.store": ["Store", "StoreWriter", "Batch"],
    "pyscheduler.engine.core": ["Engine"],
    "pyscheduler.engine.clock": ["SystemClock", "FakeClock"],
    "pyscheduler.engine.launcher": ["MinderLauncher", "LaunchSpec", "AttemptResult"],
    "pyscheduler.testing": ["FakeLauncher", "FakeResult"],
}


@pytest.mark.parametrize("module", FIXED_NAMES)
def test_the_names_that_programs_rely_on_are_there(module: str) -> None:
    """The paths of the product's documents stay."""
    found = importlib.import_module(module)
    assert [name for name in FIXED_NAMES[module] if not hasattr(found, name)] == []


def _strings(path: Path) -> list[str]:
    """Return the string literals of a module that are no docstrings."""
    tree = ast.parse(path.read_text())
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, holders)}
    literals = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [text for text in literals if isinstance(text, str) and text not in docs]


def test_sql_stands_in_the_store_only() -> None:
    """Nobody else knows a table."""
    outside = [path for path in MODULES if "store" not in path.relative_to(SOURCE).parts]
    guilty = [str(path) for path in outside for text in _strings(path) if SQL.search(text)]
    assert guilty == []


def test_every_module_begins_with_its_reason() -> None:
    """A stranger reads the first lines and knows what lives here."""
    dumb = [str(path) for path in MODULES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert dumb == []


def test_no_module_is_a_house_of_its_own() -> None:
    """Beyond 450 lines there is a second room inside."""
    long = {str(path): count for path in MODULES if (count := len(path.read_text().splitlines())) > 450}
    assert long == {}


def test_the_minder_imports_nothing_but_the_standard_library() -> None:
    """It outlives upgrades of everything else: no package may be needed under a running job."""
    import sys

    folder = SOURCE / "pyscheduler" / "minder"
    own = {path.stem for path in folder.glob("*.py")}
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            tops = {name.removeprefix("pyscheduler.minder").lstrip(".").split(".")[0] for name in names} - {""}
            assert tops <= own | set(sys.stdlib_module_names), f"{path}: {tops}"
