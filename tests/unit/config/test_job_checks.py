"""What one job says must fit together. Spec: jobs.md 1.10, 12.2."""

from __future__ import annotations

import pytest

from tests.unit.config.conftest import Build


def complaints(problems: Build, keys: str) -> list[str]:
    found = problems(f"calendars: {{c: {{}}}}\npools: {{p: 1}}\njobs:\n  j: {{{keys}}}\n", allow_inactive=True)
    return [line.replace("c.yaml:", "").replace("job j: ", "") for line in found]


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ("schedule: manual", "error 4:3: command is missing; say what runs, as in command: ./load.sh"),
        ("command: '  ', schedule: manual", 'error 4:16: command: "  " is empty'),
        ("command: [], schedule: manual", "error 4:16: command: is an empty list; name at least one"),
        ("command: ['', x], schedule: manual", "error 4:17: command: the program to run has no name"),
        ("command: x", "error 4:3: nothing ever starts it: it has neither schedule nor depends_on; add a schedule"),
        ("command: x, schedule: {business_day: 1, at: '08:00'}", "error 4:19: schedule: business_day needs a calendar"),
        (
            "command: x, schedule: {business_day: 1, at: '08:00'}, calendar: none",
            "error 4:19: schedule: business_day needs",
        ),
        (
            "command: x, schedule: manual, min_runtime: 2h, max_runtime: 2h",
            "error 4:37: min_runtime: 2h is not less than",
        ),
        (
            "command: x, schedule: manual, max_runtime: 2h, timeout: 1h",
            "error 4:37: max_runtime: 2h is longer than timeout",
        ),
        ("type: file_watcher, schedule: manual", "error 4:3: a file watcher needs watch"),
        (
            "type: file_watcher, watch: /x, schedule: manual, min_age: 2h, give_up_after: 1h",
            "error 4:56: min_age: 2h is longer",
        ),
        (
            "type: file_watcher, watch: /x, schedule: manual, agent: a",
            "error 4:56: agent: a file watcher runs in the scheduler",
        ),
        (
            "type: file_watcher, watch: /x, schedule: manual, agent_tags: [a]",
            "error 4:56: agent_tags: a file watcher runs",
        ),
        ("command: x, schedule: manual, agent: a, agent_tags: [b]", "error 4:47: agent_tags: agent names one agent"),
        (
            "command: x, schedule: [manual, '0 1 * * *']",
            "warning 4:19: schedule: manual beside a schedule changes nothing",
        ),
        ("command: x, schedule: manual, overlap: allow, pools: {p: 1}", "warning 4:37: overlap: allow with pools"),
        ("command: x, depends_on: [j]", "warning 4:19: depends_on: it depends on nothing but itself"),
        (
            "command: x, schedule: manual, retries: {count: 1, delay: 20m}",
            "warning 4:57: retries.delay: delay 20m is longer",
        ),
        (
            "command: x, schedule: manual, success_codes: [0, 3], retries: {on: [3]}",
            "warning 4:37: success_codes: exit code 3",
        ),
    ],
)
def test_what_does_not_fit_together_is_said_at_its_key(problems: Build, keys: str, complaint: str) -> None:
    assert any(found.startswith(complaint) for found in complaints(problems, keys)), complaints(problems, keys)


@pytest.mark.parametrize(
    "name", ["DB_PASS", "PGPASSWORD", "API_TOKEN", "client_secret", "APIKEY", "MY_PRIVATE_KEY", "PASS_1"]
)
def test_a_secret_in_a_command_line_is_warned_of(problems: Build, name: str) -> None:
    """Every user can read it in ps (P8, FC-082); in `env` it is the job's own."""
    env = {name: "s3cret-value"}
    for command, column in ((f"'x ${{{name}}}'", 16), (f"[sh, '${{{name}}}']", 21)):
        (found,) = problems(f"jobs:\n  j: {{command: {command}, schedule: manual}}\n", env=env | {"PATH": "/bin"})
        mend = f'hand it on by env: {{{name}: "${{{name}}}"}} and write ${name}'
        what = f"${{{name}}} would stand in the command line, where every user can read it"
        assert found == f"warning c.yaml:2:{column}: job j: command: {what}; {mend}"
    assert problems(f"jobs: {{j: {{command: x, schedule: manual, env: {{A: '${{{name}}}'}}}}}}\n", env=env) == []


@pytest.mark.parametrize("name", ["HOME", "DATA_DIR", "COMPASS", "PASSAGE", "BYPASS_HOST", "KEYBOARD"])
def test_other_variables_may_stand_in_a_command_line(problems: Build, name: str) -> None:
    assert problems(f"jobs: {{j: {{command: 'x ${{{name}}}', schedule: manual}}}}\n", env={name: "value"}) == []


@pytest.mark.parametrize(
    "keys",
    [
        "command: x, schedule: manual",
        "command: x, schedule: {business_day: 1, at: '08:00'}, calendar: c",
        "command: x, schedule: manual, retries: {count: 1, delay: 20m, max_delay: 1h}",
        "command: x, schedule: manual, retries: {delay: 20m}",
        "command: x, schedule: manual, overlap: allow",
        "command: x, schedule: manual, pools: {p: 1}",
    ],
)
def test_what_fits_is_passed_without_a_word(problems: Build, keys: str) -> None:
    assert complaints(problems, keys) == []


def test_runtimes_that_just_fit_are_fine(problems: Build) -> None:
    """min < max, max <= timeout."""
    found = complaints(problems, "command: x, schedule: manual, min_runtime: 1h, max_runtime: 2h, timeout: 2h")
    assert all("not active yet" in line for line in found)
