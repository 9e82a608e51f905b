"""The collector looks seldom, rests when told, and is left as it was."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest

from pyscheduler import collector


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_rests_and_is_left_as_it_was(enabled: bool) -> None:
    """Also where the work in between fails."""
    if not enabled:
        gc.disable()
    try:
        with collector.at_rest():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
        with pytest.raises(ZeroDivisionError), collector.at_rest():
            _ = 1 / 0
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def test_what_came_in_is_set_apart() -> None:
    """It is not walked again until it is taken back."""
    gc.collect()
    before = gc.get_freeze_count()
    try:
        with collector.at_rest_then_set_apart():
            held = [[] for _ in range(1000)]  # type: ignore[var-annotated]
        assert gc.get_freeze_count() >= before + len(held)
        assert gc.isenabled()
    finally:
        collector.take_back()
    assert gc.get_freeze_count() == 0


def test_a_service_looks_seldom() -> None:
    """A process of our own sets CPython's threshold up; it says so from inside, where its configuration is missing."""
    code = "import gc; from pyscheduler.service.serve import run; run('/nonexistent.yaml'); print(gc.get_threshold())"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    said = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert said.stdout.strip().splitlines()[-1] == str(collector.THRESHOLDS)
