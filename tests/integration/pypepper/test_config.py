"""The settings file. Spec: pipeline.md 14.4 and 16."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pypepper.common import tracing
from pypepper.common.config import Config
from pypepper.common.log import log


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Leave the log and the spans as they were."""
    level = log.logger.level
    yield
    log.logger.setLevel(level)
    log.set_colorize(False)
    for handler in list(log.logger.handlers):
        log.logger.removeHandler(handler)
    tracing.shutdown()


def written(path: Path, text: str) -> Path:
    """Write a file and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_view_with_attributes(tmp_path: Path) -> None:
    """pipeline.md 14.4: attribute-style, at any depth, lists too; None before loading."""
    mine = Config()
    assert mine.get_yml_config() is None
    mine.load_config(written(tmp_path / "a.yaml", "scheduler: {jobStore: {db: d}}\nmore: [{k: 1}, 2]\n"))
    yml = mine.get_yml_config()
    assert yml is not None
    assert yml.scheduler.jobStore.db == "d"
    assert yml.more[0].k == 1  # type: ignore[attr-defined]
    assert not hasattr(yml, "log")


@pytest.mark.parametrize(
    ("argv", "file"),
    [
        ([], "conf/app.config.yaml"),
        (["-c"], "conf/app.config.yaml"),
        (["--config"], "conf/app.config.yaml"),
        (["-c", "other.yaml"], "other.yaml"),
        (["--config", "other.yaml"], "other.yaml"),
        (["--config=other.yaml", "--verbose", "stray"], "other.yaml"),
    ],
)
def test_which_file(
    argv: list[str], file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """pipeline.md 14.4: `-c/--config`, a bare one or none means ./conf/app.config.yaml; strangers are logged."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["program", *argv])
    for name in ("conf/app.config.yaml", "other.yaml"):
        written(tmp_path / name, f"serviceInfo: {{serviceName: {name}}}")
    mine = Config()
    mine.load_config()
    yml = mine.get_yml_config()
    assert yml is not None
    assert yml.serviceInfo.serviceName == file
    assert [line.message for line in caplog.records] == (
        ["command line arguments that are not ours are ignored: ['--verbose', 'stray']"] if "stray" in argv else []
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "just words", "- a\n", "log: {level: INFO}"])
def test_files_that_raise(tmp_path: Path, text: str) -> None:
    """pipeline.md 14.4: an empty file, or a level without `log.colorize`; what was loaded before stays."""
    mine = Config()
    mine.load_config(written(tmp_path / "good.yaml", "a: 1"))
    before = mine.get_yml_config()
    with pytest.raises(ValueError, match=r"bad\.yaml"):
        mine.load_config(written(tmp_path / "bad.yaml", text))
    assert mine.get_yml_config() is before


def test_a_missing_file_raises(tmp_path: Path) -> None:
    """pipeline.md 14.4: missing file."""
    with pytest.raises(FileNotFoundError):
        Config().load_config(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    ("word", "level"),
    [("TRACE", 5), ("DEBUG", 10), ("INFO", 20), ("WARNING", 30), ("ERROR", 40), ("FATAL", 50), ("info", 20)],
)
def test_log_level(tmp_path: Path, word: str, level: int) -> None:
    """pipeline.md 16: TRACE, DEBUG, INFO, WARNING, ERROR, FATAL."""
    Config().load_config(written(tmp_path / "a.yaml", f"log: {{level: {word}, colorize: false}}"))
    assert log.logger.level == level


def test_an_unknown_level_is_refused(tmp_path: Path) -> None:
    """Said in words."""
    with pytest.raises(ValueError, match="unknown log level 'LOUD': write one of TRACE"):
        Config().load_config(written(tmp_path / "a.yaml", "log: {level: LOUD, colorize: false}"))


def test_the_six_words(caplog: pytest.LogCaptureFixture) -> None:
    """pipeline.md 1.2: trace, debug, info, warn, error, fatal; a message is taken as it is, percent signs and all."""
    with caplog.at_level(1, "pypepper"):
        for say in (log.trace, log.debug, log.info, log.warn, log.error, log.fatal):
            say("100 %s")
    assert [line.levelno for line in caplog.records] == [5, 10, 20, 30, 40, 50]
    assert {line.message for line in caplog.records} == {"100 %s"}
    assert {line.filename for line in caplog.records} == {Path(__file__).name}


class _Terminal:
    """A standard error that remembers."""

    def __init__(self, is_terminal: bool) -> None:
        self.said = ""
        self._is_terminal = is_terminal

    def write(self, text: str) -> None:
        self.said += text

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize(("terminal", "colorize"), [(True, True), (True, False), (False, True)])
def test_colour_on_a_terminal_only(terminal: bool, colorize: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines go to standard error, in colour only where that is asked for and shown."""
    screen = _Terminal(terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    log.set_log_level("INFO")
    log.set_colorize(colorize)
    log.warn("careful")
    log.debug("not shown")
    assert screen.said.count("\n") == 1
    assert screen.said.rstrip("\x1b[0m\n").endswith("WARNING careful")
    assert ("\x1b[33m" in screen.said) is (terminal and colorize)


def test_silent_where_the_program_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program with a handler at the root gets each line once, there."""
    screen = _Terminal(False)
    monkeypatch.setattr(sys, "stderr", screen)
    log.set_log_level("INFO")
    log.info("once")
    assert screen.said == ""


def test_a_broken_screen_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed standard error loses the line, not the job."""
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    log.set_log_level("INFO")
    log.info("into the void")
