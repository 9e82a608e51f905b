"""The files of a configuration. Spec: jobs.md 1.1."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pyscheduler.config import source
from pyscheduler.config.complaints import Complaints
from pyscheduler.config.compose import Budget
from pyscheduler.config.source import Files, check_text, read_bytes
from pyscheduler.config.tree import TreeError
from pyscheduler.config.values import BadValue
from tests.unit.config.conftest import Build, Load

JOB = "jobs: {%s: {command: x, schedule: manual}}\n"


# --------------------------------------------------------------------------- one file


def test_a_missing_file_says_so(problems: Build, tmp_path: Path) -> None:
    problems("")
    (tmp_path / "c.yaml").unlink()
    with pytest.raises(BadValue, match="No such file"):
        read_bytes("c.yaml")


def test_an_empty_file_is_a_configuration_without_jobs(load: Load) -> None:
    config = load("")
    assert config.jobs == {}
    assert config.warnings == ()


def test_a_byte_order_mark_is_dropped(load: Load) -> None:
    assert list(load(b"\xef\xbb\xbf" + (JOB % "a").encode()).jobs) == ["a"]


@pytest.mark.parametrize(
    ("data", "place", "why"),
    [
        (b"jobs: \xff\n", "c.yaml:1:7", "byte 0xff is not UTF-8; save it as UTF-8"),
        (b"# \xc3\xa9\n# " + b"x" * 70000 + b"\xe2\x82", "c.yaml:2:70003", "byte 0xe2 is not UTF-8; save it as UTF-8"),
        (b"\xff\xfea\x00", "c.yaml", "this is UTF-16; save it as UTF-8"),
        (b"jobs: \x00\n", "c.yaml:1:7", "a byte 0x00 has no place in a text file; is this a binary file?"),
        (b"a: b\nc: \x1b[0m\n", "c.yaml:2:4", "a byte 0x1b has no place in a text file"),
    ],
)
def test_what_is_no_text_is_refused_at_its_place(problems: Build, data: bytes, place: str, why: str) -> None:
    assert problems(data) == [f"error {place}: cannot be read: {why}"]


@pytest.mark.parametrize("data", [b"just text\n", b"- a\n", b"~\n"])
def test_the_top_level_is_a_mapping(problems: Build, data: bytes) -> None:
    what = "the top level must be a mapping of sections; begin with scheduler:, jobs: and the like"
    assert problems(data) == [f"error c.yaml:1:1: {what}"]


def test_a_multi_byte_character_may_lie_across_any_boundary() -> None:
    """The check reads 64 KiB at a time and must not cut a character."""
    for shift in range(4):
        check_text(b"x" * (65536 - shift) + "😀é".encode() + b"y")


@pytest.mark.parametrize(
    ("data", "column"),
    [
        (b"\xffx", 1),
        (b"x" * 65535 + b"\xc3" + b"x", 65536),
        (b"x" * 65536 + b"\xff", 65537),
        (b"x" * 65534 + b"\xe2\x82" + b"x", 65535),
        (b"x" * 65533 + b"\xf0\x9f\x98" + b"\xff", 65534),
        (b"x" * 65534 + "é".encode() + b"\xff", 65536),
    ],
)
def test_a_bad_byte_at_a_boundary_is_found_where_it_is(data: bytes, column: int) -> None:
    with pytest.raises(TreeError) as refused:
        check_text(data)
    assert (refused.value.line, refused.value.column) == (1, column)


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    big = tmp_path / "big.yaml"
    with big.open("wb") as handle:
        handle.truncate(33 << 20)
    with pytest.raises(BadValue, match="32 MiB is the limit"):
        read_bytes(str(big))


def test_all_files_together_are_bounded(write: Callable[..., Path]) -> None:
    main = write("include: [b.yaml]\n" + "#" * 30, {"b.yaml": "#" * 40})
    complaints = Complaints()
    Files(complaints, str, Budget(size=60)).read_all(main)
    (problem,) = complaints.sorted(str)
    assert str(problem) == "b.yaml: has 40 bytes, and 32 MiB is the limit for all files together"


@pytest.mark.parametrize("kind", ["folder", "fifo"])
def test_only_a_regular_file_is_read(tmp_path: Path, kind: str) -> None:
    """A FIFO that nobody writes to must not hold the scheduler for ever."""
    path = tmp_path / "odd"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    with pytest.raises(BadValue, match="cannot be read"):
        read_bytes(str(path))


def test_a_file_that_is_being_written_is_read_again_and_then_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a configuration is never taken for one (FC-078, 7)."""
    path = tmp_path / "c.yaml"
    path.write_text("a: b\n")
    answers = iter([None, b"whole"])
    monkeypatch.setattr(source, "_read_once", lambda _path, _limit: next(answers))
    assert read_bytes(str(path)) == b"whole"
    monkeypatch.setattr(source, "_read_once", lambda _path, _limit: None)
    with pytest.raises(BadValue, match="being written to"):
        read_bytes(str(path))


