"""Field cases that take a running service and real jobs: from the request to the state, the reason and the log.

Inputs are those of the cases, with shorter waits. Where a case offers policies or the reference decides, the docstring
names what decides.
"""

from __future__ import annotations

import os
import pwd
import re
import resource
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from pyscheduler.engine.environment import DEFAULT_PATH
from pyscheduler.minder import kernel
from tests.serving import MARK, Served, served
from tests.shell import Shell, shell

TEXT = """
scheduler:
  state_dir: state
  log_dir: logs
  kill_grace: 1s
defaults: {schedule: manual}
jobs:
  quick: {command: "true"}
  forks:
    command:
      - python3
      - -c
      - |
        import os, time
        if os.fork() == 0:
            while not os.path.exists("enough"):
                print("child", flush=True)
                time.sleep(0.1)
            os._exit(0)
        time.sleep(0.5)
    timeout: 30s
  shell: {command: "sleep 300 & echo ok", timeout: 30s}
  tidy: {command: "sleep 300 & echo $! > tidy.pid", leftovers: kill}
  percent: {command: "date +%Y%m%d"}
  braces: {command: "echo {{{{ }}}} {run_date:%Y%m%d}"}
  counts:
    command: |
      n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; echo $$$$ >> pids
      [ $n -gt 2 ] || sleep 60
    timeout: 5s
    retries: {count: 10, delay: 1s, backoff: 1}
"""
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("field"), TEXT) as found:
        yield found.start()


def log_of(service: Served, run_id: str) -> list[str]:
    """Return what a run has printed, nothing while its job has not been started."""
    answer = service.ask("GET", f"/api/runs/{run_id}/log")
    return list(answer.body["lines"]) if answer.status == 200 else []


# --------------------------------------------------------------------------- FC-006 dates that never come


@pytest.mark.parametrize("cron", ["0 0 31 4 *", "0 0 30 2 *", "0 0 31 2,4,6,9,11 *"])
def test_fc_006_a_reload_to_a_date_that_never_comes_is_refused_and_the_rest_goes_on(tmp_path: Path, cron: str) -> None:
    """On every path, fast, by name: reload, `validate`, `next`; the old configuration stays in force."""
    bad = TEXT + f'  never: {{command: "true", schedule: "{cron}"}}\n'
    with served(tmp_path, TEXT) as service:
        service.start()
        service.write(bad)
        began = time.monotonic()
        answer = service.ask("POST", "/api/reload", {})
        assert time.monotonic() - began < 30
        assert answer.status == 400
        assert "can never fire" in str(answer.body["problems"])
        assert service.get("/api/scheduler")["config"]["version"] == 1
        service.until_state(service.trigger("quick"), "succeeded")
        for command in ("validate", "next"):
            done = Shell(tmp_path)(command)
            assert done.code == 2
            assert "can never fire" in done.out + done.err


# --------------------------------------------------------------------------- FC-036 everybody killed

LEDGER = """
scheduler: {state_dir: state, log_dir: logs}
defaults: {schedule: manual, command: "echo line >> {job}.ledger; echo begun {attempt}; sleep 300"}
jobs:
  j: {tags: [once]}
  k: {retries: {count: 2, delay: 1s}}
"""


def test_fc_036_what_was_begun_is_not_begun_again_but_by_its_retries(tmp_path: Path) -> None:
    """Scheduler, nursery, minders, jobs killed: J is lost and stays at one line; K's second try is its own attempt.

    The first attempt's partial output is kept, the second has its own log, and it counts against the two retries.
    """
    with served(tmp_path, LEDGER) as service:
        service.start()
        runs = {job: service.trigger(job) for job in "jk"}
        for job in "jk":
            service.until(lambda job=job: log_of(service, runs[job]) == ["begun 1"], f"{job} has begun")  # type: ignore[misc]
        kill_them_all(service)
        service.start()
        lost = service.until_state(runs["j"], "failed")
        assert (lost["reason"], lost["attempt"]) == ("lost", 1)
        service.until(lambda: service.run(runs["k"])["attempt"] == 2, "it is tried again")
        service.until_state(runs["k"], "running")
        service.until(lambda: log_of(service, runs["k"]) == ["begun 2"])
        assert (tmp_path / "j.ledger").read_text() == "line\n"
        assert (tmp_path / "k.ledger").read_text() == "line\nline\n"
        first, second = service.get(f"/api/runs/{runs['k']}")["attempts"]
        assert (first["outcome"], Path(first["stdout_path"]).read_text()) == ("lost", "begun 1\n")
        assert first["stdout_path"] != second["stdout_path"]
        assert service.stop() == 0
        assert service.marked(), "a polite stop leaves the job to its minder"


