"""Bytes that can make nothing but our own values."""

from __future__ import annotations

import os
import pickle
from typing import Any

import pytest

from pyscheduler.config.pickled import ForeignBytes, dumps, loads
from pyscheduler.model.job import Criticality, Job, OnceSpec
from tests.unit.config.conftest import Load


def test_a_configuration_comes_back_as_it_was(load: Load) -> None:
    config = load(
        """
        calendars: {c: {country: NO}}
        defaults: {limits: {core: 0}, alerts: {off: [lost]}}
        jobs:
          a:
            command: [sh]
            schedule: [{once: "2028-01-01 06:00"}, {at: "07:15", exclude: "2027-12-24"}]
            criticality: low
          b: {command: x, depends_on: [{job: a, on: done}], calendar: none, must_start_by: "02:00"}
          c: {command: x, schedule: ["@reboot", {business_day: 1, at: "06:00"}, {every: 5m}, "0 6 * * *"], calendar: c}
        """
    )
    again = loads(dumps(config))
    assert (again.jobs, again.settings, again.calendars) == (config.jobs, config.settings, config.calendars)
    assert isinstance(again.jobs["a"], Job)
    assert again.jobs["a"].criticality is Criticality.LOW
    assert isinstance(again.jobs["a"].schedules[0], OnceSpec)
    assert again.warnings == config.warnings


def test_a_member_of_an_enum_is_its_class_and_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11.0 to 3.11.3, which Debian 12 has, would write a call of `getattr`: that is never read back."""
    monkeypatch.setattr(
        Criticality, "__reduce_ex__", lambda self, _protocol: (getattr, (type(self), self.name)), raising=False
    )
    assert loads(dumps([Criticality.LOW])) == [Criticality.LOW]
    with pytest.raises(ForeignBytes, match=r"builtins\.getattr is no part of a configuration"):
        loads(pickle.dumps([Criticality.LOW]))


class Calls:
    def __init__(self, *call: Any) -> None:
        self._call = call

    def __reduce__(self) -> tuple[Any, ...]:
        return self._call[0], self._call[1:]


@pytest.mark.parametrize(
    "value",
    [
        Calls(os.system, "true"),
        Calls(eval, "1"),
        Calls(getattr, "a", "upper"),
        Calls(__import__, "os"),
        os.path.join,
        object(),
    ],
)
def test_nothing_else_is_ever_looked_up(value: object) -> None:
    with pytest.raises(ForeignBytes, match="is no part of a configuration"):
        loads(pickle.dumps(value))


def test_a_function_of_our_own_model_is_not_made_either() -> None:
    from pyscheduler.model.ids import make_run_id

    with pytest.raises(ForeignBytes):
        loads(pickle.dumps(make_run_id))


@pytest.mark.parametrize("data", [b"", b"garbage", dumps([1, 2])[:-2], b"\x80\x05\x95\xff"])
def test_what_is_no_pickle_is_foreign(data: bytes) -> None:
    with pytest.raises(ForeignBytes):
        loads(data)
