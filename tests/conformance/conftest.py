"""One service for a whole chapter: its tests ask about different jobs and dates, and do not get in each other's way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hours import MIDNIGHT, NIGHTLY, clear_of
from tests.serving import Served, served

TEXT = """
scheduler:
  name: house
  timezone: Europe/Berlin
  state_dir: state
  log_dir: logs
  max_running: 8
pools: {db: 1}
jobs:
  quick: {command: "echo done", schedule: manual, tags: [fast, nightly], owner: ann, description: "Says done"}
  talks:
    command: "printf 'one\\\\ntwo\\\\nthree\\\\n'; echo oops >&2"
    schedule: manual
    env: {TOKEN: "s3cret-value", PLAIN: "x"}
  merged: {command: "echo out; echo err >&2", schedule: manual, stderr: stdout}
  fails: {command: "exit 3", schedule: manual}
  flaky: {command: "exit 3", schedule: manual, retries: {count: 2, delay: 10m}}
  patient: {command: "until [ -e go-{run_id} ]; do sleep 0.1; done", schedule: manual, overlap: queue}
  pooled: {command: "until [ -e go-pooled ]; do sleep 0.1; done", schedule: manual, pools: {db: 1}, overlap: allow}
  upstream: {command: "true", schedule: manual}
  downstream: {command: "true", depends_on: [upstream]}
  nightly: {command: "true", schedule: "30 2 * * *"}
  yearly: {command: "true", schedule: "0 6 1 1 *"}
  off: {command: "true", schedule: "0 6 * * *", enabled: false}
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that runs, with a configuration of every kind of job."""
    clear_of(MIDNIGHT, NIGHTLY, zone="Europe/Berlin")
    with served(tmp_path_factory.mktemp("house"), TEXT) as found:
        yield found.start()
