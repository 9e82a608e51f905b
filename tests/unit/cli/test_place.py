"""Which configuration is meant, and where its scheduler lives."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyscheduler.cli.faults import NoConfiguration
from pyscheduler.cli.place import find_config, look_up
from pyscheduler.errors import ConfigError


def test_the_option_beats_the_variable_beats_the_folder(tmp_path: Path) -> None:
    """`-c`, `PYSCHED_CONFIG`, `./pysched.yaml`."""
    (tmp_path / "pysched.yaml").write_text("")
    named = {"PYSCHED_CONFIG": "/etc/other.yaml"}
    assert find_config("given.yaml", named, tmp_path) == Path("given.yaml")
    assert find_config(None, named, tmp_path) == Path("/etc/other.yaml")
    assert find_config(None, {}, tmp_path) == tmp_path / "pysched.yaml"
    assert find_config(None, {"PYSCHED_CONFIG": ""}, tmp_path) == tmp_path / "pysched.yaml"


def test_nothing_names_one(tmp_path: Path) -> None:
    """An error with every way to name one; exit code 2."""
    with pytest.raises(NoConfiguration, match=r"there is no pysched\.yaml here") as caught:
        find_config(None, {}, tmp_path)
    assert "PYSCHED_CONFIG" in caught.value.mend
    assert caught.value.exit_code == 2


def test_the_place_is_read_from_the_schedulers_section(tmp_path: Path) -> None:
    """Variables are filled in, relative paths lie beside the file, and what is wrong elsewhere is no fault here."""
    config = tmp_path / "pysched.yaml"
    config.write_text("scheduler:\n  timezone: Asia/Tokyo\n  state_dir: ${WHERE}/state\njobs: [this, is, wrong]\n")
    place = look_up(config, {"WHERE": "/var/lib"})
    assert (place.timezone, place.state_dir) == ("Asia/Tokyo", Path("/var/lib/state"))
    assert place.socket == Path("/var/lib/state/api.sock")
    assert place.log_dir == tmp_path / "logs"
    with pytest.raises(ConfigError, match="WHERE"):
        look_up(config, {})
