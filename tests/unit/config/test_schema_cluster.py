"""`scheduler.cluster:` and what places a job on a node: what holds together, and what is refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyscheduler.config import Config, ConfigError, load_config
from pyscheduler.model.job import OnUncertain

HEAD = """
scheduler:
  store: postgresql+psycopg://u@h/d
  cluster: {%s}
jobs:
  load: {command: "true", schedule: manual%s}
"""


def loaded(tmp_path: Path, cluster: str, job: str = "", *, text: str = HEAD) -> Config:
    file = tmp_path / "pysched.yaml"
    file.write_text(text % (cluster, job))
    return load_config(file, env={"SECRET": "0123456789abcdef"})


def refused(tmp_path: Path, cluster: str, job: str = "", *, text: str = HEAD) -> str:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, cluster, job, text=text)
    return str(caught.value)


def test_every_key_arrives(tmp_path: Path) -> None:
    """Lengths may be fractions of a second; what depends on another follows it."""
    found = loaded(
        tmp_path,
        "node: a, node_tags: [gpu, gpu], capacity: 3, address: 'a.b:80', secret: '${SECRET}', heartbeat: 0.5s,"
        " lease: 8s, margin: 3s, kill_grace: 1s, reclaim_after: 6h",
        ", node: b, node_tags: [gpu], on_lost: fail, reclaim_after: 90m",
    )
    cluster, job = found.settings.cluster, found.jobs["load"]
    assert (cluster.node, cluster.tags, cluster.capacity, cluster.address) == ("a", ("gpu",), 3, "a.b:80")
    assert (cluster.secret, "0123" in repr(cluster)) == ("0123456789abcdef", False)
    assert (cluster.timing.heartbeat_s, cluster.timing.sweep_s, cluster.timing.reclaim_after_s) == (0.5, 0.5, 21600.0)
    assert (job.node, job.node_tags, job.on_lost, job.reclaim_after_s) == ("b", ("gpu",), "fail", 5400.0)


@pytest.mark.parametrize("length", ["0", "-1s", "nan", "inf", "true", "soon"])
def test_a_window_of_nothing_is_refused_in_every_form(tmp_path: Path, length: str) -> None:
    """B2: zero, less, no number."""
    assert "reclaim_after" in refused(tmp_path, f"reclaim_after: '{length}'")
    said = refused(tmp_path, "", f", reclaim_after: '{length}'")
    assert "job load: reclaim_after" in said
    assert "write a length of time" in said


@pytest.mark.parametrize(("text", "seconds"), [("5400", 5400.0), ("90m", 5400.0), ("0.5", 0.5), ("2d", 172800.0)])
def test_a_jobs_window_is_seconds_or_a_text(tmp_path: Path, text: str, seconds: float) -> None:
    """In every form that the scheduler's is written in; defaults hand it on."""
    assert loaded(tmp_path, "", f", reclaim_after: {text}").jobs["load"].reclaim_after_s == seconds
    under = HEAD.replace("jobs:", f"defaults: {{reclaim_after: {text}}}\njobs:")
    assert loaded(tmp_path, "", text=under).jobs["load"].reclaim_after_s == seconds


def test_times_that_do_not_hold_together_are_refused(tmp_path: Path) -> None:
    """In a sentence that names both."""
    assert "three heartbeats" in refused(tmp_path, "heartbeat: 30s")


def test_a_short_secret_is_refused(tmp_path: Path) -> None:
    """It acts in everybody's name."""
    assert "16 characters" in refused(tmp_path, "secret: short")


def test_what_to_do_in_doubt_is_continue_or_stop(tmp_path: Path) -> None:
    """Nothing else, and nothing on a store whose schedulers have no leases."""
    assert loaded(tmp_path, "", ", on_uncertain: stop").jobs["load"].on_uncertain is OnUncertain.STOP
    assert loaded(tmp_path, "").jobs["load"].on_uncertain is OnUncertain.CONTINUE
    assert "is none of continue, stop" in refused(tmp_path, "", ", on_uncertain: wait")
    alone = "jobs:\n  load: {command: 'true', schedule: manual%s%s}\n"
    assert "ends its attempts with the lease of their node" in refused(tmp_path, "", ", on_uncertain: stop", text=alone)
    assert loaded(tmp_path, "", ", on_uncertain: continue", text=alone).jobs["load"].node is None


def test_a_boot_is_no_firing_of_a_cluster(tmp_path: Path) -> None:
    """It is one machine's, and whichever leads would take its own for everybody's."""
    text = HEAD.replace("schedule: manual", "schedule: '@reboot'")
    assert "which machine that is" in refused(tmp_path, "", text=text)


def test_a_cluster_needs_a_store_that_is_shared(tmp_path: Path) -> None:
    """And so does a job that is placed on a node."""
    alone = "scheduler: {cluster: {%s}}\njobs:\n  load: {command: 'true', schedule: manual%s}\n"
    said = refused(tmp_path, "node: a", ", node: b, reclaim_after: 1h", text=alone)
    assert "a cluster needs a store that its schedulers share" in said
    assert "places it on a node of a cluster" in said
    assert "says when its attempts are taken from a silent node, and this store is not shared" in said


def test_an_address_may_say_that_tls_is_spoken_there(tmp_path: Path) -> None:
    """A slash behind it is no matter; anything else than https, and a missing port, are refused in words."""
    for text, address in (("https://a.b:8443", "https://a.b:8443"), ("https://[::1]:8443/", "https://[::1]:8443")):
        assert loaded(tmp_path, f"address: '{text}'").settings.cluster.address == address
    for text in ("https://a.b", "http://a.b:80", "https://a.b:8443/api", "a.b"):
        assert "https:// before it where TLS is spoken there" in refused(tmp_path, f"address: '{text}'")
