"""Parsed configurations kept in a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from datetime import date
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.config import Config, ConfigError, cache, load, load_cached
from tests.unit.config.conftest import TODAY

Write = Callable[..., Path]
TEXT = "include: ['sub/*.yaml']\njobs: {a: {command: 'x ${S}', schedule: '@daily'}}\n"
FILES = {"sub/b.yaml": "jobs: {b: {command: x, depends_on: [a]}}\n"}
ENV = {"S": "s3cret-value", "PATH": "/bin"}


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every full loading, as it happens."""
    seen: list[str] = []
    real = load.load_config

    def counted(path: Any, **more: Any) -> Config:
        seen.append(str(path))
        return real(path, **more)

    monkeypatch.setattr(load, "load_config", counted)
    return seen


def cached(folder: Path, env: Mapping[str, str] | None = None, today: date = TODAY, **more: bool) -> Config:
    return load_cached("c.yaml", folder, ENV if env is None else env, today=today, **more)


def kept(folder: Path) -> Path:
    (path,) = folder.glob("*.config")
    return path


def test_the_second_time_nothing_is_parsed_and_the_result_is_the_same(
    write: Write, tmp_path: Path, loads: list[str]
) -> None:
    write(TEXT, FILES)
    first, second = cached(tmp_path / "k"), cached(tmp_path / "k")
    assert len(loads) == 1
    assert second == first
    assert (second.jobs, second.settings, second.sources) == (first.jobs, first.settings, first.sources)
    assert second.variables == {"S": "s3cret-value"}, "taken from the environment again"
    assert second.patterns == first.patterns


def test_the_file_is_for_nobody_else_and_holds_no_value(write: Write, tmp_path: Path) -> None:
    write(TEXT, FILES)
    cached(tmp_path / "k")
    path = kept(tmp_path / "k")
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"s3cret" not in path.read_bytes()
    assert [each.name for each in (tmp_path / "k").iterdir()] == [path.name], "no temporary file is left"


@pytest.mark.parametrize(
    "change",
    ["main text", "included text", "another match", "a match less"],
)
def test_a_changed_text_is_parsed_again(write: Write, tmp_path: Path, loads: list[str], change: str) -> None:
    write(TEXT, {**FILES, "sub/c.yaml": "# nothing\n"})
    cached(tmp_path / "k")
    if change == "main text":
        Path("c.yaml").write_text(TEXT + "# more\n")
    elif change == "included text":
        Path("sub/b.yaml").write_text(FILES["sub/b.yaml"] + "# more\n")
    elif change == "another match":
        Path("sub/d.yaml").write_text("")
    else:
        Path("sub/c.yaml").unlink()
    cached(tmp_path / "k")
    cached(tmp_path / "k")
    assert len(loads) == 2


def test_a_changed_calendar_file_is_parsed_again(write: Write, tmp_path: Path, loads: list[str]) -> None:
    from tests.unit.config.test_calendars import ICS

    write("calendars: {a: {file: uk.ics}}\n", {"uk.ics": ICS.replace("{more}", "")})
    cached(tmp_path / "k")
    cached(tmp_path / "k")
    Path("uk.ics").write_text(ICS.replace("{more}", "").replace("20270517", "20270518"))
    assert date(2027, 5, 18) in cached(tmp_path / "k").calendars["a"].holidays
    assert len(loads) == 2


def test_a_text_that_is_gone_is_complained_about_as_ever(write: Write, tmp_path: Path) -> None:
    write("include: [b.yaml]\n", {"b.yaml": "jobs: {b: {command: x, schedule: manual}}\n"})
    cached(tmp_path / "k")
    Path("b.yaml").unlink()
    with pytest.raises(ConfigError, match="matches no file"):
        cached(tmp_path / "k")


