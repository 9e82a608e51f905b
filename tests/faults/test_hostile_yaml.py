"""Unreadable, binary, huge, cyclic and hostile configurations: a clear error, one second of processor time, 300 MB.

Each text is read in a process of its own that the kernel ends at the limits: 300 MB of address space above what was
mapped before the reading began, and two seconds of processor time. (On an idle machine none takes one; two processes
that share a core make each other's processor time longer.) One helper imports everything once and forks a child for
each text, so that only the reading counts.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

MB = 1 << 20

HELPER = """
import json, os, resource, sys
from datetime import date
from pyscheduler.config import build_config

TODAY = date(2027, 5, 3)

def memory(word):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(word)) * 1024

def read(path):
    before = memory("VmRSS")
    limit = memory("VmSize") + 300 * (1 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (2, 3))
    _, problems = build_config(path, env={}, today=TODAY)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "cpu_s": used.ru_utime + used.ru_stime,
        "rss_mb": (memory("VmHWM") - before) / (1 << 20),
        "problems": [str(problem) for problem in problems[:3]],
        "count": len(problems),
        "errors": sum(problem.severity == "error" for problem in problems),
    }

build_config(sys.argv[1], env={}, today=TODAY)
for line in sys.stdin:
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        with open(theirs, "w") as answer:
            json.dump(read(line.rstrip("\\n")), answer)
        os._exit(0)
    os.close(theirs)
    with open(ours) as answer:
        said = answer.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(said if status == 0 else json.dumps({"ended": status}), flush=True)
