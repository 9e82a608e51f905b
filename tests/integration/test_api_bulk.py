"""One action for many runs, and what an action would do: the preview says what then happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pyscheduler.api import shapes
from pyscheduler.model.run import Run
from pyscheduler.testing import FakeResult
from tests.office import Desk

JOBS = """
pools: {db: 1}
calendars:
  week: {weekdays: [mon, tue, wed, thu, fri]}
jobs:
  load: {command: x, schedule: manual, tags: [etl]}
  clean: {command: x, depends_on: [load], tags: [etl]}
  report: {command: x, depends_on: [clean]}
  amends: {command: x, depends_on: [{job: load, on: failure}]}
  pooled: {command: x, schedule: manual, pools: {db: 1}, overlap: allow}
  fails: {command: x, schedule: manual}
  after: {command: x, depends_on: [fails]}
  long: {command: x, schedule: manual, overlap: queue}
  careful: {command: x, schedule: manual, require_reason: true}
  daily: {command: x, schedule: "0 6 * * *", calendar: week}
"""
DAY = "2026-10-19"


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Desk]:
    async with Desk(tmp_path, JOBS) as found:
        found.night.plan("fails", *[FakeResult(exit_code=1)] * 9)
        for job in ("long", "pooled"):
            found.night.plan(job, *[FakeResult(timedelta(hours=9))] * 9)
        yield found


async def bulk(office: Desk, action: str, run_ids: list[str] | None = None, **more: object) -> Any:
    """Act upon many; the answer is held to its shape."""
    named = {} if run_ids is None else {"run_ids": run_ids}
    answer = await office.post("/api/runs/bulk", action=action, **named, **more)
    shapes.Bulk.model_validate(answer)
    await office.engine.settle()
    return answer


async def test_one_result_for_each_run(office: Desk) -> None:
    """What cannot be done to one is said beside it, and done to the others."""
    waiting = await office.trigger("clean", run_date="2026-10-16")
    done = await office.trigger("load")
    await office.night.until("2026-10-19T08:01Z")
    answer = await bulk(office, "hold", [waiting, done, "load.2020-01-01.1", "nonsense", waiting], reason="late file")
    assert [(each["run_id"], each["ok"]) for each in answer["results"]] == [
        (waiting, True),
        (done, False),
        ("load.2020-01-01.1", False),
        ("nonsense", False),
    ]
    assert (answer["done"], answer["matched"]) == (1, 4)
    assert answer["results"][0]["run"]["state"] == "held"
    assert answer["results"][1]["error"] == f"{done} is succeeded, so hold does not apply"
    assert "rerun" in answer["results"][1]["mend"]
    (line,) = office.night.lines("hold")
    assert (line.actor, line.detail["reason"]) == ("ann", "late file")


async def test_a_selection_is_the_filters_of_the_list(office: Desk) -> None:
    """As many as were expected, or nothing is done."""
    for _ in range(3):
        await office.trigger("pooled")
    wanted = {"job": "pooled", "state": ["queued"], "run_date": DAY}
    answer = await office.ask(
        "POST", "/api/runs/bulk", {"action": "cancel", "selection": wanted, "expected": 3, "reason": "r"}
    )
    assert (answer.status_code, answer.json()["error"]) == (409, "2 runs match, and 3 were expected")
    assert (await bulk(office, "cancel", selection=wanted, expected=2))["done"] == 2
    assert (await bulk(office, "cancel", selection=wanted, expected=0))["results"] == []


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"action": "hold"}, "give either run_ids or selection"),
        ({"action": "hold", "run_ids": ["x"], "selection": {"job": "load"}}, "give either run_ids or selection"),
        ({"action": "hold", "selection": {}}, "it would match every run"),
        ({"action": "hold", "selection": {"state": [], "q": ""}}, "it would match every run"),
        ({"action": "hold", "selection": {"jobs": "load"}}, "there is no field selection.jobs"),
        ({"action": "explode", "run_ids": ["x"]}, "action"),
        ({"action": "hold", "run_ids": []}, "run_ids"),
        ({"action": "hold", "run_ids": ["x"] * 1001}, "run_ids"),
        ({"action": "hold", "run_ids": ["x"], "downstream": True}, "downstream goes with rerun"),
        ({"action": "hold", "run_ids": ["x"], "reason": "x" * 1001}, "reason"),
    ],
)
async def test_what_makes_no_sense_is_refused(office: Desk, body: dict[str, Any], says: str) -> None:
    """In words, before anything is done."""
    answer = await office.ask("POST", "/api/runs/bulk", body)
    assert answer.status_code == 400
    assert says in answer.json()["error"]


async def test_many_runs_share_their_commits(office: Desk) -> None:
    """A hundred runs are no hundred trips to the disk."""
    runs = (await office.post("/api/jobs/daily/backfill", **{"from": "2026-05-01", "to": "2026-10-16"}))["runs"]
    await office.night.until("2026-10-19T20:00Z")
    before = office.engine.writer.commits
    answer = await bulk(office, "mark-failed", [run["run_id"] for run in runs])
    assert answer["done"] == len(runs) > 100
    assert office.engine.writer.commits - before < len(runs) / 4


async def test_a_rerun_with_downstream_takes_each_run_once(office: Desk) -> None:
    """One that was reopened as another's dependant is done, not refused."""
    await office.trigger("load")
    await office.night.until("2026-10-19T09:00Z")
    ids = [f"{job}.{DAY}.1" for job in ("load", "clean", "report")]
    answer = await bulk(office, "rerun", ids, downstream=True)
    assert [each["ok"] for each in answer["results"]] == [True] * 3
    assert [len(office.night.lines("rerun", office.night.latest(job))) for job in ("load", "clean", "report")] == [
        1
    ] * 3


