"""The files' formats: what is valid, what each crash leaves, and that every released version stays readable."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.minder import notes

V1_IDENTITY = (
    b'{"v":1,"key":"6ee806aea55f9a55","pid":13808,"start_ticks":277279,"started_at":"2026-11-30T00:27:22.152637Z",'
    b'"boot_id":"4c011755-d2b6-4dfb-9341-b292b5ce938a","minder_at":"2026-11-30T00:27:21.887656Z",'
    b'"monotonic":2773.066103194,"nursery":{"pid":13807,"start_ticks":277265},"timeout_s":60.0,"kill_grace_s":10.0,'
    b'"leftovers":"leave"}\n'
    b'{"job":{"pid":13811,"start_ticks":277306}}\n'
    b'{"bases":[0,17]}\n'
    b'{"ending":"timeout"}\n'
    b'{"guardian":{"pid":13807,"start_ticks":277265}}\n'
    b'{"undying":13811}\n'
)
"""A file as the first release wrote it. Never changed: it is what readers are held to."""
V1_NOTE = (
    b'{"v":1,"key":"6ee806aea55f9a55","exit_code":null,"signal":9,"started_at":"2026-11-30T00:27:22.152637Z",'
    b'"ended_at":"2026-11-30T00:27:22.159780Z","start_error":null,"stopped_by":"timeout","lost":null,"reason":"",'
    b'"survivors":[],"leftovers":[],"rusage":{"cpu_s":0.000994,"max_rss_bytes":12496896}}\n'
)
KEY = "6ee806aea55f9a55"


def test_the_first_releases_identity_is_read_in_full() -> None:
    """Every field of every line arrives."""
    found = notes.parse_identity(V1_IDENTITY, KEY)
    assert found is not None
    assert (found.key, found.minder, found.nursery) == (KEY, notes.Proc(13808, 277279), notes.Proc(13807, 277265))
    assert (found.job, found.guardian) == (notes.Proc(13811, 277306), notes.Proc(13807, 277265))
    assert (found.limits.timeout_s, found.limits.kill_grace_s, found.limits.leftovers) == (60.0, 10.0, "leave")
    assert (found.monotonic, found.ending, found.undying, found.bases) == (2773.066103194, "timeout", 13811, [0, 17])
    assert found.boot_id == "4c011755-d2b6-4dfb-9341-b292b5ce938a"
    assert found.minder_at == "2026-11-30T00:27:21.887656Z"


def test_the_first_releases_note_is_read() -> None:
    """With its key, and without asking for one."""
    for key in (KEY, None):
        found = notes.parse_note(V1_NOTE, key)
        assert found is not None
        assert (found["signal"], found["stopped_by"]) == (9, "timeout")


def test_what_is_written_is_read_back() -> None:
    """The writer of today and the reader of for ever agree."""
    written = notes.Identity(
        key="k",
        minder=notes.Proc(5, 6),
        nursery=None,
        boot_id="b",
        started_at="s",
        minder_at="m",
        monotonic=1.5,
        limits=notes.Limits(None, 2.0, "kill", 0.5),
    )
    found = notes.parse_identity(written.first_line())
    assert found is not None
    for name in ("key", "minder", "nursery", "boot_id", "started_at", "minder_at", "monotonic", "job", "guardian"):
        assert getattr(found, name) == getattr(written, name), name
    limits = found.limits
    assert (limits.timeout_s, limits.kill_grace_s, limits.leftovers, limits.lease_grace_s) == (None, 2.0, "kill", 0.5)
    older = notes.parse_identity(written.first_line().replace(b',"lease_grace_s":0.5', b""))
    assert older is not None
    assert older.limits.lease_grace_s is None


def test_a_guardian_is_the_minder_until_another_is_named() -> None:
    """The first line alone names who guards."""
    found = notes.parse_identity(V1_IDENTITY.split(b"\n")[0] + b"\n")
    assert found is not None
    assert (found.guardian, found.job, found.ending) == (found.minder, None, None)


@given(st.integers(min_value=0, max_value=len(V1_IDENTITY)))
def test_any_beginning_of_an_identity_is_read_or_is_none(length: int) -> None:
    """A guardian may be killed between any two bytes: half a first line is no identity, half a later one is ignored."""
    found = notes.parse_identity(V1_IDENTITY[:length], KEY)
    whole = V1_IDENTITY[:length].count(b"\n")
    assert (found is not None) == (whole >= 1)
    if found is not None:
        assert (found.job is not None) == (whole >= 2)
        assert (found.undying is not None) == (whole >= 6)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_readers_stumble(data: bytes) -> None:
    """Whatever lies in a file, the answer is a value or None, never an exception."""
    assert notes.parse_identity(data, "k") is None
    assert notes.parse_note(data, "k") is None
    joined = notes.parse_identity(V1_IDENTITY + data + b"\n", KEY)
    assert joined is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["v", "key", "pid", "start_ticks", "nursery", "timeout_s", "job"]), JSON))
def test_no_json_makes_the_readers_stumble(value: dict[str, object]) -> None:
    """Fields of the wrong type count as absent; without the numbers it is no identity."""
    found = notes.parse_identity(json.dumps(value).encode() + b"\n")
    if found is not None:
        assert value["v"] == 1
        assert isinstance(value["pid"], int)
    notes.parse_note(json.dumps(value).encode())


@pytest.mark.parametrize(
    "data",
    [
        V1_NOTE.replace(b'"v":1', b'"v":2'),
        V1_NOTE.replace(b'"v":1', b'"v":"1"'),
        V1_NOTE.replace(b'"v":1,', b""),
        V1_NOTE.replace(KEY.encode(), b"another"),
        V1_NOTE[:-5],
        V1_NOTE + V1_NOTE,
        b"[]",
        b"null",
        b"\0" * 4096,
        b"[" * 100_000,
    ],
)
def test_a_note_is_valid_only_as_the_format_says(data: bytes) -> None:
    """Complete JSON, a known version, the right key; else it is no note."""
    assert notes.parse_note(data, KEY) is None


def test_paths_hang_on_the_notes_own() -> None:
    """Everything of an attempt lies beside its note."""
    status = "/s/x.json"
    assert notes.identity_path(status) == "/s/x.json.pid"
    assert notes.stop_path(status) == "/s/x.json.stop"
    assert notes.block_path(status) == "/s/x.json.new"


def test_a_note_with_every_pid_it_may_name_fits_its_block() -> None:
    """The room reserved before the job starts is enough, whatever is left alive."""
    identity = notes.parse_identity(V1_IDENTITY)
    assert identity is not None
    note = notes.blank_note(identity) | {"survivors": [4_194_304] * notes.NAMED_PIDS, "reason": "é" * 200}
    note |= {"start_error": "x" * 300, "rusage": {"cpu_s": 1e9, "max_rss_bytes": 2**63}}
    assert len(notes.line(note)) <= notes.BLOCK_BYTES
