"""From a note to a result: a field of the wrong type counts as absent."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.engine.minding.results import pid_path, result_of
from pyscheduler.model.result import AttemptResult

ANY = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.lists(st.integers(), max_size=2)
)


def test_every_field_arrives() -> None:
    """What a guardian wrote down is what the engine reads."""
    note = {
        "exit_code": 3,
        "signal": None,
        "started_at": "2027-05-20T01:02:03.000004Z",
        "ended_at": "2027-05-20T01:02:04Z",
        "start_error": None,
        "stopped_by": "kill",
        "lost": None,
        "survivors": [5],
        "leftovers": [6, 7],
        "rusage": {"cpu_s": 1.5, "max_rss_bytes": 99},
    }
    assert result_of(note) == AttemptResult(
        exit_code=3,
        started_at=datetime(2027, 5, 20, 1, 2, 3, 4, tzinfo=UTC),
        ended_at=datetime(2027, 5, 20, 1, 2, 4, tzinfo=UTC),
        stopped_by="kill",
        survivors=(5,),
        leftovers=(6, 7),
        cpu_s=1.5,
        max_rss_bytes=99,
    )


@given(st.dictionaries(st.sampled_from([*AttemptResult.__slots__, "rusage"]), ANY))
def test_nothing_in_a_note_makes_the_reader_stumble(note: dict[str, object]) -> None:
    """A naive instant, a word for a number, a number for a list: absent, never an exception."""
    found = result_of(note)
    assert found.exit_code is None or isinstance(found.exit_code, int)
    assert found.started_at is None or found.started_at.tzinfo is not None


def test_the_identity_lies_beside_the_note() -> None:
    """The public helper's name for it."""
    assert pid_path("/s/x.json") == "/s/x.json.pid"