"""

Read = Callable[[Path], dict[str, Any]]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    """Read a configuration under the limits and tell what came of it."""
    warm = tmp_path_factory.mktemp("warm") / "c.yaml"
    warm.write_text("jobs: {a: {command: x, schedule: '@daily', timezone: Asia/Tokyo}}\n")
    errors = warm.with_name("stderr").open("w+")
    helper = subprocess.Popen(
        [sys.executable, "-c", HELPER, str(warm)],
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.defpath},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )
    assert helper.stdin is not None
    assert helper.stdout is not None
    ask, told = helper.stdin, helper.stdout

    def one(path: Path) -> dict[str, Any]:
        ask.write(f"{path}\n")
        ask.flush()
        result: dict[str, Any] = json.loads(told.readline())
        errors.seek(0)
        assert "ended" not in result, f"ended with {result['ended']}: {errors.read()[-500:]}"
        return result

    yield one
    ask.close()
    assert helper.wait(timeout=30) == 0
    told.close()
    errors.close()


def laughs() -> bytes:
    lines = [b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [b"a%d: &a%d [%s]" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 40)]
    return b"\n".join(lines)


def merges() -> bytes:
    wide = b"a: &a {" + b", ".join(b"k%d: v" % n for n in range(2000)) + b"}\n"
    return wide + b"".join(b"m%d: {<<: [*a, *a, *a]}\n" % n for n in range(5000))


def many_jobs(one: bytes, count: int = 49_000) -> bytes:
    return b"jobs:\n" + b"".join(b"  j%d: %s\n" % (n, one.replace(b"%", b"%d" % n)) for n in range(count))


def hundreds() -> bytes:
    keys = b"".join(b"  k%d: v\n" % n for n in range(10_000))
    return b"".join(b"m%d:\n%s" % (n, keys) for n in range(100))


def circles() -> bytes:
    pair = b"  a%d: {command: x, depends_on: [b%d]}\n  b%d: {command: x, depends_on: [a%d]}\n"
    return b"jobs:\n" + b"".join(pair % (n, n, n, n) for n in range(2_500))


def emoji() -> bytes:
    value = ("x" * 120_000 + "😀").encode()
    return b"".join(b"k%d: %s\n" % (n, value) for n in range(31 * MB // len(value)))


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "binary": (lambda: random.Random(1).randbytes(31 * MB), "cannot be read"),
    "nul bytes": (lambda: b"\0" * (31 * MB), "is this a binary file?"),
    "a bad byte at the end of 31 MB": (lambda: b"# x\n" * (31 * MB // 4) + b"\xff", "is not UTF-8"),
    "a million keys": (lambda: b"".join(b"k%d: v\n" % n for n in range(1_000_000)), "more than 50,000 entries"),
    "a million keys in a hundred mappings": (hundreds, "more than 450,000 keys and values"),
    "a million jobs": (lambda: many_jobs(b"{}", 1_000_000), "more than 50,000 entries"),
    "a million items": (lambda: b"jobs: [" + b"a," * 1_000_000 + b"]", "more than 50,000 entries"),
    "a million lists": (lambda: b"jobs: [" + b"[]," * 1_000_000 + b"]", "more than 50,000 entries"),
    "one key a million times": (lambda: b"jobs: x\n" * 1_000_000, "stands twice"),
    "a million anchors": (lambda: b"".join(b"k%d: &a%d v\n" % (n, n) for n in range(10**6)), "more than 50,000"),
    "a hundred thousand levels": (lambda: b"[" * 100_000, "nested too deep"),
    "a hundred thousand list dashes": (lambda: b"- " * 100_000, "levels of nesting"),
    "two thousand indents": (lambda: b"".join(b" " * n + b"a:\n" for n in range(2_000)), "levels of nesting"),
    "aliases for billions": (laughs, "more than 450,000 keys and values"),
    "merges of merges": (merges, "more than 450,000 keys and values"),
    "a list that holds itself": (lambda: b"jobs: &a [*a]", "stands inside what it names"),
    "31 MB of comment": (lambda: b"#" * (31 * MB), "without the end of a value or key"),
    "31 MB of blanks": (lambda: b" " * (31 * MB), "without the end of a value or key"),
    "31 MB of empty lines": (lambda: b"\n" * (31 * MB), "without the end of a value or key"),
    "31 MB in one value": (lambda: b"jobs: " + b"x" * (31 * MB), "without the end of a value or key"),
    "31 MB in one quoted value": (lambda: b'jobs: "' + b"x " * (15 * MB) + b'"', "without the end of a value or key"),
    "31 MB in one block value": (lambda: b"jobs: |\n" + b" x\n" * (10 * MB), "without the end of a value or key"),
    "31 MB of long values": (emoji, "unknown key"),
    "a quote that never ends": (lambda: b'jobs: "' + b"x\n" * 400_000, "is never closed"),
    "a value of 200 KB": (lambda: b"jobs: {a: {command: " + b"x" * 200_000 + b"}}", "is the limit"),
    "a key of 200 KB": (lambda: b"x" * 200_000 + b": y\n", "is the limit"),
    "directives": (lambda: b"%FOO bar\n" * 1_000_000, ""),
    "unknown jobs": (lambda: many_jobs(b"{command: x, depends_on: [nope%]}", 5_000), "unknown job"),
    "unknown keys": (lambda: many_jobs(b"{kommand%: x}"), "unknown key"),
    "unknown zones": (lambda: many_jobs(b"{command: x, timezone: Europe/B%}", 40_000), "is no time zone"),
    "impossible schedules": (lambda: many_jobs(b"{command: x, schedule: '% 0 31 4 *'}", 40_000), ""),
    "two jobs in a circle, thousands of times": (circles, "it waits for itself"),
    "wrong formats": (lambda: many_jobs(b"{command: '{attempt:999999999d}'}"), "number over 999"),
    "unquoted colons": (lambda: b"".join(b"k%d: a: b\n" % n for n in range(100_000)), "a colon and a blank"),
    "one long line of blanks and colons": (lambda: b"a: b: c" + b" " * 900_000 + b"d: e\n", ""),
    "the whole machine as an include": (lambda: b"include: ['/**']\n", "would search the whole machine"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_answered_clearly_within_bounds(tmp_path: Path, read: Read, name: str) -> None:
    """One second and 300 MB, whatever it is, and words that say what is wrong."""
    make, said = HOSTILE[name]
    path = tmp_path / "c.yaml"
    path.write_bytes(make())
    result = read(path)
    assert result["errors"] >= 1, "a hostile text must not pass"
    assert any(said in problem for problem in result["problems"]), result["problems"]
    assert result["count"] <= 2001


def test_a_file_over_32_mb_is_refused_before_it_is_read(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "c.yaml"
    with path.open("wb") as handle:
        handle.truncate(40 << 30)
    result = read(path)
    assert "32 MiB is the limit" in result["problems"][0]
    assert result["rss_mb"] < 10


def test_an_unreadable_file_is_said(tmp_path: Path, read: Read) -> None:
    path = tmp_path / "c.yaml"
    path.symlink_to(path)
    assert "cannot be read" in read(path)["problems"][0]


def test_an_include_in_a_circle_is_harmless(tmp_path: Path, read: Read) -> None:
    (tmp_path / "c.yaml").write_text("include: [c.yaml, d.yaml]\n")
    (tmp_path / "d.yaml").write_text("include: [c.yaml, d.yaml]\n")
    assert read(tmp_path / "c.yaml")["count"] == 0


def test_files_share_one_budget(tmp_path: Path, read: Read) -> None:
    """Dividing a hostile text into files does not multiply its cost."""
    for number in range(20):
        pools = b"".join(b"  p%d-%d: 1\n" % (number, n) for n in range(40_000))
        (tmp_path / f"f{number}.yaml").write_bytes(b"pools:\n" + pools)
    (tmp_path / "c.yaml").write_text("include: ['f*.yaml']\n")
    result = read(tmp_path / "c.yaml")
    assert any("more than 450,000 keys and values" in problem for problem in result["problems"])
