"""Every program in the manual runs, and prints what the manual says.

In docs/ a fenced `python` block is a whole program; where the next fenced block follows the word "prints", it is the
program's output, to the letter.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
PATIENCE_S = 100.0
"""Two hundred jobs at once take a while on a busy machine; a program that needs all of it has failed."""
PROGRAM = re.compile(r"^```python\n(.*?)^```\n(?:\s*prints:?\s*\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


def programs() -> list[tuple[str, str, str]]:
    """Return (where, program, output) of each program in the manual."""
    found = []
    for page in PAGES:
        if not page.exists():
            continue
        text = page.read_text()
        for match in PROGRAM.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append((f"{page.relative_to(ROOT)}:{line}", match[1], match[2]))
    return found


@pytest.mark.parametrize(("where", "program", "output"), programs(), ids=[where for where, _, _ in programs()])
def test_a_program_of_the_manual_runs_and_prints_what_it_says(
    where: str, program: str, output: str | None, tmp_path: Path
) -> None:
    """Copied out of the page into an empty folder, by a stranger."""
    assert output is not None, f"{where}: a program without the output it prints"
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == output


def test_each_concept_has_its_program() -> None:
    """The pages that the issue names stand, each with a program."""
    pages = {where.split(":")[0].removeprefix("docs/concepts/") for where, _, _ in programs()}
    wanted = ["recovery", "engine", "group-commit", "concurrency", "dependencies", "pools-and-limits"]
    assert {f"{name}.md" for name in [*wanted, "retries-and-backoff", "minder"]} <= pages