async def test_a_job_may_ask_for_reasons(office: Desk) -> None:
    """`require_reason`: no action on it or its runs without one that has a letter or a digit."""
    answer = await office.ask("POST", "/api/jobs/careful/trigger", {"reason": " \u200b. "})
    assert (answer.status_code, answer.json()["error"]) == (400, "job careful asks for a reason with every action")
    assert answer.json()["where"].endswith("pysched.yaml:19")
    for path, body in (("pause", {}), ("resume", {}), ("backfill", {"from": DAY, "to": DAY})):
        assert (await office.ask("POST", f"/api/jobs/careful/{path}", body)).status_code == 400
    run = await office.trigger("careful", reason="asked by finance")
    await office.night.until("2026-10-19T09:00Z")
    assert (await office.ask("POST", f"/api/runs/{run}/rerun")).status_code == 400
    answer = await bulk(office, "rerun", [run])
    assert (answer["done"], answer["results"][0]["error"]) == (0, "job careful asks for a reason with every action")
    assert (await bulk(office, "rerun", [run], reason="again"))["done"] == 1


# --------------------------------------------------------------------------- previews


def standing(office: Desk) -> dict[str, tuple[str, str]]:
    """Return state and reason of every run there is."""
    book = office.engine.book
    ids = [*book._live, *book._ended]
    runs: list[Run] = [run for run in map(book.get, ids) if run is not None]
    return {run.run_id: (run.state.value, run.reason) for run in runs}


AFTER = {"starts": ("running",), "queues": ("queued",), "waits": ("scheduled", "waiting", "retry_wait")}
AFTER |= {"ends": ("succeeded", "failed"), "held": ("held",), "blocked": ("blocked",)}
AFTER |= {"skipped": ("skipped",), "cancelled": ("cancelled",)}


async def foretold(office: Desk, preview: Any, path: str, **body: object) -> dict[str, str]:
    """Act, and hold what happened against the preview; returns what became of each run."""
    shapes.Preview.model_validate(preview)
    before = standing(office)
    await office.post(path, **body)
    after = standing(office)
    changed = {run_id for run_id in after if before.get(run_id) != after[run_id]}
    effects = {each["run_id"]: each for each in preview["effects"]}
    assert changed == set(effects)
    for run_id, effect in effects.items():
        assert after[run_id][0] in AFTER[effect["what"]], (run_id, effect, after[run_id])
        assert effect["before"] == before.get(run_id, (None,))[0]
    assert sum(preview["counts"].values()) == len(effects)
    return {run_id: effect["what"] for run_id, effect in effects.items()}


async def test_a_triggers_preview(office: Desk) -> None:
    """The run that starts, and the dependants that come with it; nothing is there before anybody acts."""
    preview = await office.get("/api/jobs/load/preview?action=trigger")
    assert standing(office) == {}
    told = await foretold(office, preview, "/api/jobs/load/trigger")
    assert told == {f"load.{DAY}.1": "starts"} | {f"{job}.{DAY}.1": "waits" for job in ("clean", "report", "amends")}


