"""What is vendored is what it says it is: nobody changes a file of somebody else's unseen."""

from __future__ import annotations

import hashlib
import json

from tests.serving import ROOT

FOLDER = ROOT / "src/pyscheduler/web/static/vendor"
ROWS = json.loads((FOLDER / "VENDORED.json").read_text())


def test_every_vendored_file_is_listed() -> None:
    """A file that is added brings its package, version, digest and licence."""
    there = {path.name for path in FOLDER.iterdir() if path.is_file()} - {"VENDORED.json"}
    assert {row["file"] for row in ROWS} == there


def test_every_vendored_file_is_as_it_came() -> None:
    """The bytes are those of the package's release, and its licence lies beside them."""
    for row in ROWS:
        assert hashlib.sha256((FOLDER / row["file"]).read_bytes()).hexdigest() == row["sha256"], row["file"]
        assert len((FOLDER / row["licence_file"]).read_text()) > 300
        assert row["version"]
        assert row["licence"]
