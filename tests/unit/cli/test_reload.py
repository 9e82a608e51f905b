"""A reload is all or nothing, and says which."""

from __future__ import annotations

from pyscheduler.cli.faults import Refused
from tests.unit.cli.prompt import Prompt

PROBLEM = {
    "file": "pysched.yaml",
    "line": 14,
    "column": 5,
    "job": "load",
    "severity": "error",
    "message": "schedule: the hour field is 24",
    "mend": "write 0 for midnight",
}


def test_a_reload_names_the_version_and_warns_on_stderr(pysched: Prompt) -> None:
    """Spec: jobs.md 14.1: `reloaded`, warnings on stderr."""
    warning = {**PROBLEM, "severity": "warning"}
    pysched.scheduler.replies["POST /api/reload"] = {"ok": True, "changed": True, "version": 7, "warnings": [warning]}
    said = pysched("reload")
    assert (said.code, said.out) == (0, "reloaded, version 7\n")
    assert said.err == ("warning: pysched.yaml:14:5: job load: schedule: the hour field is 24; write 0 for midnight\n")


def test_a_faulty_configuration_lists_every_problem(pysched: Prompt) -> None:
    """And the old one stays in force; exit code 1: the scheduler refused."""
    pysched.scheduler.replies["POST /api/reload"] = Refused(
        "the configuration has 1 error", status=400, problems=[PROBLEM, {**PROBLEM, "job": None, "line": 0}]
    )
    said = pysched("reload")
    assert (said.code, said.out) == (1, "")
    assert said.err.splitlines() == [
        "error: the configuration has 1 error",
        "  error: pysched.yaml:14:5: job load: schedule: the hour field is 24; write 0 for midnight",
        "  error: pysched.yaml:5: schedule: the hour field is 24; write 0 for midnight",
    ]


def test_the_same_configuration_again_is_no_reload(pysched: Prompt) -> None:
    """Nothing happens, and that is said."""
    pysched.scheduler.replies["POST /api/reload"] = {"ok": True, "changed": False, "version": 7, "warnings": []}
    assert pysched("reload").out == "nothing to reload: the configuration on disk is the one in force\n"
    assert pysched("reload", "--json").json["version"] == 7
