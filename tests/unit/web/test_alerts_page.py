"""The page of alerts: its filter. Spec: jobs.md 15.1."""

from __future__ import annotations

import re
from importlib.resources import files

from pyscheduler.model.alert import AlertKind
from pyscheduler.web.alerts_page import KINDS


def test_each_kind_can_be_asked_for() -> None:
    """What can be raised can be looked for, the newest kinds too."""
    assert set(KINDS) == set(AlertKind) >= {"stale", "watcher_timeout", "scheduler_failed"}


def test_each_kind_has_a_look_of_its_own() -> None:
    """The script that writes the list knows as many; one it does not know would look calm."""
    script = files("pyscheduler.web").joinpath("static/js/alerts.js").read_text("utf-8")
    looks = script[script.index("const KINDS = {") : script.index("};")]
    assert set(re.findall(r"(\w+): \[", looks)) == set(KINDS)
