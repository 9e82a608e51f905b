"""`pysched cancel` and `pysched kill` where no `serve` runs: runs of `tick` and `work` are called off in their store.

What must always hold: a run that `serve` has made is left to serve, even while none runs; a job that asks for a reason
gets one here too; who did it stands in the logbook. Spec: claims.md S15.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from pyscheduler.cli.faults import Refused, Unreachable

if TYPE_CHECKING:
    from pyscheduler.cli.client import Json
    from pyscheduler.cli.session import Session

DEEDS: Final = ("cancel", "kill")


def called_off(session: Session, deed: str, run_id: str, reason: str, nobody: Unreachable) -> Json:
    """Return the run as it is then, in the API's words. `deed` is one of DEEDS; `kill` is for what runs alone.

    Raises `nobody`, which says that no scheduler runs, where the run is none of `tick` and `work`; Refused where the
    deed does not apply to it, or lacks the reason that its job asks for; ConfigError, StoreError.
    """
    from pyscheduler.api.callers import user_name
    from pyscheduler.cli.store_client import StoreClient
    from pyscheduler.model.ids import parse_run_id
    from pyscheduler.rules.reasons import lacks_reason
    from pyscheduler.store.claims import Cancelled, making
    from pyscheduler.store.claims.opening import open_door

    seen = StoreClient(session, nobody)  # raises it where there is no store, and none is made
    place, job = session.place, session.load().jobs.get(parse_run_id(run_id)[0])
    if job is not None and lacks_reason(job, reason):
        what = f"job {job.name} asks for a reason with every action"
        raise Refused(what, where=str(job.source), mend="give one with --reason", status=400)
    door = open_door(place.store_url(session.environ) or str(place.state_dir), place.state_dir)
    try:
        by, only_running = user_name(os.geteuid()), deed == "kill"
        answer = door.write(lambda on: making.call_off(on, run_id, by, reason, only_running=only_running))
    finally:
        door.close()
    if answer in (Cancelled.ENGINE, Cancelled.UNKNOWN):
        raise nobody
    run = seen.get(f"/api/runs/{run_id}")["run"]
    if answer is Cancelled.FINAL:
        raise Refused(f"{run_id} is {run['state']}, so {deed} does not apply", mend="it has ended", status=409)
    if answer is Cancelled.NOT_RUNNING:
        mend = f"nothing of it runs: pysched cancel {run_id} calls it off"
        raise Refused(f"{run_id} is {run['state']}, so kill does not apply", mend=mend, status=409)
    return {"run": run}
