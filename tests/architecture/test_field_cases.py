"""The page of field cases is held to itself and to the tests: nobody can take a test away, or a case, unseen."""

from __future__ import annotations

import ast
import fnmatch
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
PAGE = (ROOT / "docs" / "field-cases.md").read_text()
ROWS = re.findall(r"^\| (.+?) \| (?:(.+?) \| )?(.+) \|$", PAGE, re.MULTILINE)
CASES = {name: (what, proof) for name, what, proof in ROWS if name.startswith("FC-")}
FAULTS = {name: proof for name, _, proof in ROWS if not name.startswith("FC-") and name not in ("case", "fault", "---")}
NAMED = re.compile(r"`([\w/]+\.py)::([\w*]+)`")


@functools.cache
def bearing(path: Path) -> frozenset[str]:
    """Return the names of a module's tests."""
    nodes = ast.walk(ast.parse(path.read_text()))
    functions = (node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(name for name in functions if name.startswith("test_"))


def named(proof: str) -> set[tuple[str, str]]:
    """Return every test that a row names, by file and name. A name that nothing matches is an error."""
    found = set()
    for file, pattern in NAMED.findall(proof):
        path = TESTS / file
        matching = fnmatch.filter(bearing(path), pattern) if path.exists() else []
        assert matching, f"no test is named {file}::{pattern}"
        found |= {(file, name) for name in matching}
    return found


def test_every_case_has_its_row() -> None:
    """Forty-nine, with even numbers from 2 to 98, each described in five words or so."""
    assert sorted(CASES) == [f"FC-{number:03}" for number in range(2, 99, 2)]
    assert [name for name, (what, _) in CASES.items() if not 3 <= len(what.split()) <= 7] == []


@pytest.mark.parametrize("case", sorted(CASES))
def test_a_case_names_tests_that_exist_or_says_what_is_missing(case: str) -> None:
    """A row without a test names the issue that brings one."""
    proof = CASES[case][1]
    assert named(proof) or re.search(r"\bissue [345]\b", proof)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_tests_that_exist(fault: str) -> None:
    """Each of the issue's faults is done to a whole service or engine somewhere."""
    assert named(FAULTS[fault])


def test_the_page_of_faults_is_whole() -> None:
    """The table was read, and nothing of it was taken for something else."""
    assert len(FAULTS) >= 20


def test_every_test_that_bears_a_cases_number_is_in_that_cases_row() -> None:
    """`test_fc_034_…` belongs to FC-034, and can be found from there."""
    missing = []
    for path in TESTS.rglob("test_*.py"):
        for name in bearing(path):
            if (number := re.match(r"test_fc_(\d{3})", name)) is not None:
                file = path.relative_to(TESTS).as_posix()
                if (file, name) not in named(CASES[f"FC-{number[1]}"][1]):
                    missing.append(f"{file}::{name}")
    assert missing == []
