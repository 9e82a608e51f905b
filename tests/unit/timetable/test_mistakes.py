from __future__ import annotations

import pickle

from pyscheduler.timetable.mistakes import ScheduleError, UnknownZone


def test_a_mistake_says_what_and_how_to_mend() -> None:
    """Config puts the place in front; these two parts are ours."""
    assert str(ScheduleError("hour", "the hour field is 24", "write 0")) == "the hour field is 24; write 0"
    assert str(ScheduleError("hour", "the hour field is 24")) == "the hour field is 24"


def test_an_unknown_zone_names_what_was_perhaps_meant() -> None:
    """A typing slip is mended by reading the error, not by searching a list of 600 names."""
    assert str(UnknownZone("X", ("A", "B"))) == "there is no time zone 'X'; did you mean A or B?"
    assert str(UnknownZone("X")) == "there is no time zone 'X'; use an IANA name such as Europe/Berlin"


def test_mistakes_cross_a_process_boundary_whole() -> None:
    """A helper process reads configurations: what it finds wrong arrives with all parts."""
    error = pickle.loads(pickle.dumps(ScheduleError("hour", "the hour field is 24", "write 0")))
    assert (error.field, error.what, error.mend) == ("hour", "the hour field is 24", "write 0")
    unknown = pickle.loads(pickle.dumps(UnknownZone("X", ("A",))))
    assert (unknown.name, unknown.near) == ("X", ("A",))
