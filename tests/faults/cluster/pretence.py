"""What is different in a scheduler of these tests: its times, points at which it may be hit, a mistake on purpose.

`pretend` is called in the scheduler's own process, before its first word. Every variable is one of the tests'.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any, Final

from pyscheduler.cluster import scheduler
from tests.faults.cluster.mutants import MUTANT, MUTANTS
from tests.faults.cluster.points import FOLDER, set_up

TIMING: Final = "FAULTS_TIMING"
"""Times of claims.md C3, as JSON."""


def pretend(env: Mapping[str, str]) -> None:
    """Take over what the environment asks for."""
    if MUTANT in env:
        MUTANTS[env[MUTANT]]()
    set_up(Path(env[FOLDER]))
    if TIMING in env:
        _be_short(json.loads(env[TIMING]))


def _be_short(timing: dict[str, object]) -> None:
    """Let `tick` and `work` go by these times."""
    entrance = vars(scheduler)["entrance"]

    def hurried(*given: Any) -> Any:
        found = signature(entrance).bind(*given)
        found.arguments["timing"] = {**found.arguments["timing"], **timing}
        return entrance(*found.args, **found.kwargs)

    vars(scheduler)["entrance"] = hurried