def kill_them_all(service: Served) -> None:
    """Kill −9 the scheduler, its nursery, the minders and then the jobs: nobody is there to see a job end."""
    generations, table = [[service.pid]], kernel.processes()
    while generations[-1]:
        generations.append([found.pid for found in table.values() if found.parent in generations[-1]])
    assert len(generations) > 4, "scheduler, nursery, minders, jobs"
    for pid in (pid for generation in generations for pid in generation):
        os.kill(pid, signal.SIGKILL)
    service.wait()
    service.until(lambda: not service.marked(), "nobody is left")


# --------------------------------------------------------------------------- FC-050 a grandchild holds the pipe


def test_fc_050_the_main_process_s_end_is_the_run_s_end(service: Served) -> None:
    """Success before its timeout though a grandchild writes on; a kill of the ended run is refused at once."""
    run_id = service.trigger("forks")
    service.until_state(run_id, "succeeded")
    began = time.monotonic()
    refused = service.ask("POST", f"/api/runs/{run_id}/kill", {})
    assert (refused.status, time.monotonic() - began < 20) == (409, True)
    before = len(log_of(service, run_id))
    service.until(lambda: len(log_of(service, run_id)) > before, "the grandchild writes on")
    (service.home / "enough").touch()


def test_fc_050_a_shell_that_leaves_a_child_has_ended(service: Served) -> None:
    """`sleep 300 & echo ok` succeeds at once; its limit is never met."""
    assert service.until_state(service.trigger("shell"), "succeeded", "failed")["state"] == "succeeded"


