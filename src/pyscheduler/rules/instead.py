"""What an operator may do instead, where what they asked for does not apply to a run.

Every command named here applies to a run in that state (a test walks all of them through the state machine's table),
and leads as near to what was wanted as can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pyscheduler.model import event as ev
from pyscheduler.model.run import FINAL_STATES, Run, RunState
from pyscheduler.rules.lifecycle import TABLE

DEEDS: Final[Mapping[str, type[ev.Event]]] = MappingProxyType(
    {
        "hold": ev.Held,
        "release": ev.Released,
        "force-start": ev.ForceStarted,
        "kill": ev.KillAsked,
        "skip": ev.SkippedByHand,
        "cancel": ev.CancelledByHand,
        "mark-success": ev.MarkedSuccess,
        "mark-failed": ev.MarkedFailed,
        "rerun": ev.Rerun,
    }
)
"""The operator's deeds, by the command's name."""

_RUNNING: Final = {
    "hold": "what runs cannot be held: let it end, or pysched kill {run} ends it as failed",
    "release": "it is not held: it runs already",
    "force-start": "nothing to do: it runs already",
    "skip": "let it end, or pysched kill {run} ends it as failed; what has failed can be marked a success",
    "cancel": "let it end, or pysched kill {run} ends it as failed",
    "mark-success": "let it end, or pysched kill {run} ends it as failed; then it can be marked",
    "mark-failed": "pysched kill {run} ends it as failed",
    "rerun": "let it end, or pysched kill {run} ends it; then it can be rerun",
}
_ENDED: Final = {
    "kill": "it has ended: nothing of it runs",
    "skip": "it has ended; pysched mark-success {run} lets its dependants go on",
    "cancel": "it has ended; pysched mark-failed {run} blocks its dependants",
}
_IDLE: Final = {
    "release": "it is not held: pysched why {run} says what it waits for, pysched force-start {run} starts it now",
    "kill": "nothing of it runs: pysched cancel {run} calls it off, pysched skip {run} lets its dependants go on",
    "rerun": "it has not ended: pysched force-start {run} starts it now",
}


def applies(state: RunState, deed: str) -> bool:
    """Whether a deed, by its command's name, applies to a run in that state."""
    return (state, DEEDS[deed]) in TABLE


def instead(run: Run, deed: str) -> str:
    """Return what does apply to a run to which a deed does not."""
    if run.state is RunState.RUNNING:
        text = _RUNNING[deed]
    elif run.state in FINAL_STATES:
        text = _ENDED.get(deed, "it has ended; pysched rerun {run} opens it again")
    elif run.state is RunState.HELD and deed == "hold":
        text = "it is held already; pysched release {run} lets it go"
    else:
        text = _IDLE[deed]
    return text.format(run=run.run_id)
