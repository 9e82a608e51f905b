"""Bytes as they are into a pipe, readable text on a terminal. Field case FC-048."""

from __future__ import annotations

import io

import pytest

from pyscheduler.cli.spout import Raw, Shown

BAD = b"before\n\xff\xfe\xc3\n\xe2\x82 cut\nafter\n"


def test_a_pipe_gets_every_byte() -> None:
    """Byte for byte, whatever they are."""
    out = io.BytesIO()
    raw = Raw(out)
    for piece in (BAD, bytes(range(256))):
        raw(piece)
    raw.end()
    assert out.getvalue() == BAD + bytes(range(256))


def test_a_terminal_gets_one_replacement_for_each_bad_sequence(capsys: pytest.CaptureFixture[str]) -> None:
    """FC-048: three bad bytes, then one cut sequence."""
    shown = Shown()
    shown(BAD)
    shown.end()
    assert capsys.readouterr().out == "before\n\ufffd\ufffd\ufffd\n\ufffd cut\nafter\n"


def test_a_character_split_between_two_pieces_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """8191 x and a euro sign over the boundary of a read."""
    text = ("x" * 8191 + "€\n").encode()
    shown = Shown()
    for start in range(0, len(text), 8192):
        shown(text[start : start + 8192])
    shown.end()
    assert capsys.readouterr().out.encode() == text


def test_the_end_of_a_log_ends_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed next, a prompt or a remark, stands on a line of its own; half a character is shown as bad."""
    shown = Shown()
    shown(b"no newline \xe2\x82")
    shown.end()
    assert capsys.readouterr().out == "no newline \ufffd\n"
    shown.end()
    assert capsys.readouterr().out == ""
