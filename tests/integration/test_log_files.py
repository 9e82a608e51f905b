"""An attempt's log as it is read: pages that tell every byte, tails that cost their own length, no way out of the log.

Field cases FC-046 and FC-048.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.api import logfile
from pyscheduler.errors import Forbidden, NotFound

MIXED = st.lists(
    st.sampled_from(
        [b"a", b"\n", "é".encode(), "€".encode(), "🐙".encode(), b"\xff", b"\xe2\x82", b"\x80", b"\xf0\x9f"]
    ),
    max_size=40,
).map(b"".join)


def pages(path: Path, limit: int, *, ended: bool) -> tuple[str, int]:
    """Read a log page by page as a follower would; returns all text and where it stopped."""
    text, offset = "", 0
    while True:
        page = logfile.piece(str(path), offset, limit, ended=ended)
        assert page.offset == offset
        assert page.next_offset >= offset
        text += page.text
        if page.next_offset == offset:
            return text, offset
        offset = page.next_offset


@given(data=MIXED, limit=st.integers(1, 9))
def test_pages_of_any_size_tell_the_whole_log(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, limit: int
) -> None:
    """However it is cut, the pages together are the text of the whole: no character is cut, none comes twice."""
    path = tmp_path_factory.getbasetemp() / "mixed"
    path.write_bytes(data)
    assert pages(path, limit, ended=True) == (data.decode("utf-8", "replace"), len(data))


@given(data=MIXED, limit=st.integers(1, 9), offset=st.integers(0, 60))
def test_an_offset_inside_a_character_is_moved_to_its_beginning(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, limit: int, offset: int
) -> None:
    """Whoever guesses an offset still gets whole characters: the page's text is its bytes' text."""
    path = tmp_path_factory.getbasetemp() / "guessed"
    path.write_bytes(data)
    page = logfile.piece(str(path), offset, limit, ended=True)
    assert max(0, min(offset, len(data)) - 3) <= page.offset <= min(offset, len(data))
    assert data[page.offset : page.next_offset].decode("utf-8", "replace") == page.text


def test_a_character_that_is_not_whole_yet_is_left_for_the_next_page(tmp_path: Path) -> None:
    """A follower of a running job never shows half a character, and shows what is left when the job has ended."""
    path = tmp_path / "half"
    path.write_bytes(b"abc\xe2\x82")
    assert pages(path, 100, ended=False) == ("abc", 3)
    with path.open("ab") as file:
        file.write(b"\xac")
    assert logfile.piece(str(path), 3, 100, ended=False).text == "€"
    path.write_bytes(b"abc\xe2\x82")
    assert pages(path, 100, ended=True) == ("abc\ufffd", 5)


def test_a_euro_sign_over_the_border_of_a_page_is_whole(tmp_path: Path) -> None:
    """FC-048: 8191 x and a euro sign, read in pages of 8192 bytes."""
    path = tmp_path / "border"
    path.write_bytes(b"x" * 8191 + "€".encode() + b"\n")
    first = logfile.piece(str(path), 0, 8192, ended=True)
    second = logfile.piece(str(path), first.next_offset, 8192, ended=True)
    assert (first.text, second.text) == ("x" * 8191, "€\n")


def test_bad_bytes_become_one_mark_each(tmp_path: Path) -> None:
    """FC-048: one U+FFFD for each bad sequence, the rest as it is."""
    path = tmp_path / "bad"
    path.write_bytes(b"before\n\xff\xfe\xc3\n\xe2\x82 cut\nafter\n")
    assert logfile.tail(str(path), 10).lines == ["before", "\ufffd\ufffd\ufffd", "\ufffd cut", "after"]


@given(data=MIXED, block=st.integers(1, 9))
def test_a_long_line_reads_the_same_in_steps(data: bytes, block: int) -> None:
    """Wherever a step ends, in a character or in what is none."""
    line = data.replace(b"\n", b"")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(logfile, "BLOCK", block)
        assert logfile.text_of_line(line) == line.decode("utf-8", "replace")


@given(lines=st.lists(st.text("ab é€", max_size=5), max_size=30), wanted=st.integers(1, 12), ended=st.booleans())
def test_the_tail_is_the_last_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], wanted: int, ended: bool
) -> None:
    """The last lines, one that is not ended yet counted, and whether there are more before them."""
    path = tmp_path_factory.getbasetemp() / "lines"
    path.write_text("\n".join(lines) + ("\n" if ended and lines else ""))
    tail = logfile.tail(str(path), wanted)
    whole = path.read_text().removesuffix("\n").split("\n") if path.stat().st_size else []
    assert tail.lines == whole[-wanted:]
    assert tail.truncated == (len(whole) > wanted)
    assert tail.size == path.stat().st_size


def test_a_line_longer_than_a_tail_may_be_is_cut_and_says_so(tmp_path: Path) -> None:
    """Nothing reads more than 8 MiB for a tail, and the cut goes through no character."""
    path = tmp_path / "endless"
    path.write_bytes("é".encode() * (5 * 1024 * 1024) + b"x")
    tail = logfile.tail(str(path), 3)
    assert tail.truncated
    assert len(tail.lines) == 1
    assert set(tail.lines[0]) == {"é", "x"}
    assert len(tail.lines[0].encode()) <= logfile.TAIL_BYTES


def test_a_gigabyte_is_no_more_work_than_a_page(tmp_path: Path) -> None:
    """The size of a log does not matter: bytes read are those shown, wherever they lie."""
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 30)
        file.seek(0, os.SEEK_END)
        file.write(b"last\n")
    before = read_so_far()
    assert logfile.piece(str(path), (1 << 30) - 10, 65536, ended=True).text.endswith("last\n")
    assert read_so_far() - before < 1 << 20
    tail = logfile.tail(str(path), 1)
    assert tail.truncated
    assert read_so_far() - before < 12 << 20


def read_so_far() -> int:
    """Return how many bytes this process has read by system calls."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"])


