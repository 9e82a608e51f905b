"""A configuration to begin with, a unit to keep it running, and nothing ever overwritten."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.cli.prompt import Prompt


@pytest.fixture
def empty(pysched: Prompt) -> Prompt:
    pysched.config.unlink()
    return pysched


def test_the_first_configuration_is_valid_and_says_what_next(empty: Prompt) -> None:
    """A job that runs every minute, and the next three commands."""
    target = empty.folder / "pysched.yaml"
    said = empty("init", str(target))
    assert said.code == 0
    assert "pysched serve" in said.out
    assert empty("validate").out.endswith("has 1 job\n")
    assert empty("next", "hello", "--count", "1", "--json").json["schedules"] == ["cron * * * * *"]


def test_every_example_in_it_is_valid_once_uncommented(empty: Prompt) -> None:
    """Somebody will take the `#` away and expect it to work."""
    target = empty.folder / "pysched.yaml"
    empty("init", str(target))
    whole = re.sub(r"^( *)#(?=  |[^ ])(?!   schedule)", r"\1", target.read_text(), flags=re.MULTILINE)
    target.write_text(whole)
    said = empty("validate")
    assert (said.code, said.out) == (0, f"ok: {target} has 4 jobs\n"), (said, whole)
    assert len(empty("next", "tidy-up").out.splitlines()) > 2


def test_nothing_is_overwritten(empty: Prompt) -> None:
    """Neither a configuration nor a unit; exit code 1."""
    target = empty.folder / "pysched.yaml"
    target.write_text("# mine\n")
    said = empty("init", str(target))
    assert said.code == 1
    assert "there is such a file" in said.err
    assert target.read_text() == "# mine\n"
    unit = empty.folder / "pysched.service"
    unit.write_text("# mine too\n")
    assert empty("init", "--systemd", "--output", str(unit)).code == 1
    assert unit.read_text() == "# mine too\n"


def test_the_zone_of_this_host_is_written_down(empty: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never guessed in silence later: the file names it. What has no IANA name is UTC."""
    monkeypatch.setattr("os.path.realpath", lambda _path: "/usr/share/zoneinfo/Europe/Paris")
    empty("init", str(empty.folder / "a.yaml"))
    assert "timezone: Europe/Paris" in (empty.folder / "a.yaml").read_text()
    monkeypatch.setattr("os.path.realpath", lambda _path: "/etc/localtime")
    empty("init", str(empty.folder / "b.yaml"))
    assert "timezone: UTC" in (empty.folder / "b.yaml").read_text()


def test_a_folder_that_is_not_there_is_said(empty: Prompt) -> None:
    """Exit code 1, no traceback."""
    said = empty("init", str(empty.folder / "no" / "such" / "folder.yaml"))
    assert said.code == 1
    assert "cannot be written" in said.err


def test_a_unit_names_the_configuration_and_the_user(empty: Prompt) -> None:
    """And the commands that install it."""
    config = empty.folder / "pysched.yaml"
    config.write_text("scheduler: {name: night}\n")
    unit = empty.folder / "night.service"
    said = empty("init", str(config), "--systemd", "--output", str(unit), "--run-as", "nobody")
    text = unit.read_text()
    assert f"serve {config}" in text
    assert "User=nobody\n" in text
    assert "enable --now night.service" in said.out


def test_a_unit_for_one_user_has_no_user_in_it(empty: Prompt) -> None:
    """systemd --user runs as that user anyway."""
    config = empty.folder / "pysched.yaml"
    config.write_text("")
    unit = empty.folder / "mine.service"
    said = empty("init", str(config), "--systemd", "--user", "--output", str(unit))
    assert "User=" not in unit.read_text()
    assert "WantedBy=default.target" in unit.read_text()
    assert "loginctl enable-linger" in said.out
    assert empty("init", str(config), "--systemd", "--user", "--run-as", "nobody").code == 2


def test_options_of_the_unit_need_the_unit(empty: Prompt) -> None:
    """Exit code 2, and nothing is written."""
    assert empty("init", str(empty.folder / "new.yaml"), "--run-as", "nobody").code == 2
    assert not (empty.folder / "new.yaml").exists()


def test_a_unit_for_a_faulty_configuration_is_not_written(empty: Prompt, tmp_path: Path) -> None:
    """It is found out now, not at boot."""
    config = empty.folder / "pysched.yaml"
    config.write_text("scheduler: {timezone: Nowhere/Town}\n")
    assert empty("init", str(config), "--systemd", "--output", str(tmp_path / "u.service")).code == 2
    assert not (tmp_path / "u.service").exists()


def test_a_unit_for_nobody_known_is_refused(empty: Prompt) -> None:
    """systemd would refuse it at boot; a uid will do as well as a name."""
    config = empty.folder / "pysched.yaml"
    config.write_text("jobs: {}")
    unit = empty.folder / "x.service"
    said = empty("init", str(config), "--systemd", "--output", str(unit), "--run-as", "no-such-user")
    assert said.code == 2
    assert "no user no-such-user on this machine" in said.err
    assert not unit.exists()
    assert empty("init", str(config), "--systemd", "--output", str(unit), "--run-as", "0").code == 0