def test_fc_050_leftovers_go_where_the_policy_says_so(service: Served) -> None:
    """`leftovers: kill`: what is left of the run's tree is gone when the run has ended."""
    run_id = service.trigger("tidy")
    service.until_state(run_id, "succeeded")
    pid = int((service.home / "tidy.pid").read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_fc_050_descriptors_and_threads_return_to_base(service: Served) -> None:
    """Thirty such jobs later the service has no descriptor more than before."""
    service.until_state(service.trigger("shell"), "succeeded")
    before = len(os.listdir(f"/proc/{service.pid}/fd"))
    for _ in range(30):
        service.until_state(service.trigger("shell"), "succeeded")
    service.until(lambda: len(os.listdir(f"/proc/{service.pid}/fd")) <= before + 2, "descriptors are closed")


# --------------------------------------------------------------------------- FC-058 the environment

ENVIRONMENT = """
scheduler: {state_dir: state, log_dir: logs}
defaults:
  schedule: manual
  command: "set -u; : $HOME $USER $LOGNAME $SHELL $PATH $PWD; env -0 > {job}.env"
  env: {A: "x y", B: "$A", C: "a\\nb", D: "", E: "${PASSED}"}
jobs:
  wide: {inherit_env: true}
  narrow: {inherit_env: false}
"""
NOISE = {
    "SECRET_TOKEN": "s3cret",
    "VIRTUAL_ENV": "/v",
    "NOTIFY_SOCKET": "/nowhere/notify",
    "LISTEN_FDS": "1",
    "INVOCATION_ID": "i",
    "PYTHONHASHSEED": "1",
}
PASSED = {"PASSED": "by name"}


def environments(home: Path, env: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return what both jobs find in their environment under a service that was started with nothing but this one."""
    home.mkdir()
    given = " ".join(f"{name}={value!r}" for name, value in env.items())
    script = f'exec env -i PYTHONPATH="$PYTHONPATH" {MARK}="${MARK}" {given} "$0" "$@"'
    with served(home, ENVIRONMENT, wrapper=("sh", "-c", script)) as service:
        service.start()
        for job in ("wide", "narrow"):
            service.until_state(service.trigger(job), "succeeded")
        service.stop()
    return {job: facts(home / f"{job}.env") for job in ("wide", "narrow")}


def facts(path: Path) -> dict[str, str]:
    """Return the variables that `env -0` has written, but for those that tell one run from another."""
    pairs = dict(pair.split("=", 1) for pair in path.read_text().split("\0") if pair)
    return {name: value for name, value in pairs.items() if not name.startswith("PYSCHED_") and name != "PWD"}


def test_fc_058_a_job_finds_the_same_under_a_bare_and_a_rich_start(tmp_path: Path) -> None:
    """With `inherit_env: false` the two are identical; without, DESIGN 8 row 7 says what is never passed on.

    Values of `env:` are literal (`$A` stays `$A`), a newline is one, an empty variable exists.
    """
    entry = pwd.getpwuid(os.geteuid())
    login = {"HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name, "SHELL": entry.pw_shell}
    bare = environments(tmp_path / "bare", PASSED)
    rich = environments(tmp_path / "rich", {**login, "PATH": DEFAULT_PATH, **PASSED, **NOISE})
    assert bare["narrow"] == rich["narrow"]
    assert {name: bare["wide"][name] for name in login} == login
    assert bare["wide"]["PATH"] == DEFAULT_PATH
    own = {name: bare["narrow"][name] for name in "ABCDE"}
    assert own == {"A": "x y", "B": "$A", "C": "a\nb", "D": "", "E": "by name"}
    assert rich["wide"].keys() - bare["wide"].keys() == {"SECRET_TOKEN"}


# --------------------------------------------------------------------------- FC-060 percent and braces


def test_fc_060_percent_is_an_ordinary_character(service: Served) -> None:
    """`date +%Y%m%d` is what it says; braces have their documented escape, doubled."""
    run_id = service.trigger("percent")
    service.until_state(run_id, "succeeded")
    assert re.fullmatch(r"\d{8}", log_of(service, run_id)[0])
    run_id = service.trigger("braces", run_date="2027-05-20")
    service.until_state(run_id, "succeeded")
    assert log_of(service, run_id) == ["{{ }} 20270520"]


# --------------------------------------------------------------------------- FC-066 no room to start

CROWDED = """
scheduler: {state_dir: state, log_dir: logs}
defaults: {schedule: manual, command: "true", overlap: allow}
jobs:
  busy: {command: "touch up; until [ -e go ]; do sleep 0.1; done"}
  once: {env: {}}
  tried: {retries: {count: 60, delay: 1s, backoff: 1}}
"""


def test_fc_066_starts_without_room_fail_by_their_reason_and_go_on_when_there_is_some(tmp_path: Path) -> None:
    """No descriptor left for a start: failed in the system's words, no busy loop; retries start when there is room."""
    with served(tmp_path, CROWDED) as service:
        service.start()
        busy = service.trigger("busy")  # so that each of the others needs a minder of its own
        service.until((tmp_path / "up").exists, "its job runs")
        (nursery,) = (found.pid for found in kernel.processes().values() if found.parent == service.pid)
        usual = resource.prlimit(nursery, resource.RLIMIT_NOFILE)
        few = len(os.listdir(f"/proc/{nursery}/fd")) + 8
        resource.prlimit(nursery, resource.RLIMIT_NOFILE, (few, usual[1]))
        began, before = time.monotonic(), cpu_s(service.pid)
        once = [service.trigger("once") for _ in range(5)]
        tried = [service.trigger("tried") for _ in range(5)]
        for run_id in once:
            assert service.until_state(run_id, "failed")["reason"].startswith("start error: cannot start: ")
        for run_id in tried:
            service.until(lambda run_id=run_id: service.run(run_id)["attempt"] >= 3, "tried again")  # type: ignore[misc]
        assert cpu_s(service.pid) - before < 0.5 * (time.monotonic() - began) + 1.0
        resource.prlimit(nursery, resource.RLIMIT_NOFILE, usual)
        for run_id in tried:
            service.until_state(run_id, "succeeded")
        (tmp_path / "go").touch()
        service.until_state(busy, "succeeded")


def cpu_s(pid: int) -> float:
    """Return the CPU seconds a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --------------------------------------------------------------------------- FC-068 names

NAMES = ["-rf", "--help", "con", "A", "a", "on", "null"]
NAMED = "scheduler: {state_dir: state, log_dir: logs}\njobs:\n" + "".join(
    f'  "{name}": {{command: "echo {name}", schedule: manual}}\n' for name in NAMES
)


def test_fc_068_whatever_name_is_allowed_works_everywhere(tmp_path: Path) -> None:
    """Trigger, log, pause, resume, why, show: over HTTP and on the command line, where `--` ends the options."""
    with shell(tmp_path, NAMED) as pysched:
        pysched.serve()
        for name in NAMES:
            run_id = pysched.inside("trigger", "--json", "--", name).json["run"]["run_id"]
            assert pysched.until_state(run_id, "succeeded", "failed")["job"] == name
            assert pysched.inside("log", "--", run_id).out == f"{name}\n"
            assert pysched.ask(f"/api/jobs/{quote(name, safe='')}")["name"] == name
            for command in (["pause"], ["resume"], ["why"], ["next"], ["show"]):
                done = pysched.inside(*command, "--", run_id if command == ["show"] else name)
                assert (done.code, done.err) == (0, ""), (command, name, done)
        logs = [path.read_text() for path in (tmp_path / "logs").rglob("*.out")]
        assert sorted(logs) == sorted(f"{name}\n" for name in NAMES)


# --------------------------------------------------------------------------- FC-070 one attempt's end is not another's


def test_fc_070_two_timeouts_then_success(service: Served) -> None:
    """Each attempt has its own process, log and clock; the third succeeds, and there is no fourth."""
    run_id = service.trigger("counts")
    ended = service.until_state(run_id, "succeeded", "failed")
    assert (ended["state"], ended["attempt"]) == ("succeeded", 3)
    attempts = service.get(f"/api/runs/{run_id}")["attempts"]
    assert [attempt["outcome"] for attempt in attempts] == ["timeout"] * 2 + ["succeeded"]
    assert all(attempt["duration_seconds"] >= 5.0 for attempt in attempts[:2])
    assert len({attempt["stdout_path"] for attempt in attempts}) == 3
    assert len(set((service.home / "pids").read_text().split())) == 3
