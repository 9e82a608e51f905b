"""What travels: cut anywhere it arrives whole, too long it is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.minder import frames

HEAD = {"key": "k", "status": "/s/k.json", "lock": True, "special": False, "tap": None}
BODY = {
    "argv": ["true"],
    "env": {"A": "b\n"},
    "cwd": "/",
    "stdout": "/o",
    "stderr": None,
    "timeout_s": 1.5,
    "kill_grace_s": 2.0,
    "leftovers": "leave",
    "user": None,
    "umask": None,
    "nice": None,
    "limits": {"core": 0},
    "lease_grace_s": 0.5,
}


def payload(**head: object) -> bytes:
    return json.dumps({**HEAD, **head}).encode() + b"\n" + json.dumps(BODY).encode() + b"\n"


@given(st.lists(st.binary(max_size=50), max_size=8), st.integers(min_value=1, max_value=20))
def test_frames_arrive_whole_however_they_are_cut(payloads: list[bytes], step: int) -> None:
    """A stream keeps no borders but ours."""
    stream = b"".join(frames.frame(one) for one in payloads)
    reader, found = frames.Reader(), []
    for at in range(0, len(stream), step):
        found += reader.feed(stream[at : at + step])
    assert found == payloads


def test_a_length_beyond_the_bound_is_a_broken_stream() -> None:
    """Four gigabytes are not waited for."""
    with pytest.raises(ValueError, match="a frame of 4294967295 bytes"):
        frames.Reader().feed(b"\xff\xff\xff\xff")


def test_an_orders_head_is_read_and_its_body_kept_as_it_came() -> None:
    """The nursery reads one line; the minder the other."""
    order = frames.Order(payload(tap=1000))
    assert (order.key, order.status, order.lock, order.special, order.tap) == ("k", "/s/k.json", True, False, 1000)
    body = order.body()
    assert {name: getattr(body, name) for name in BODY} == BODY


def test_an_order_of_an_older_scheduler_is_read() -> None:
    """It says nothing of leases: its job goes on whatever becomes of its node."""
    older = {name: value for name, value in BODY.items() if name != "lease_grace_s"}
    order = frames.Order(json.dumps(HEAD).encode() + b"\n" + json.dumps(older).encode() + b"\n")
    assert order.body().lease_grace_s is None
    del older["limits"]
    with pytest.raises(KeyError):
        frames.Order(json.dumps(HEAD).encode() + b"\n" + json.dumps(older).encode() + b"\n").body()


def test_a_begun_order_gives_its_memory_back_unless_its_output_may_be_taken_over() -> None:
    """Four megabytes an attempt would add up; a tapped order still says where the output goes."""
    plain, tapped = frames.Order(payload()), frames.Order(payload(tap=5))
    plain.forget_body()
    tapped.forget_body()
    assert plain.payload == b""
    assert tapped.body().stdout == "/o"


def test_a_report_is_one_frame_of_json() -> None:
    """What minders write to the shared pipe is a frame like any other."""
    (found,) = frames.Reader().feed(frames.report("started", key="k", pid=5))
    assert json.loads(found) == {"r": "started", "key": "k", "pid": 5}


@pytest.mark.parametrize("text", ["x" * 10_000, "\0" * 10_000, "\udcff" * 5000, "é\n" * 5000])
def test_a_report_to_the_shared_pipe_is_one_piece(text: str) -> None:
    """However long a text or a note is: beyond PIPE_BUF it would be mixed with another minder's."""
    for fields in ({"text": text}, {"error": text, "why": text}, {"note": {"reason": text}, "error": text}):
        data = frames.short_report("failed", key="k" * 32, pid=4_194_304, idle=False, **fields)
        assert len(data) <= frames.REPORT_MAX
        assert json.loads(data[frames.LENGTH :])["r"] == "failed"
    whole = {"key": "k", "note": {"exit_code": 0}}
    assert frames.short_report("ended", **whole) == frames.report("ended", **whole)


def test_a_writer_has_a_bound() -> None:
    """Reports to a launcher that has stopped reading are dropped, not piled up."""
    writer = frames.Writer(-1, bound=10)
    assert writer.put(b"12345")
    assert writer.put(b"67890")
    assert not writer.put(b"1")
    assert writer.waiting
