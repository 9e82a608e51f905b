"""From a LaunchSpec to an order: what cannot be exec'd is refused, everything else arrives as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.engine.minding.orders import encode
from pyscheduler.engine.ports import LaunchSpec
from pyscheduler.minder import frames

SPEC = LaunchSpec(
    run_id="nightly.2027-05-20.1",
    attempt=1,
    key="k",
    argv=("/bin/sh", "-c", "true"),
    env={"PATH": "/bin"},
    stdout_path=Path("/logs/x.out"),
    stderr_path=None,
    status_path=Path("/state/status/x.json"),
    cwd="/work",
    timeout_s=5.0,
)

ARGUMENT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
ODD = (
    st.binary(max_size=20)
    .filter(lambda data: b"\0" not in data)
    .map(lambda data: data.decode("utf-8", "surrogateescape"))
)


@given(st.lists(ARGUMENT | ODD, min_size=1, max_size=5), st.dictionaries(st.sampled_from("ABC"), ARGUMENT | ODD))
def test_whatever_can_be_execd_arrives_as_it_was(argv: list[str], env: dict[str, str]) -> None:
    """Quotes, newlines, every script of the world, and bytes that are no text."""
    body = frames.Order(encode(replace(SPEC, argv=tuple(argv), env=env), lock=True)).body()
    assert body.argv == argv
    assert body.env == env


def test_the_order_holds_all_that_a_minder_needs() -> None:
    """Paths are absolute, limits in seconds, and stderr None means merged."""
    order = frames.Order(encode(replace(SPEC, limits={"core": 0}), lock=False))
    body = order.body()
    assert (order.key, order.status, order.lock, order.special) == ("k", "/state/status/x.json", False, True)
    assert (body.cwd, body.stdout, body.stderr, body.timeout_s) == ("/work", "/logs/x.out", None, 5.0)
    assert body.limits == {"core": 0}


@pytest.mark.parametrize(
    ("change", "special"),
    [({}, False), ({"umask": 0o22}, False), ({"user": "x"}, True), ({"nice": 0}, True), ({"limits": {"cpu": 1}}, True)],
)
def test_only_user_limits_and_nice_take_a_fork(change: dict[str, Any], *, special: bool) -> None:
    """Everything else is done by posix_spawn in a minder that may have served others."""
    assert frames.Order(encode(replace(SPEC, **change), lock=True)).special is special


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"argv": ()}, ValueError),
        ({"argv": ("a\0b",)}, ValueError),
        ({"argv": (b"bytes",)}, TypeError),
        ({"argv": (1,)}, TypeError),
        ({"env": {"A": "a\0"}}, ValueError),
        ({"env": {"A=B": "x"}}, ValueError),
        ({"env": {"": "x"}}, ValueError),
        ({"env": {"A": None}}, TypeError),
        ({"cwd": "/a\0"}, ValueError),
        ({"stdout_path": Path("/a\0")}, ValueError),
        ({"env": {"A": "x" * 5_000_000}}, ValueError),
    ],
)
def test_what_can_never_be_execd_is_refused(change: dict[str, Any], error: type[Exception]) -> None:
    """Before any file exists."""
    with pytest.raises(error):
        encode(replace(SPEC, **change), lock=True)
