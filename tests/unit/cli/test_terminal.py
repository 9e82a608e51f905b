"""What a stream can show: colour and width on a terminal alone, symbols where encoding and locale can hold them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from pyscheduler.cli.terminal import Terminal


@dataclass
class FakeStream:
    encoding: str | None = "utf-8"
    tty: bool = True

    def isatty(self) -> bool:
        return self.tty


UTF8 = {"LANG": "en_GB.UTF-8"}


@pytest.fixture
def eighty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.get_terminal_size", lambda fallback=(80, 24): os.terminal_size((80, 24)))


def test_a_pipe_is_neither_cut_nor_coloured(eighty: None) -> None:
    """What goes into another program arrives whole and plain."""
    assert Terminal.of(FakeStream(tty=False), UTF8) == Terminal(width=None, height=None, colour=False, unicode=True)


def test_a_terminal_has_colours_and_a_width(eighty: None) -> None:
    """People see colours, and no line longer than their screen."""
    assert Terminal.of(FakeStream(), UTF8) == Terminal(width=80, height=24, colour=True, unicode=True)


@pytest.mark.parametrize(
    ("environ", "colour"),
    [
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm"}, True),
    ],
)
def test_no_colour_is_honoured(eighty: None, environ: Mapping[str, str], colour: bool) -> None:
    """NO_COLOR with any text in it turns colours off, and so does a terminal that has none."""
    assert Terminal.of(FakeStream(), {**UTF8, **environ}).colour is colour


@pytest.mark.parametrize(
    ("environ", "unicode"),
    [
        ({}, False),
        ({"LANG": "C"}, False),
        ({"LANG": "POSIX"}, False),
        ({"LANG": "C.UTF-8"}, True),
        ({"LANG": "de_DE.UTF-8"}, True),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, False),
        ({"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, True),
        ({"LC_ALL": "", "LANG": "de_DE.UTF-8"}, True),
    ],
)
def test_a_plain_locale_gets_plain_symbols(eighty: None, environ: Mapping[str, str], unicode: bool) -> None:
    """Python writes UTF-8 under LANG=C; the terminal behind it may not read it, so it gets ASCII."""
    terminal = Terminal.of(FakeStream(), environ)
    assert terminal.unicode is unicode
    assert terminal.symbol("✓", "+") == ("✓" if unicode else "+")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", None, "no-such-encoding"])
def test_an_encoding_without_the_symbols_gets_plain_ones(eighty: None, encoding: str | None) -> None:
    """Whatever the locale claims, what the stream cannot encode is not written."""
    assert Terminal.of(FakeStream(encoding=encoding), UTF8).unicode is False


def test_an_absurd_width_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal whose size was never set reports 0 columns: tables would vanish."""
    monkeypatch.setattr("shutil.get_terminal_size", lambda fallback=(80, 24): os.terminal_size((0, 0)))
    assert Terminal.of(FakeStream(), UTF8).width == 80
