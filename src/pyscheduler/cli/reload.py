"""`reload`: the configuration on disk, put in force. All or nothing. Spec: jobs.md 11.2, 14.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyscheduler.cli.faults import problem_line
from pyscheduler.cli.options import json_option, reason_option, verb
from pyscheduler.cli.session import Session, pass_session


@verb("reload", "pysched validate && pysched reload", 'pysched reload --reason "new nightly chain"')
@reason_option
@json_option
@pass_session
def reload_(session: Session, reason: str | None, as_json: bool) -> None:
    """Put the configuration as it is on disk into force.

    All of it or, where anything is wrong, nothing: the errors are printed and the old one stays in force. Running
    attempts keep the definition they were started with; other open runs take the new one. `pysched diff` shows before
    what a change does.
    """
    answer = session.client().post("/api/reload", {"reason": reason})
    if as_json:
        session.print_json(answer)
        return
    for problem in answer.get("warnings") or ():
        session.note(problem_line(problem))
    session.say(_sentence(answer))
    session.say_all(f"called off: {run_id}" for run_id in answer.get("cancelled") or ())


def _sentence(answer: Mapping[str, Any]) -> str:
    if answer.get("changed", True):
        version = f", version {answer['version']}" if answer.get("version") else ""
        return f"reloaded{version}"
    return "nothing to reload: the configuration on disk is the one in force"
