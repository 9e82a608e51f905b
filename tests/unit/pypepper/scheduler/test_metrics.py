"""What hooks are told: issue 3, beyond the documents; and the log lines of pipeline.md 16."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from pypepper.common.log import log
from pypepper.scheduler.channel import manager
from pypepper.scheduler.job import ChannelFullError, ChannelStoppedError, JobRedeliveryError, JobRequeuedError
from pypepper.scheduler.metrics import metrics, prometheus_hook
from tests.pipes import Flaky, job, once, returning, scripted, task, work_off, workflow


@pytest.fixture
def told() -> list[tuple[str, dict[str, Any]]]:
    """All that hooks hear."""
    heard: list[tuple[str, dict[str, Any]]] = []
    metrics.add(lambda step, facts: heard.append((step, facts)))
    return heard


def test_a_jobs_life_is_told(told: list[tuple[str, dict[str, Any]]]) -> None:
    """Each step with its facts, in order."""
    job(workflow(task(Flaky(1), name="load", retry_count=1))).scheduled()
    once()
    assert [step for step, _ in told] == [
        *("job.scheduled", "job.started", "task.started", "task.failed", "task.ended", "job.ended"),
    ]
    facts = dict(told)
    assert facts["job.scheduled"] == {"channel": "c", "category": "test"}
    assert (facts["task.failed"]["name"], facts["task.failed"]["attempt"].number) == ("load", 1)
    assert facts["task.failed"]["error"] == "ValueError: failure 1"
    assert (facts["task.ended"]["ok"], facts["task.ended"]["name"]) == (True, "load")
    assert (facts["job.ended"]["status"], facts["job.ended"]["channel"]) == ("Completed", "c")
    assert facts["job.ended"]["seconds"] >= facts["task.ended"]["seconds"] >= 0


def test_a_failed_job_is_told(told: list[tuple[str, dict[str, Any]]]) -> None:
    """The end is told whatever it is."""
    job(Flaky(9)).scheduled()
    with pytest.raises(ValueError, match="failure"):
        once()
    facts = dict(told)
    assert (facts["job.ended"]["status"], facts["task.ended"]["ok"]) == ("Failed", False)


def test_refusals_are_told(told: list[tuple[str, dict[str, Any]]]) -> None:
    """Full and stopped are told apart."""
    chan = manager.new("c", maxsize=1)
    job().scheduled()
    with pytest.raises(ChannelFullError):
        job().scheduled()
    chan.request_stop()
    with pytest.raises(ChannelStoppedError):
        job().scheduled()
    assert [facts["reason"] for step, facts in told if step == "job.refused"] == ["full", "stopped"]


def test_requeues_are_told(told: list[tuple[str, dict[str, Any]]]) -> None:
    """Back in the queue, or not."""
    scripted(InProgress=["raise", "raise"], Failed=["raise", "raise"])
    job().scheduled()
    with pytest.raises(JobRequeuedError):
        once()
    manager.available("c").request_stop()
    with pytest.raises(JobRedeliveryError):
        once()
    steps = [(step, facts["reason"]) for step, facts in told if step in {"job.requeued", "job.dropped"}]
    assert steps == [("job.requeued", "ok"), ("job.dropped", "stopped")]
    assert sum(step == "save.failed" for step, _ in told) == 4


def test_a_hook_that_raises_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is logged; the others and the job go on."""
    said: list[str] = []
    heard: list[str] = []
    monkeypatch.setattr("pypepper.scheduler.metrics.log.error", said.append)

    def broken(step: str, facts: dict[str, Any]) -> None:
        raise KeyError(step)

    metrics.add(broken)
    metrics.add(lambda step, _facts: heard.append(step))
    made = job(returning())
    made.scheduled()
    once()
    assert made.status == "Completed"
    assert len(said) == len(heard) > 3


def test_hooks_can_be_taken_off() -> None:
    """By what `add` returned, by `remove`, or all at once."""
    heard: list[str] = []

    def hook(step: str, _facts: dict[str, Any]) -> None:
        heard.append(step)

    off = metrics.add(hook)
    off()
    metrics.remove(hook)
    metrics.add(hook)
    metrics.reset()
    job().scheduled()
    assert heard == []


