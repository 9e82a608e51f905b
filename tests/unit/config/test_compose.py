"""From bytes of YAML to a tree. Spec: jobs.md 1.2, DESIGN 8 row 9."""

from __future__ import annotations

from typing import Any

import pytest

from pyscheduler.config import builder, feed
from pyscheduler.config.alerting import plain
from pyscheduler.config.compose import Budget, compose
from pyscheduler.config.tree import Block, Null, TreeError


def read(text: str | bytes) -> Any:
    data = text if isinstance(text, bytes) else text.encode()
    composed = compose(data, Budget())
    assert composed.flaws == []
    return None if composed.root is None else plain(composed.root)


def refusal(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(TreeError) as refused:
        compose(data, Budget())
    error = refused.value
    return f"{error.line}:{error.column}: {error.what}" + (f"; {error.mend}" if error.mend else "")


# --------------------------------------------------------------------------- what is accepted


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a:\n  b: c\n", {"a": {"b": "c"}}),
        ("a:\n- x\n- y\n", {"a": ["x", "y"]}),
        ("- k: v\n  l: w\n- - x\n  - y\n", [{"k": "v", "l": "w"}, ["x", "y"]]),
        ("a: [x,\n  y, ]\nb: {c: 1, }\n", {"a": ["x", "y"], "b": {"c": "1"}}),
        ("a: 'it''s'\n", {"a": "it's"}),
        ('a: "\\n\\t\\r\\0\\b\\f\\e\\"\\\\\\/\\ \\x41\\u00e9\\U0001F600"\n', {"a": '\n\t\r\0\b\f\x1b"\\/ Aé😀'}),
        ("a: |\n  x\n  y\nb: >-\n  x\n  y\nc: |+\n  x\n\n", {"a": "x\ny\n", "b": "x y", "c": "x\n\n"}),
        ("# c\n---\na: b # c\n", {"a": "b"}),
        ("a: b\r\nc: d\r\n", {"a": "b", "c": "d"}),
        ("a: x#y\n", {"a": "x#y"}),
        ("", None),
        ("# nothing but a comment\n", None),
        ("---\n", ""),
        ("a: x\n   y\n", {"a": "x y"}),
        ("a: |2\n   x\n", {"a": " x\n"}),
        ("%YAML 1.2\n---\na: b\n...\n", {"a": "b"}),
        ("? a\n: b\n", {"a": "b"}),
    ],
)
def test_yaml_is_read_with_nothing_but_text_in_it(text: str, tree: object) -> None:
    """The accepted half of spec 1.2, and what DESIGN 8 row 9 adds to it."""
    assert read(text) == tree


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "NO",
        "on",
        "yes",
        "~",
        "null",
        "true",
        "1e3",
        "08:00",
        "12:30",
        "0027",
        "1.0",
        "0x1F",
        "2027-05-20",
        "1_000",
        ".inf",
    ],
)
def test_a_scalar_keeps_its_text(text: str) -> None:
    """No type is guessed before the field's own reader sees the text."""
    assert read(f"a: {text}\n{text}: b\n") == {"a": text, text: "b"}


def test_a_key_with_nothing_after_it_is_empty_text() -> None:
    assert read("a:\nb: x\n") == {"a": "", "b": "x"}


@pytest.mark.parametrize(
    ("text", "null"), [("~", True), ("null", True), ("", True), ("'~'", False), ('""', False), ("!!str null", False)]
)
def test_only_a_plain_null_is_remembered_as_one(text: str, null: bool) -> None:
    composed = compose(f"a: {text}\n".encode(), Budget())
    assert isinstance(composed.root, Block)
    assert isinstance(composed.root["a"], Null) == null


def test_anchors_aliases_and_merge_keys_are_followed() -> None:
    """What a block says itself wins over what is merged in, and an earlier source over a later one."""
    text = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc:\n  <<: [*a, *b]\n  x: 9\nd: *a\ne: {<<: *b}\nf: [&s one, *s]\n"
    tree = read(text)
    assert tree["c"] == {"x": "9", "y": "2", "z": "4"}
    assert tree["d"] == {"x": "1", "y": "2"}
    assert tree["e"] == {"y": "3", "z": "4"}
    assert tree["f"] == ["one", "one"]