# --------------------------------------------------------------------------- what is no log


def test_no_log_is_said(tmp_path: Path) -> None:
    """A log that is not there yet, or whose folder is not, is a 404 and no fault."""
    for name in ("none", "none/none"):
        with pytest.raises(NotFound, match="no log yet"):
            logfile.tail(str(tmp_path / name), 10)


def test_a_link_in_the_logs_place_is_not_followed(tmp_path: Path) -> None:
    """P8: a job may replace its own log; it cannot make the scheduler read another file for it."""
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    (tmp_path / "log").symlink_to(secret)
    with pytest.raises(Forbidden, match="not a regular file"):
        logfile.tail(str(tmp_path / "log"), 10)


def test_a_pipe_or_a_folder_is_no_log_and_holds_nobody_up(tmp_path: Path) -> None:
    """Opening a pipe would wait for its other end for ever."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(Forbidden, match="not a regular file"):
            logfile.piece(str(tmp_path / name), 0, 10, ended=False)


def test_a_log_folder_may_be_a_link_that_we_made(tmp_path: Path) -> None:
    """Operators move log folders to other disks: a link of root's or ours is followed, also up and relative."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "log").write_text("there\n")
    (tmp_path / "logs").symlink_to("../" + tmp_path.name + "/disk")
    (tmp_path / "far").symlink_to(tmp_path / "logs")
    assert logfile.tail(str(tmp_path / "far" / "log"), 10).lines == ["there"]


def test_a_circle_of_links_has_an_end(tmp_path: Path) -> None:
    """Links that lead to each other are refused, as the kernel would."""
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(Forbidden):
        logfile.tail(str(tmp_path / "a" / "log"), 10)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a link that somebody else owns")
def test_a_folder_that_somebody_else_made_a_link_of_is_not_followed(tmp_path: Path) -> None:
    """P8: a job under another user may own the folder of its log; where it leads is not for it to say."""
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "log").write_text("s3cret")
    (tmp_path / "theirs").symlink_to(tmp_path / "private")
    os.lchown(tmp_path / "theirs", 65534, 65534)
    with pytest.raises(Forbidden, match="somebody else made"):
        logfile.tail(str(tmp_path / "theirs" / "log"), 10)


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """Whatever comes of it, a read closes what it opened."""
    (tmp_path / "log").write_text("x\n")
    before = len(os.listdir("/proc/self/fd"))
    for name in ("log", "none", "none/none"):
        try:
            logfile.tail(str(tmp_path / name), 1)
        except NotFound:
            continue
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_page_of_a_log_that_is_cut_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`max_log` cuts a file while it is written: a page asked for behind the cut is empty, and no error."""
    path = tmp_path / "log"
    path.write_bytes(b"x" * 100)
    read = os.pread

    def cut_first(descriptor: int, count: int, offset: int) -> bytes:
        os.truncate(path, 10)
        return read(descriptor, count, offset)

    monkeypatch.setattr(os, "pread", cut_first)
    page = logfile.piece(str(path), 50, 10, ended=False)
    assert (page.text, page.offset, page.next_offset) == ("", 50, 50)
