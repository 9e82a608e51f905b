"""`doctor` on a healthy folder and on broken ones. It changes nothing, whatever it finds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.store import Batch, Store
from tests.builders import a_run
from tests.shell import Shell, shell

TEXT = 'jobs: {load: {command: "true", schedule: manual}}'


@pytest.fixture
def pysched(tmp_path: Path) -> Iterator[Shell]:
    with shell(tmp_path, TEXT) as found:
        yield found


def remember(pysched: Shell, **engine: str) -> None:
    """Make a store as a scheduler leaves it."""
    store = Store.open(pysched.home / "state", sync=False)
    store.apply(Batch(runs=(a_run(),), engine=engine))
    store.close()


def findings(pysched: Shell, code: int) -> dict[str, dict[str, Any]]:
    """Return what was found, by subject, the worst of each."""
    done = pysched("doctor", "--json")
    assert done.code == code, done
    order = ("ok", "warn", "bad")
    found = sorted(done.json["findings"], key=lambda each: order.index(each["level"]))
    return {each["about"]: each for each in found}


def everything(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return every file with its mode and content."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    # The log's index is memory that readers share; SQLite makes it anew.
    return {
        str(path): (path.stat().st_mode, path.stat().st_size, path.read_bytes())
        for path in files
        if path.suffix not in (".db-shm", ".db-wal")
    }


def test_before_the_first_start_all_is_well(pysched: Shell) -> None:
    """And nothing is made."""
    found = findings(pysched, 0)
    assert "bad" not in {each["level"] for each in found.values()}
    assert not (pysched.home / "state").exists()


def test_a_healthy_scheduler(pysched: Shell) -> None:
    """It is asked itself, and its store is read through while it works."""
    pysched.serve()
    pysched.until_state(pysched.trigger("load"), "succeeded")
    found = findings(pysched, 0)
    what = found["scheduler"]["what"]
    assert what.partition(", at ")[0] == "pysched runs, 1 job, configuration version 1"
    for about in ("store", "clock", "locks", "pidfd", "state_dir", "configuration", "sqlite"):
        assert found[about]["level"] == "ok", found[about]
    lines = pysched.ok("doctor").lines
    assert lines[-1].startswith("0 bad, ")
    assert all(line.startswith(("ok  ", "warn", "      mend: ")) for line in lines[:-2])


def test_a_damaged_store_is_bad(pysched: Shell) -> None:
    """Exit code 1, and it is left as it was found."""
    remember(pysched)
    database = pysched.home / "state" / "pysched.db"
    data = bytearray(database.read_bytes())
    data[100:4096] = os.urandom(3996)
    database.write_bytes(data)
    before = everything(pysched.home)
    found = findings(pysched, 1)
    assert found["store"]["level"] == "bad"
    assert "restore" in found["store"]["mend"]
    assert everything(pysched.home) == before


def test_a_store_of_another_program_is_bad(pysched: Shell) -> None:
    """Not taken for ours."""
    (pysched.home / "state").mkdir(mode=0o700)
    (pysched.home / "state" / "pysched.db").write_text("a diary\n" * 1000)
    assert findings(pysched, 1)["store"]["level"] == "bad"


def test_a_folder_open_to_others_is_bad(pysched: Shell) -> None:
    """What others can write they can forge."""
    remember(pysched)
    (pysched.home / "state").chmod(0o777)
    found = findings(pysched, 1)["state_dir"]
    assert "can be written by others" in found["what"]
    assert found["mend"].startswith("chmod 700")


def test_a_stranger_among_the_status_files_is_told(pysched: Shell) -> None:
    """It may be a job that nobody watches."""
    remember(pysched)
    status = pysched.home / "state" / "status"
    status.mkdir(mode=0o700)
    (status / "load.2027-05-20.1.1.0123456789abcdef.json.pid").touch()
    found = findings(pysched, 0)["status files"]
    assert found["level"] == "warn"
    assert "0123456789abcdef" in found["what"]


def test_a_clock_behind_the_store_is_bad(pysched: Shell) -> None:
    """Instants come again that have their run already: that is why nothing runs."""
    remember(pysched, last_tick="2126-05-20T12:00:00+00:00")
    assert findings(pysched, 1)["clock"]["level"] == "bad"


def test_a_faulty_configuration_is_bad_and_the_rest_is_still_looked_at(pysched: Shell) -> None:
    """The first error, and where all are told."""
    pysched.write(TEXT.replace("schedule", "xschedule"))
    found = findings(pysched, 1)
    assert found["configuration"]["level"] == "bad"
    assert "pysched validate" in found["configuration"]["mend"]
    assert "state_dir" in found


def test_without_a_configuration_there_is_little_to_look_at(pysched: Shell) -> None:
    """That is said, and the machine is examined all the same."""
    pysched.config.unlink()
    found = findings(pysched, 1)
    assert found["configuration"]["level"] == "bad"
    assert found["python"]["level"] == "ok"


def test_credential_files_are_looked_at(pysched: Shell) -> None:
    """What would be refused at the next start is bad now, and others' eyes on it are worth a warning."""
    pysched.config.write_text(f"scheduler: {{users_file: users.yaml}}\n{TEXT}")
    users = pysched.home / "users.yaml"
    users.write_text("- {name: ann, password_hash: hunter2, role: admin}\n")
    found = findings(pysched, code=1)["credential files"]
    assert found["level"] == "bad"
    assert "users.yaml:1:30: password_hash: is no password hash" in found["what"]
    assert "hunter2" not in found["what"]
    users.write_text("[]\n")
    users.chmod(0o640)
    assert findings(pysched, code=0)["credential files"]["level"] == "warn"
    users.chmod(0o600)
    assert findings(pysched, code=0)["credential files"]["what"] == "0 tokens, 0 users"