def test_a_merged_key_keeps_the_place_where_it_was_written() -> None:
    composed = compose(b"a: &a {x: 1}\nb:\n  <<: *a\n", Budget())
    assert isinstance(composed.root, Block)
    merged = composed.root["b"]
    assert isinstance(merged, Block)
    assert merged.value_place("x") == (1, 11)


def test_a_quoted_merge_sign_is_an_ordinary_key() -> None:
    assert read("'<<': x\n") == {"<<": "x"}


def test_an_alias_may_be_a_key() -> None:
    assert read("a: &k name\n*k : v\n") == {"a": "name", "name": "v"}


@pytest.mark.parametrize("text", ["a: !!str no", "a: !!int '3'", "a: !!map {}", "a: !!seq []", "a: ! x"])
def test_a_core_tag_changes_nothing(text: str) -> None:
    read(text)


# --------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("a:\n\tb: c\n", "2:1: a value cannot begin with this character"),
        ("\ta: b\n", "1:1: a value cannot begin with this character"),
        ("a: !foo x\n", "1:4: the tag !foo"),
        ("a: !!python/object/apply:os.system [x]\n", "1:4: the tag !!python/object/apply:os.system"),
        ("a: !!set {x}\n", "1:4: the tag !!set"),
        ("a: 1\n---\nb: 2\n", "2:1: a second document begins here"),
        ("%TAG ! tag:x,2000:\n---\na: b\n", "1:1: a %TAG directive"),
        ("a: &x [*x]\n", "1:8: the alias *x stands inside what it names"),
        ("a: &x\n  <<: *x\n", "2:7: the alias *x stands inside what it names"),
        ("a: *nope\n", "1:4: the alias *nope names no anchor above it"),
        ("a: */5 * * * *\n", "1:4: an unquoted value that begins with * is an alias; quote it"),
        ("[a]: b\n", "1:1: a key must be text"),
        ("? {a: b}\n: c\n", "1:3: a key must be text"),
        ("a: &l [x]\n*l : v\n", "2:1: a key must be text"),
        ("a: [x\n", "2:1: a [ or { is never closed"),
        ('a: "x\n', "1:4: the quote that opens here is never closed"),
        ("a: 'x\n", "1:4: the quote that opens here is never closed"),
        ("a: x\n b: y\n", "2:3: a colon and a blank inside an unquoted value"),
        ("a: b: c\n", "1:5: a colon and a blank inside an unquoted value"),
        ("a: `date`\n", "1:4: a value cannot begin with this character"),
        ('a: "\\q"\n', "1:5: an unknown escape"),
        ("- a\nb: c\n", "2:1: this line does not fit the list above it"),
        ("a: b\nc\n", "3:1: a key without a colon"),
        ("a: [\n", "2:1: a [ or { is never closed, or no value stands where one must"),
        ("a: |\n\t x\n", "2:1: a tab in the indentation"),
        ("a: - b\n", "1:4: a list cannot begin here"),
        ("[a]\nb: c\n", "2:1: nothing can follow here"),
        ("a: !x!y z\n", "1:4: a tag"),
        ("%YAML 3.0\n---\na: b\n", "1:1: this YAML version is unknown"),
        (b"a: \xed\xa0\x80\n", "1:4: the character 0xd800 has no place"),
        ("é: x\ny: \ufffe\n", "2:4: the character 0xfffe has no place"),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_place(text: str | bytes, refused: str) -> None:
    assert refusal(text).startswith(refused)


