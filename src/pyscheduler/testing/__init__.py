"""Fakes for tests and simulations: shipped and documented, so that users can test their own jobs' timing.

`FakeLauncher(clock)` runs attempts on a FakeClock: a night passes in a blink.
"""

from pyscheduler.testing.fake_launcher import FakeLauncher, FakeResult

__all__ = ["FakeLauncher", "FakeResult"]
