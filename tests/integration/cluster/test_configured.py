"""A configuration's jobs as a schedule: what is honoured, and what is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyscheduler.cluster.configured import scheduler_of
from pyscheduler.cluster.honoured import remarks
from pyscheduler.config import Config, load_config
from pyscheduler.errors import ConfigError


def config(folder: Path, job: str, more: str = "") -> Config:
    file = folder / "pysched.yaml"
    file.write_text(
        f"scheduler: {{state_dir: state}}\npools: {{db: 2}}\n{more}jobs:\n"
        f'  other: {{command: "true", schedule: "0 6 * * *"}}\n  job:\n    command: "true"\n    {job}\n'
    )
    return load_config(file, env={})


@pytest.mark.parametrize(
    ("job", "key"),
    [
        ("depends_on: [other]", "depends_on"),
        ('schedule: "0 6 * * *"\n    pools: {db: 1}', "pools"),
        ('schedule: "0 6 * * *"\n    catch_up: none', "catch_up: none"),
        ('schedule: "@reboot"', "schedule: @reboot"),
        ('schedule: {cron: "0 6 * * *", jitter: 5m}', "jitter"),
        ('schedule: "0 6 * * *"\n    must_start_by: "07:00"', "must_start_by"),
        ('schedule: "0 6 * * *"\n    max_runtime: 1h', "max_runtime"),
        ('schedule: "0 6 * * *"\n    min_runtime: 1m', "min_runtime"),
        ('schedule: "0 6 * * *"\n    max_silence: 2d', "max_silence"),
        ('schedule: "0 6 * * *"\n    alerts: {off: [failed]}', "alerts"),
    ],
)
def test_what_is_not_honoured_is_refused_by_name_and_place(tmp_path: Path, job: str, key: str) -> None:
    """Nothing is narrowed in silence."""
    with pytest.raises(ConfigError) as refused:
        scheduler_of(config(tmp_path, job), {})
    (problem,) = refused.value.problems
    assert (problem.job, problem.message) == ("job", f"tick and work do not honour {key}")
    assert (Path(problem.file).name, problem.line) == ("pysched.yaml", 5)
    assert not (tmp_path / "state").exists()


def test_a_job_that_is_off_may_say_what_it_likes(tmp_path: Path) -> None:
    """It is not run by anybody; nor is one that is started by hand only."""
    off = config(tmp_path, 'schedule: "0 6 * * *"\n    pools: {db: 1}\n    enabled: false')
    assert list(scheduler_of(off, {}).works) == ["other"]
    by_hand = config(tmp_path, "schedule: manual")
    assert list(scheduler_of(by_hand, {}).works) == ["other"]


def test_what_the_whole_asks_for_in_vain_is_remarked(tmp_path: Path) -> None:
    """Alerts are the service's."""
    plain = config(tmp_path, 'schedule: "0 6 * * *"')
    assert list(remarks(plain)) == []
    told = config(tmp_path, 'schedule: "0 6 * * *"', 'notifiers: {ops: {type: command, command: ["true"]}}\n')
    assert any("alerts are sent by" in remark for remark in remarks(told))


def test_a_hosts_place_in_the_cluster_is_taken_over(tmp_path: Path) -> None:
    """Node, tags and times of `scheduler.cluster`, and who decides about a lost attempt."""
    file = tmp_path / "pysched.yaml"
    file.write_text(
        "scheduler:\n  state_dir: state\n  store: postgresql+psycopg://db1/pysched\n"
        "  cluster: {node: batch1, node_tags: [gpu], reclaim_after: 6h, lease: 60s, secret: '${SECRET}'}\n"
        'jobs:\n  job: {command: "true", schedule: "0 6 * * *", on_lost: fail}\n'
    )
    scheduler = scheduler_of(load_config(file, env={"SECRET": "sixteen letters and more"}), {})
    entrance = scheduler._entrance
    assert (entrance.named, entrance.timing.reclaim_after_s, entrance.timing.lease_s) == (
        ("batch1", "gpu"),
        21600.0,
        60.0,
    )
    assert scheduler.works["job"].on_lost == "fail"
