"""Whatever bytes come, reading them ends well: a configuration or complaints in order, within bounds."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from pyscheduler.config import build_config, builder
from pyscheduler.config.alerting import plain
from pyscheduler.config.compose import Budget, compose
from pyscheduler.config.lenient import compose_leniently
from pyscheduler.config.source import check_text
from pyscheduler.config.tree import Block, Items, Tree, TreeError

FRAGMENTS = st.sampled_from(
    [
        *(b"jobs:", b"scheduler:", b"calendars:", b"defaults:", b"include:", b"pools:", b"routes:", b"notifiers:"),
        *(b"command: x", b"schedule: '@daily'", b"schedule: @daily", b"depends_on: [a]", b"timeout: 1h", b"<<: *a"),
        *(
            b"&a",
            b"*a",
            b"!!str",
            b"!x",
            b"- ",
            b"? ",
            b": ",
            b"{",
            b"}",
            b"[",
            b"]",
            b",",
            b"|",
            b">",
            b"'",
            b'"',
            b"#",
        ),
        *(
            b"\n",
            b"\n  ",
            b"\n    ",
            b"\t",
            b"\r\n",
            b"---\n",
            b"...\n",
            b"%YAML 1.2\n",
            b"${A}",
            b"$$",
            b"{job}",
            b"a",
            b"0",
        ),
        *("é😀".encode(), b"\xff", b"\0", b"\xe2\x82", b"\xef\xbb\xbf"),
    ]
)
TEXTS = st.one_of(st.binary(max_size=200), st.lists(FRAGMENTS, max_size=40).map(b"".join))


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@given(data=TEXTS)
@example(data=b"jobs: {a: {<<: *a}}")
@example(data=b"a: &a\n  b: *a\n")
@example(data=b"\xef\xbb\xbf\xef\xbb\xbf")
def test_any_bytes_end_in_a_configuration_or_in_complaints(folder: Path, data: bytes) -> None:
    """Nothing raises, and every complaint has a place in a file and words for people."""
    path = folder / "c.yaml"
    path.write_bytes(data)
    config, problems = build_config(path, env={"A": "value"}, today=date(2027, 5, 3))
    assert config.settings.timezone
    for problem in problems:
        assert problem.message
        assert problem.file == str(path)
        assert problem.line >= 0
        assert problem.column >= 0
    places = [(problem.line, problem.column) for problem in problems]
    assert places == sorted(places)


@given(data=TEXTS)
def test_a_finished_tree_keeps_its_promises(data: bytes) -> None:
    """Keys are text and unique, there is no cycle, every node has a place within the text."""
    try:
        check_text(data)
        composed = compose_leniently(data, Budget())
    except TreeError:
        return
    if composed.root is not None:
        walk(composed.root, data.count(b"\n") + data.count(b"\r") + 3, 0)


def walk(node: Tree, lines: int, depth: int) -> None:
    assert depth <= builder.MAX_DEPTH
    if isinstance(node, Block):
        assert len(node.places) == 4 * len(node)
        for key, value in node.items():
            assert 1 <= node.key_place(key)[0] <= lines
            assert 1 <= node.value_place(key)[0] <= lines
            walk(value, lines, depth + 1)
    elif isinstance(node, Items):
        assert len(node.places) == 2 * len(node)
        for value in node:
            walk(value, lines, depth + 1)
    else:
        assert isinstance(node, str)


@given(data=TEXTS)
def test_it_agrees_with_another_reader_of_yaml(data: bytes) -> None:
    """Where PyYAML's own text-only loader reads a document and ours has no complaint, both see the same.

    Apart from merge keys, which that loader does not know, and from keys that are no text.
    """
    try:
        check_text(data)
        ours = compose(data, Budget())
        theirs = yaml.load(data, Loader=yaml.CBaseLoader)
    except (TreeError, yaml.YAMLError, TypeError, ValueError):
        return
    if ours.flaws or b"<<" in data:
        return
    assert (None if ours.root is None else plain(ours.root)) == theirs


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Co", "Cn", "Zl", "Zp"]), max_size=12)
TREES: st.SearchStrategy[Any] = st.recursive(
    WORDS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=20
)


@given(
    tree=st.dictionaries(WORDS, TREES, max_size=5),
    width=st.integers(20, 200),
    flow=st.sampled_from([True, False, None]),
)
def test_what_is_written_as_yaml_is_read_back(tree: dict[str, Any], width: int, flow: bool | None) -> None:
    """Any text, in any style a writer chooses."""
    text = yaml.dump(tree, allow_unicode=True, width=width, default_flow_style=flow, default_style='"')
    composed = compose(text.encode(), Budget())
    assert composed.flaws == []
    assert composed.root is not None
    assert plain(composed.root) == tree


KEYS = st.sampled_from(
    ["timeout", "retries", "schedule", "depends_on", "env", "pools", "overlap", "limits", "watch", "type", "x"]
)
VALUES = st.recursive(
    st.sampled_from(
        [
            "",
            "~",
            "1h",
            "x",
            "${A}",
            "{job}",
            "{",
            "manual",
            "0 0 31 4 *",
            "queue",
            "file_watcher",
            "a",
            "1:30",
            "@daily",
        ]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


@given(
    jobs=st.dictionaries(
        st.sampled_from(["a", "b", "c", "a b", "_scheduler", "A"]),
        st.dictionaries(KEYS, VALUES, max_size=5),
        max_size=4,
    )
)
def test_any_keys_with_any_values_are_read_or_complained_about(folder: Path, jobs: dict[str, Any]) -> None:
    """The shapes of the keys in every wrong combination: no traceback, no silence about a broken job."""
    path = folder / "c.yaml"
    path.write_text(yaml.dump({"jobs": jobs}, default_style="'"))
    config, problems = build_config(path, env={"A": "value"}, today=date(2027, 5, 3), allow_inactive=True)
    told = {problem.job for problem in problems}
    for name in jobs:
        assert name in config.jobs or name in told or any(name in problem.message for problem in problems)
    assert os.fspath(path) == problems[0].file if problems else True