async def test_a_full_pools_preview(office: Desk) -> None:
    """A run that would stand in line says for what."""
    first = await office.trigger("pooled")
    preview = await office.get("/api/jobs/pooled/preview?action=trigger")
    assert await foretold(office, preview, "/api/jobs/pooled/trigger") == {f"pooled.{DAY}.2": "queues"}
    assert f"pool db has 0 of 1 slots free and it needs 1; held by {first}" in preview["effects"][0]["reason"]


async def test_a_backfills_preview(office: Desk) -> None:
    """How many runs, of which dates; weekends and dates that have a run are left out."""
    await office.post("/api/jobs/daily/backfill", **{"from": "2026-10-14", "to": "2026-10-14"})
    span = {"from": "2026-10-10", "to": "2026-10-18"}
    preview = await office.get("/api/jobs/daily/preview?action=backfill&from=2026-10-10&to=2026-10-18")
    told = await foretold(office, preview, "/api/jobs/daily/backfill", **span)
    assert sorted(told) == [f"daily.2026-10-{day}.1" for day in (12, 13, 15, 16)]


async def test_a_killing_of_a_run_tells_what_it_blocks(office: Desk) -> None:
    """What runs is ended, and those that wait for it hear of it."""
    office.night.plan("load", FakeResult(timedelta(hours=9)))
    run = await office.trigger("load")
    preview = await office.get(f"/api/runs/{run}/preview?action=kill")
    what = {each["run_id"]: each["what"] for each in preview["effects"]}
    assert what[run] == "ends"
    assert what[f"clean.{DAY}.1"] == "blocked"
    assert what[f"amends.{DAY}.1"] == "starts"
    assert office.night.state("load") == "running"


@pytest.mark.parametrize("downstream", [False, True])
async def test_a_reruns_preview(office: Desk, downstream: bool) -> None:
    """The same closure, and the same that starts, as the rerun itself."""
    run = await office.trigger("load")
    await office.night.until("2026-10-19T09:00Z")
    preview = await office.get(f"/api/runs/{run}/preview?action=rerun&downstream={str(downstream).lower()}")
    told = await foretold(office, preview, f"/api/runs/{run}/rerun", downstream=downstream)
    assert told[run] == "starts"
    assert (f"report.{DAY}.1" in told) == downstream


async def test_a_marks_preview(office: Desk) -> None:
    """A failure marked a success lets its dependants go."""
    run = await office.trigger("fails")
    await office.night.until("2026-10-19T09:00Z")
    assert office.night.state("after") == "blocked"
    preview = await office.get(f"/api/runs/{run}/preview?action=mark-success")
    told = await foretold(office, preview, f"/api/runs/{run}/mark-success")
    assert told == {run: "ends", f"after.{DAY}.1": "starts"}


async def test_a_preview_is_refused_where_the_action_is(office: Desk) -> None:
    """With the same words."""
    run = await office.trigger("long")
    for action in ("hold", "release", "rerun", "skip"):
        refused = await office.ask("GET", f"/api/runs/{run}/preview?action={action}")
        said = await office.ask("POST", f"/api/runs/{run}/{action}")
        assert (refused.status_code, refused.json()) == (said.status_code, said.json())
    assert (await office.ask("GET", "/api/runs/nonsense/preview?action=hold")).status_code == 404
    assert (await office.ask("GET", "/api/jobs/nobody/preview?action=trigger")).status_code == 404
    assert (await office.ask("GET", "/api/jobs/daily/preview?action=backfill")).status_code == 400


async def test_a_preview_for_many(office: Desk) -> None:
    """Which it applies to, which not, and all that comes of it together."""
    runs = [await office.trigger("pooled") for _ in range(3)]
    asked = {"action": "cancel", "run_ids": [*runs, "nonsense"]}
    preview = await office.post("/api/runs/bulk/preview", **asked)
    assert [each["ok"] for each in preview["results"]] == [False, True, True, False]
    assert preview["counts"] == {"cancelled": 2}
    await foretold(office, preview, "/api/runs/bulk", **asked)


async def test_a_preview_of_an_old_run(office: Desk) -> None:
    """One that is not in memory any more is brought back, as for the action."""
    run = await office.trigger("load", run_date="2026-01-05")
    await office.night.until("2026-10-19T12:00Z")
    assert office.engine.book.latest_for("load", office.night.clock.now().date()) is None
    preview = await office.get(f"/api/runs/{run}/preview?action=rerun&downstream=true")
    told = await foretold(office, preview, f"/api/runs/{run}/rerun", downstream=True)
    assert told[run] == "starts"
    assert len(told) == 4
