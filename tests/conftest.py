"""What all tests share: reproducible Hypothesis, and no clock but the ones they are given."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.servers.fixtures import own_server, server_place

__all__ = ["own_server", "server_place"]

settings.register_profile(
    "house",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("wild", parent=settings.get_profile("house"), derandomize=False, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--soak` makes the crash test as long as `make soak` wants it."""
    parser.addoption("--soak", action="store_true", help="kill over 5,000 attempts instead of 300")


@pytest.fixture(autouse=True, scope="module")
def _the_log_is_left_as_it_was() -> Iterator[None]:
    """Who silences the log gives it back: the next module on this worker may wait for one of its lines."""
    log = logging.getLogger("pyscheduler")
    before = log.level
    yield
    assert log.level == before