def test_prometheus_counts() -> None:
    """The ready-made hook: jobs by end, seconds, failed attempts, saves that are behind."""
    registry = CollectorRegistry()
    metrics.add(prometheus_hook(registry))
    scripted(Completed=["raise"])
    job(workflow(task(Flaky(1), name="load", retry_count=1))).scheduled()
    job(Flaky(9)).scheduled()
    work_off()
    value = registry.get_sample_value
    assert value("pypepper_jobs_total", {"channel": "c", "status": "Completed"}) == 1
    assert value("pypepper_jobs_total", {"channel": "c", "status": "Failed"}) == 1
    assert value("pypepper_job_seconds_count", {"channel": "c"}) == 2
    assert value("pypepper_task_failures_total", {"task": "load"}) == 1
    assert value("pypepper_saves_behind_total", {"channel": "c"}) == 1


# ---------------------------------------------------------------- pipeline.md 16, levels


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Everything the pipeline logs."""
    caplog.set_level("DEBUG", logger=log.logger.name)
    return caplog


def of_level(lines: pytest.LogCaptureFixture, level: str) -> list[str]:
    return [record.getMessage() for record in lines.records if record.levelname == level]


def test_the_lines_of_a_good_day(lines: pytest.LogCaptureFixture) -> None:
    """pipeline.md 16 rows debug and info: enqueued with the queue's length, saved; scheduled, completed."""
    job(returning()).scheduled()
    once()
    debug, info = of_level(lines, "DEBUG"), of_level(lines, "INFO")
    assert any("enqueued" in line and "1 queued" in line for line in debug)
    assert [word for line in debug if (word := line.partition("saved: ")[2])] == [
        "Scheduled, version 1",
        "InProgress, version 2",
        "Completed, version 3",
    ]
    assert any("scheduled for c" in line for line in info)
    assert any("completed" in line for line in info)


def test_a_skipped_save_is_a_debug_line(lines: pytest.LogCaptureFixture) -> None:
    """pipeline.md 16 row debug: skipped as stale."""
    scripted(Unknown=["skip"])
    assert not job().save()
    assert any("save.skipped" in line for line in of_level(lines, "DEBUG"))


def test_the_lines_of_cancels(lines: pytest.LogCaptureFixture) -> None:
    """pipeline.md 16 row info: already cancelled; between workflows; before complete; error ignored; following."""
    early = job(returning())
    early.scheduled()
    early.cancel()
    between, late, ignored = job(), job(), job()
    between.workflows = [workflow(lambda *_: between.cancel()), workflow(returning())]
    late.workflows = [workflow(lambda *_: late.cancel())]

    def cancel_and_fail(*_: Any) -> None:
        ignored.cancel()
        raise ValueError

    ignored.workflows = [workflow(cancel_and_fail)]
    for each in (between, late, ignored):
        each.scheduled()
    work_off()
    info = "\n".join(of_level(lines, "INFO"))
    for words in ("cancelled before it was started", "between two workflows", "before it was complete", "is ignored"):
        assert words in info


def test_the_lines_of_trouble(lines: pytest.LogCaptureFixture) -> None:
    """pipeline.md 16 row error: each trouble says which way it went."""
    scripted(
        Scheduled=["raise"] * 4,
        InProgress=["raise"],
        Failed=["raise"],
        Completed=["raise"],
        Cancelled=["raise", "raise"],
    )
    unsaved = job(returning())
    with pytest.raises(ConnectionError):
        unsaved.scheduled()
    with pytest.raises(JobRequeuedError):
        once()
    healed, cancelled = job(Flaky(9)), job()
    healed.scheduled()
    cancelled.scheduled()
    with pytest.raises(ConnectionError):
        cancelled.cancel()
    work_off()
    error = "\n".join(of_level(lines, "ERROR"))
    for words in (
        "its Scheduled row is not saved",
        "the start is not saved",
        "Failed is not saved either",
        "was re-enqueued",
        "failed: ValueError",
        "save() it, nothing else",
        "the loop continues",
    ):
        assert words in error, words
