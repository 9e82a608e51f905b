"""Nodes that speak TLS to each other: by a proxy in front of one, whose certificate the others trust or do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clustering import A_LONG_LEASE, Cluster, fresh_database, is_standby
from tests.relay import Relay, certificate, relay
from tests.servers.kinds import Place
from tests.serving import Served
from tests.visitors import port_of

JOBS = """
jobs:
  there: {command: 'echo by way of TLS', schedule: manual, node: a}
"""


@pytest.fixture
def cluster(tmp_path: Path, server_place: Callable[[str], Place]) -> Iterator[Cluster]:
    """Give a cluster whose nodes each say where they are reached."""
    with fresh_database(server_place("postgres")) as url:
        made = Cluster(tmp_path, url, JOBS, cluster={**A_LONG_LEASE, "address": '"${ADDRESS}"'})
        yield made
        made.clear()


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Relay]:
    """Give the proxy that stands in front of a."""
    (tmp_path / "tls").mkdir()
    with relay(0, certificate(tmp_path / "tls")) as found:
        yield found


def leader(cluster: Cluster, front: Relay) -> Served:
    a = cluster.node("a", ADDRESS=front.url).start()
    front.target = port_of(a)
    return a


def standby(cluster: Cluster, **env: Any) -> Served:
    b = cluster.node("b", ADDRESS="127.0.0.1:1", **env).start(ready=False)
    b.until(lambda: is_standby(b), "standing by")
    return b


def test_what_is_passed_on_goes_by_tls(cluster: Cluster, front: Relay, tmp_path: Path) -> None:
    """A standby has who leads act and answer, through the proxy alone."""
    a = leader(cluster, front)
    b = standby(cluster, SSL_CERT_FILE=str(tmp_path / "tls" / "cert.pem"))
    run = b.post("/api/jobs/there/trigger")["run"]["run_id"]
    a.until_state(run, "succeeded")
    assert b.get(f"/api/why?run={run}")["why"]["run"]["state"] == "succeeded"
    asked = [b" ".join(request.split()[:2]).decode() for request in front.requests]
    assert [each for each in asked if each != "GET /api/nodes"] == [
        "POST /api/jobs/there/trigger",
        f"GET /api/why?run={run}",
    ]


def test_a_certificate_that_is_not_trusted_is_not_spoken_to(cluster: Cluster, front: Relay) -> None:
    """The refusal says why, and what to do; nothing of the request was sent."""
    leader(cluster, front)
    b = standby(cluster)
    answer = b.ask("POST", "/api/jobs/there/trigger", {})
    assert answer.status == 503
    assert "shows a certificate that is not trusted here" in answer.body["error"]
    b.until(lambda: "node a cannot be spoken to, so nothing is passed on to it: " in b.said(), "it is told at once")
    assert front.requests == []


def test_another_secret_is_told_when_a_node_joins(cluster: Cluster, front: Relay, tmp_path: Path) -> None:
    """Not first when something is to be passed on; with the same one nothing is said."""
    leader(cluster, front)
    trusted = {"SSL_CERT_FILE": str(tmp_path / "tls" / "cert.pem")}
    b = standby(cluster, **trusted, CLUSTER_SECRET="a secret of nobody else's")
    b.until(lambda: "node a at https://127.0.0.1" in b.said(), "the other secret is told")
    assert "does not take this node's word: `scheduler.cluster.secret` must be the same on both" in b.said()
    b.stop()
    c = cluster.node("c", ADDRESS="127.0.0.1:1", **trusted).start(ready=False)  # type: ignore[arg-type]
    c.until(lambda: len([each for each in front.requests if b" /api/nodes " in each]) == 2, "a is greeted")
    c.until(lambda: is_standby(c), "standing by")
    assert "does not take" not in c.said()
