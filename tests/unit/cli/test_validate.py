"""What is wrong with a configuration, and what a right one looks like."""

from __future__ import annotations

import sys

import jsonschema
import pytest
import yaml

from tests.unit.cli.prompt import Prompt

GOOD = 'jobs:\n  one: {command: "true", schedule: "@daily"}\n'
BAD = 'jobs:\n  one:\n    command: "true"\n    schedule: "0 24 * * *"\n  two: {command: "true", depends_on: [on]}\n'
WARNED = 'jobs:\n  one: {command: [no-such-program-at-all], schedule: "@daily"}\n'


def test_a_good_configuration_is_ok(pysched: Prompt) -> None:
    """Exit code 0, and how many jobs it has."""
    pysched.config.write_text(GOOD)
    said = pysched("validate")
    assert (said.code, said.out, said.err) == (0, f"ok: {pysched.config} has 1 job\n", "")


def test_the_files_of_people_are_part_of_it(pysched: Prompt) -> None:
    """A start is refused for a faulty users file, so this is not ok either."""
    pysched.config.write_text(f"scheduler: {{users_file: users.yaml}}\n{GOOD}")
    (pysched.config.parent / "users.yaml").write_text("- {name: ann, password_hash: x, role: boss}\n")
    (pysched.config.parent / "users.yaml").chmod(0o600)
    said = pysched("validate")
    assert said.code == 2
    assert "users.yaml:1:" in said.out
    assert "role" in said.out


def test_a_store_without_its_driver_is_warned_of(pysched: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """`serve` would not start here; but it may be another machine that runs it."""
    pysched.config.write_text(f"scheduler: {{store: postgresql+psycopg://db1/pysched}}\n{GOOD}")
    assert pysched("validate").err == ""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    said = pysched("validate")
    assert said.code == 0
    assert f"warning: {pysched.config}: scheduler.store: the driver for PostgreSQL is not installed" in said.err


@pytest.mark.parametrize("command", ["tick", "work"])
def test_neither_tick_nor_work_begins_without_it(
    pysched: Prompt, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """In the words of `serve`, and it is not waited for."""
    pysched.config.write_text(f"scheduler: {{state_dir: state, store: postgresql+psycopg://db1/pysched}}\n{GOOD}")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    said = pysched(command)
    assert said.code == 1
    assert said.err.startswith("error: the driver for PostgreSQL is not installed\n  mend: pip install ")


def test_every_error_is_told_at_once_on_stdout(pysched: Prompt) -> None:
    """`file:line:column: job N: message; mend`, exit code 2."""
    pysched.config.write_text(BAD)
    said = pysched("validate")
    assert said.code == 2
    first, second = said.out.splitlines()
    assert first.startswith(f"{pysched.config}:4:15: job one: schedule")
    assert second.startswith(f"{pysched.config}:5:")
    assert 'did you mean "one"?' in second
    assert said.err == f"{pysched.config}: 2 errors\n"


def test_a_warning_is_no_error(pysched: Prompt) -> None:
    """On stderr; the configuration is still ok."""
    pysched.config.write_text(WARNED)
    said = pysched("validate")
    assert said.code == 0
    assert said.out.startswith("ok:")
    assert said.err.startswith(f"warning: {pysched.config}:2:")


def test_problems_for_programs(pysched: Prompt) -> None:
    """One document with every problem."""
    pysched.config.write_text(BAD)
    said = pysched("validate", "--json")
    assert said.code == 2
    found = said.json
    assert found["ok"] is False
    assert [problem["line"] for problem in found["problems"]] == [4, 5]
    assert set(found["problems"][0]) == {"file", "line", "column", "job", "severity", "message", "mend"}


def test_a_file_may_be_named(pysched: Prompt) -> None:
    """As an argument, or with -c before or after the command."""
    other = pysched.folder / "other.yaml"
    other.write_text(GOOD)
    pysched.config.write_text(BAD)
    for given in (["validate", str(other)], ["-c", str(other), "validate"], ["validate", "-c", str(other)]):
        assert pysched(*given).out == f"ok: {other} has 1 job\n"


def test_a_file_that_is_not_there(pysched: Prompt) -> None:
    """Exit code 2 and its name."""
    said = pysched("validate", "nowhere.yaml")
    assert said.code == 2
    assert "nowhere.yaml" in said.out


def test_the_schema_accepts_what_is_good_and_refuses_a_misspelt_key(pysched: Prompt) -> None:
    """An editor that has it marks the mistake while it is typed."""
    schema = pysched("schema").json
    jsonschema.validate(yaml.safe_load(GOOD), schema)
    with pytest.raises(jsonschema.ValidationError, match="xschedule"):
        jsonschema.validate(yaml.safe_load(GOOD.replace("schedule", "xschedule")), schema)


def test_a_configuration_without_jobs_is_told(pysched: Prompt) -> None:
    """It is right, and nothing will ever run."""
    pysched.config.write_text("")
    said = pysched("validate")
    assert said.code == 0
    assert said.out.endswith("has no jobs yet\n")
    assert "nothing will run" in said.err