def test_a_key_that_stands_twice_is_complained_about_and_the_first_one_counts() -> None:
    """It does not stop the reading: everything else of the file is still looked at."""
    composed = compose(b"a: 1\nb: 2\na: 3\nb: 4\n", Budget())
    assert plain(composed.root or "") == {"a": "1", "b": "2"}
    assert [(flaw.line, flaw.what) for flaw in composed.flaws] == [
        (3, 'the key "a" stands twice in one mapping, first in line 1'),
        (4, 'the key "b" stands twice in one mapping, first in line 2'),
    ]


def test_keys_that_stand_twice_again_and_again_end_the_reading() -> None:
    with pytest.raises(TreeError, match="stands twice"):
        compose(b"a: b\n" * (builder.MAX_FLAWS + 2), Budget())


@pytest.mark.parametrize("text", [b"a: {<<: x}\n", b"a: &l [x]\nb: {<<: *l}\n", b"a: &a {}\nb:\n  <<: *a\n  <<: *a\n"])
def test_a_merge_of_anything_but_mappings_is_complained_about(text: bytes) -> None:
    composed = compose(text, Budget())
    assert len(composed.flaws) == 1
    assert "<<" in composed.flaws[0].what


# --------------------------------------------------------------------------- bounds


def test_nodes_are_counted_over_all_files_of_a_configuration() -> None:
    budget = Budget(nodes=10)
    compose(b"a: b\nc: d\n", budget)
    assert budget.nodes == 5, "two keys, two values, one mapping"
    with pytest.raises(TreeError, match="more than"):
        compose(b"[a, b, c, d, e]\n", budget)


def test_an_alias_counts_as_often_as_it_is_used() -> None:
    """A dozen lines of aliases may stand for billions of nodes: refused before the first is looked at."""
    lines = [b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [b"a%d: &a%d [%s]" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 30)]
    budget = Budget()
    with pytest.raises(TreeError, match=f"more than {builder.MAX_NODES:,}"):
        compose(b"\n".join(lines), budget)


def test_nesting_is_bounded_also_through_aliases() -> None:
    deep = b"[" * (builder.MAX_DEPTH) + b"]" * (builder.MAX_DEPTH)
    compose(deep, Budget())
    with pytest.raises(TreeError, match="levels of nesting"):
        compose(b"[" + deep + b"]", Budget())
    chain = b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [*a%d]\n" % (n, n, n - 1) for n in range(1, 100))
    with pytest.raises(TreeError, match="nesting through the alias"):
        compose(chain, Budget())


def test_nesting_beyond_what_libyaml_takes_is_refused_like_any_other() -> None:
    with pytest.raises(TreeError, match=r"levels of nesting|nested too deep"):
        compose(b"[" * 100_000, Budget())
    with pytest.raises(TreeError, match=r"levels of nesting|nested too deep"):
        compose(b"- " * 100_000, Budget())


def test_the_entries_of_one_collection_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MAX_WIDTH", 3)
    compose(b"{a: b, c: d, e: f}", Budget())
    with pytest.raises(TreeError, match="more than 3 entries"):
        compose(b"{a: b, c: d, e: f, g: h}", Budget())
    with pytest.raises(TreeError, match="more than 3 entries"):
        compose(b"[a, b, c, d]", Budget())


def test_a_value_longer_than_any_argument_is_refused() -> None:
    with pytest.raises(TreeError, match="is the limit"):
        compose(b"a: " + b"x" * (builder.MAX_VALUE + 1) + b"\n", Budget())
    compose(b"a: " + b"x" * builder.MAX_VALUE + b"\n", Budget())


@pytest.mark.parametrize("filler", [b"#" + b"x" * 99 + b"\n", b" " * 99 + b"\n", b"\n", b"y y y y y "])
def test_a_stretch_without_the_end_of_a_value_is_refused(filler: bytes) -> None:
    """Comments, blanks, or a value without end: reading stops after a mebibyte of it."""
    data = b"a: b\nc: x\n" + filler * (3 * feed.MAX_GAP // len(filler))
    with pytest.raises(TreeError, match="without the end of a value") as refused:
        compose(data, Budget())
    assert refused.value.line >= 1
