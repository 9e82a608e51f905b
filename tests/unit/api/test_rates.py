"""A bucket of tokens a caller: bursts pass, floods wait, and nobody pays for another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyscheduler.api.rates import Buckets


def test_a_burst_passes_and_then_the_rate_counts() -> None:
    """As many at once as the bucket holds, then one each 1/rate seconds."""
    buckets = Buckets(rate=10, burst=3)
    assert [buckets.take("ann", 0.0) for _ in range(3)] == [0, 0, 0]
    assert buckets.take("ann", 0.0) == pytest.approx(0.1)
    assert buckets.take("bob", 0.0) == 0
    assert buckets.take("ann", 0.05) == pytest.approx(0.05)
    assert buckets.take("ann", 0.1) == 0
    assert buckets.take("ann", 0.1) > 0


def test_a_greater_share() -> None:
    """Ten times the burst and ten times the rate."""
    buckets = Buckets(rate=1, burst=1)
    assert [buckets.take("root", 0.0, 10) for _ in range(10)] == [0] * 10
    assert buckets.take("root", 0.0, 10) == pytest.approx(0.1)


def test_so_many_are_remembered() -> None:
    """The one used longest ago is forgotten first."""
    buckets = Buckets(rate=1, burst=1, most=2)
    for who in "abc":
        buckets.take(who, 0.0)
    assert len(buckets._left) == 2
    assert buckets.take("c", 0.0) > 0
    assert buckets.take("a", 0.0) == 0


@given(st.lists(st.floats(0, 5), max_size=60), st.floats(0.5, 20), st.integers(1, 10))
def test_nobody_ever_gets_more_than_burst_and_rate(gaps: list[float], rate: float, burst: int) -> None:
    """Over any stretch of time: what the bucket held and what flowed in, not one more; and who waits is served."""
    buckets, now, granted = Buckets(rate=rate, burst=burst), 0.0, 0
    for gap in gaps:
        now += gap
        wait = buckets.take("ann", now)
        granted += not wait
        assert granted <= burst + now * rate + 1e-6
        if wait:
            now += wait + 1e-9
            assert buckets.take("ann", now) == 0
            granted += 1
