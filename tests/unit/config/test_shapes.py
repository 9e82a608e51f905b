"""From a mapping to a checked shape."""

from __future__ import annotations

from pyscheduler.config.schema import ConfigKeys
from pyscheduler.config.schema_job import JobKeys
from pyscheduler.config.shapes import _said, known_keys


def test_the_keys_of_a_mapping_are_known_at_every_depth() -> None:
    """Through lists, alternatives and maps of names; an alias is the key people write."""
    assert "count" in known_keys(JobKeys, ("retries",))
    assert "between" in known_keys(JobKeys, ("schedule", 0, "<mapping>"))
    assert "run_date" in known_keys(JobKeys, ("depends_on", 3, "<mapping>"))
    assert "as" in known_keys(JobKeys, ("limits",))
    assert "weekdays" in known_keys(ConfigKeys, ("calendars", "bank"))
    assert "timeout" in known_keys(JobKeys, ())


def test_a_fault_of_a_kind_nobody_foresaw_keeps_its_words() -> None:
    """A new pydantic may say something new: never silence."""
    assert _said("brand_new", {}, "Input should be something") == ("Input should be something", "")