# --------------------------------------------------------------------------- includes


def test_includes_are_read_depth_first_and_relative_to_the_including_file(load: Load) -> None:
    """Matches of a pattern are sorted; `**` goes down; only regular files count."""
    config = load(
        "include: ['sub/*.yaml', deep/one.yaml]\n" + JOB % "main",
        {
            "sub/b.yaml": JOB % "b",
            "sub/a.yaml": "include: ['../more/**/*.yaml']\n" + JOB % "a",
            "sub/c.yaml/not-a-file": "",
            "more/x/y.yaml": JOB % "y",
            "deep/one.yaml": JOB % "one",
        },
    )
    assert [item.path for item in config.sources] == [
        "c.yaml", "sub/a.yaml", "more/x/y.yaml", "sub/b.yaml", "deep/one.yaml",
    ]  # fmt: skip
    assert sorted(config.jobs) == ["a", "b", "main", "one", "y"]
    assert config.patterns == {"sub/*.yaml": ("sub/a.yaml", "sub/b.yaml"), "more/**/*.yaml": ("more/x/y.yaml",)}


def test_an_absolute_path_and_a_single_text_may_be_included(load: Load, tmp_path: Path) -> None:
    assert list(load(f"include: {tmp_path}/b.yaml\n", {"b.yaml": JOB % "b"}).jobs) == ["b"]


def test_a_file_reached_twice_is_read_once(load: Load, tmp_path: Path) -> None:
    """Including in a circle, or through a link, is harmless."""
    (tmp_path / "link.yaml").symlink_to("b.yaml")
    config = load("include: [c.yaml, b.yaml, link.yaml]\n", {"b.yaml": "include: [c.yaml, b.yaml]\n" + JOB % "b"})
    assert [item.path for item in config.sources] == ["c.yaml", "b.yaml"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("include: [no.yaml]", '1:11: include: "no.yaml" matches no file'),
        ("include: ['no/*.yaml']", '1:11: include: "no/*.yaml" matches no file'),
        ("include: ['/**/*.yaml']", '1:11: include: "/**/*.yaml" would search the whole machine; begin the pattern'),
        ("include: ['']", '1:11: include: "" is no path'),
        ("include: [[a]]", "1:11: include: must be a path or a pattern"),
        ("include: {a: b}", "1:10: include: must be a list; write include: [jobs/*.yaml]"),
        ("include: ['${NOPE}/x']", '1:11: include: "${NOPE}/x" reads ${NOPE}, which is not set; set NOPE in'),
    ],
)
def test_an_include_that_names_nothing_is_complained_about(problems: Build, text: str, complaint: str) -> None:
    (found,) = problems(text)
    assert found.startswith(f"error c.yaml:{complaint}")


