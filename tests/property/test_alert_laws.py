"""Laws of alerts: routes against a regular expression as oracle, ids that name one alert each."""

from __future__ import annotations

import itertools
import re

from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.model.alert import AlertKind
from pyscheduler.rules.alerting import about_run
from pyscheduler.rules.routing import matches
from tests.builders import DAY, NOON, a_run

WORDS = st.sampled_from(["a", "b", "ab", "-"])
TOPICS = st.lists(WORDS, min_size=1, max_size=6)
PATTERNS = st.lists(st.one_of(WORDS, st.sampled_from(["*", "#"])), min_size=1, max_size=7)


def by_expression(pattern: list[str], topic: list[str]) -> bool:
    """Match by a regular expression over words that each end in a dot."""
    parts = {"*": r"[^.]+\.", "#": r"([^.]+\.)*"}
    expression = "".join(parts.get(word, re.escape(word) + r"\.") for word in pattern)
    return re.fullmatch(expression, "".join(f"{word}." for word in topic)) is not None


@given(PATTERNS, TOPICS)
def test_a_pattern_means_what_the_expression_means(pattern: list[str], topic: list[str]) -> None:
    assert matches(pattern, topic) == by_expression(pattern, topic)


@given(TOPICS)
def test_a_topic_matches_itself_and_so_does_everything(topic: list[str]) -> None:
    assert matches(topic, topic)
    assert matches(["#"], topic)


PARTS = st.tuples(
    st.sampled_from(["a", "a-1", "a_failed", "lost"]),
    st.integers(1, 12),
    st.sampled_from(list(AlertKind)),
    st.integers(0, 30),
)


@given(st.sets(PARTS, min_size=2, max_size=20))
def test_two_alerts_have_two_ids(parts: set[tuple[str, int, AlertKind, int]]) -> None:
    """No job's name, number, kind or attempt can be taken for another's."""
    ids = [
        about_run(a_run(job, DAY, seq), kind, attempt, None, NOON, "", {}).alert_id for job, seq, kind, attempt in parts
    ]
    assert all(one != other for one, other in itertools.combinations(ids, 2))