def test_other_code_of_one_release_parses_again(
    write: Write, tmp_path: Path, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A working copy changes under its release's number; what older code made may lack what this one asks for."""
    write(TEXT, FILES)
    cached(tmp_path / "k")
    monkeypatch.setattr(cache, "_code", lambda: "another")
    cached(tmp_path / "k")
    cached(tmp_path / "k")
    assert len(loads) == 2


def test_a_library_that_is_not_installed_is_no_fault(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(cache, "version", gone)
    write(TEXT, FILES)
    assert cached(tmp_path / "k") == cached(tmp_path / "k")


def test_a_variable_that_is_gone_is_complained_about_as_ever(write: Write, tmp_path: Path) -> None:
    write(TEXT, FILES)
    cached(tmp_path / "k")
    with pytest.raises(ConfigError, match="S}, which is not set"):
        cached(tmp_path / "k", env={})


def test_what_holds_a_value_in_clear_is_never_kept(write: Write, tmp_path: Path, loads: list[str]) -> None:
    write("jobs: {a: {command: x, schedule: manual, owner: '${S}'}}\n")
    cached(tmp_path / "k")
    cached(tmp_path / "k")
    assert len(loads) == 2
    assert not (tmp_path / "k").exists()


def test_what_is_refused_is_never_kept(write: Write, tmp_path: Path) -> None:
    write("jobs: {a: {command: x}}\n")
    for _ in range(2):
        with pytest.raises(ConfigError, match="nothing ever starts it"):
            cached(tmp_path / "k")
    assert not (tmp_path / "k").exists()


@pytest.mark.parametrize(
    ("today", "again"),
    [
        (date(2027, 5, 3), False), (date(2027, 6, 3), False), (date(2027, 6, 4), True), (date(2027, 5, 2), True),
        (date(2028, 1, 1), True),
    ],
)  # fmt: skip
def test_it_grows_old(write: Write, tmp_path: Path, loads: list[str], today: date, again: bool) -> None:
    """A month at most, and never into another year: horizons and holidays were counted from its day."""
    write(TEXT, FILES)
    cached(tmp_path / "k")
    cached(tmp_path / "k", today=today)
    assert len(loads) == (2 if again else 1)


def test_a_year_s_turn_is_another_year_even_within_the_month(write: Write, tmp_path: Path, loads: list[str]) -> None:
    write(TEXT, FILES)
    cached(tmp_path / "k", today=date(2027, 12, 31))
    cached(tmp_path / "k", today=date(2028, 1, 1))
    assert len(loads) == 2


def damage_payload(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)


def damage_head(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"digest": "', b'"digest": "0', 1))


def other_release(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"pyscheduler": "', b'"pyscheduler": "9', 1))


def other_magic(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"config 1", b"config 2", 1))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def no_json(path: Path) -> None:
    path.write_bytes(b"pysched-config 1\n[1]\nx")


def readable(path: Path) -> None:
    path.chmod(0o644)


def link(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


def foreign_pickle(path: Path) -> None:
    """A well-formed file of a stranger: its bytes would call a function when read."""
    import hashlib
    import pickle

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (os.mkdir, ("pwned",))

    head_line = path.read_bytes().split(b"\n")[1]
    payload = pickle.dumps(Evil())
    head = json.loads(head_line) | {"sha256": hashlib.sha256(payload).hexdigest()}
    path.write_bytes(b"pysched-config 1\n" + json.dumps(head).encode() + b"\n" + payload)


@pytest.mark.parametrize(
    "spoil",
    [damage_payload, damage_head, other_release, other_magic, truncate, empty, no_json, readable, link, foreign_pickle],
)
def test_a_damaged_or_foreign_file_is_as_if_it_were_not_there(
    write: Write, tmp_path: Path, loads: list[str], spoil: Callable[[Path], None]
) -> None:
    write(TEXT, FILES)
    cached(tmp_path / "k")
    spoil(kept(tmp_path / "k"))
    config = cached(tmp_path / "k")
    assert (len(loads), sorted(config.jobs)) == (2, ["a", "b"])
    assert not Path("pwned").exists()
    cached(tmp_path / "k")
    assert len(loads) == 2, "and is written anew"


def test_another_users_file_is_not_trusted(
    write: Write, tmp_path: Path, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(TEXT, FILES)
    cached(tmp_path / "k")
    monkeypatch.setattr("pyscheduler.config.cache.os.geteuid", lambda: os.getuid() + 1)
    cached(tmp_path / "k")
    assert len(loads) == 2


def test_one_file_a_main_file_is_kept(write: Write, tmp_path: Path) -> None:
    """A changed configuration replaces the one before; another way of loading has a file of its own."""
    for number in range(5):
        write(TEXT + f"# {number}\n", FILES)
        cached(tmp_path / "k")
    assert len(list((tmp_path / "k").iterdir())) == 1
    cached(tmp_path / "k", allow_inactive=True)
    assert len(list((tmp_path / "k").iterdir())) == 2


@pytest.mark.parametrize("obstacle", ["file in the way", "replace fails"])
def test_a_folder_that_cannot_be_written_is_no_fault(
    write: Write, tmp_path: Path, obstacle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(TEXT, FILES)
    folder = tmp_path / "k"
    if obstacle == "file in the way":
        folder.write_text("")
    else:

        def refuse(*_: object) -> None:
            raise OSError("no")

        monkeypatch.setattr("pyscheduler.config.cache.os.replace", refuse)
    assert sorted(cached(folder).jobs) == ["a", "b"]
    assert folder.is_file() or list(folder.iterdir()) == []


def test_a_file_beyond_all_measure_is_not_read(
    write: Write, tmp_path: Path, loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(TEXT, FILES)
    cached(tmp_path / "k")
    monkeypatch.setattr(cache, "MAX_CACHE_BYTES", 10)
    cached(tmp_path / "k")
    assert len(loads) == 2