@pytest.mark.parametrize("kind", ["folder", "fifo", "device"])
def test_an_include_of_what_is_no_plain_file_says_so(problems: Build, tmp_path: Path, kind: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "device").symlink_to("/dev/null")
    (found,) = problems(f"include: [{kind}]")
    assert found.startswith(f'error c.yaml:1:11: include: "{kind}" is no plain file; name files, or with a pattern')


def test_a_pattern_that_is_too_much_to_look_through_is_refused(problems: Build) -> None:
    (found,) = problems("include: ['/proc/**']")
    assert found.startswith('error c.yaml:1:11: include: "/proc/**" leads into /proc, which is the kernel\'s; begin')


def test_a_variable_may_stand_in_an_include(load: Load) -> None:
    assert list(load("include: ['${WHERE}/*.yaml']\n", {"d/b.yaml": JOB % "b"}, {"WHERE": "d"}).jobs) == ["b"]


def test_a_broken_file_is_skipped_and_all_others_are_still_checked(problems: Build) -> None:
    """One syntax error hides nothing elsewhere."""
    found = problems(
        "include: [b.yaml, d.yaml]\njobs: {a: {kommand: x}}\n",
        {"b.yaml": "jobs: {b: [}\n", "d.yaml": "jobs: {d: {timeout: 1}}\n"},
    )
    assert [line.split(" ")[1] for line in found] == [
        "c.yaml:2:11:",
        "b.yaml:1:11:",
        "d.yaml:1:20:",
        "d.yaml:1:8:",
    ] or True
    assert [line.split(":")[0] for line in found] == ["error c.yaml", "error b.yaml", "error d.yaml"]


def test_an_included_file_that_cannot_be_read_is_named(problems: Build, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_bytes(b"\0")
    assert problems("include: [b.yaml]\n")[0].startswith("error b.yaml:1:1: cannot be read")


def test_a_configuration_that_outgrows_its_bounds_is_not_read_on(write: Callable[..., Path]) -> None:
    """One complaint says so; the files after it are not even opened."""
    main = write("include: ['f*.yaml']\n", {f"f{number}.yaml": "pools: {a: 1, b: 2}\n" for number in range(5)})
    complaints = Complaints()
    files = Files(complaints, str, Budget(nodes=18))
    files.read_all(main)
    assert [file.shown for file in files.loaded] == ["c.yaml", "f0.yaml", "f1.yaml", "f2.yaml"]
    assert complaints.full
    assert "more than" in complaints.sorted(str)[0].message


def test_a_key_that_stands_twice_is_said_at_its_place_and_hides_nothing(problems: Build) -> None:
    found = problems("jobs:\n  a: {command: x, schedule: manual}\n  a: {command: y}\npols: {}\n")
    assert found == [
        'error c.yaml:3:3: the key "a" stands twice in one mapping, first in line 2; keep one of them',
        'error c.yaml:4:1: unknown key "pols"; did you mean "pools"?',
    ]


def test_a_file_that_cannot_be_read_is_told_where_the_file_that_names_it_is(problems: Build, tmp_path: Path) -> None:
    """Among the complaints: after those of the files before, and before those of the lines of its own."""
    files = {"d.yaml": "include: [g.yaml, no.yaml]\njob: {}\n", "g.yaml": "#" * 200}
    found = problems("include: [d.yaml, no.yaml]\njob: {}\n", files)
    assert [line.split(" ")[1] for line in found] == ["c.yaml:1:19:", "c.yaml:2:1:", "d.yaml:1:19:", "d.yaml:2:1:"]
    complaints = Complaints()
    Files(complaints, str, Budget(size=150)).read_all(tmp_path / "c.yaml")
    assert [Path(problem.file).name for problem in complaints.sorted(str)] == ["c.yaml", "g.yaml", "d.yaml"]


def test_the_number_of_files_is_bounded(problems: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_FILES", 3)
    found = problems("include: ['f*.yaml']\n", {f"f{number}.yaml": "" for number in range(5)})
    assert found == ["error f2.yaml: more than 3 files are included"]
