"""Whether each job's `user` is there, and ours to become. The passwd database is asked, nothing else.

Warnings, not errors: a configuration may be checked on another machine or by another user than it is run by. Where the
scheduler itself cannot become the user, each run ends as a start error that says so.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from functools import lru_cache

from pyscheduler.config.complaints import shown
from pyscheduler.config.jobs import Draft


def check_users(drafts: Mapping[str, Draft]) -> None:
    """Warn of jobs that are to run as somebody who is not there, or whom this process's user cannot become."""
    faults = lru_cache(maxsize=None)(_fault)
    for draft in drafts.values():
        job = draft.job
        if job.user is not None and not job.agent and not job.agent_tags and (fault := faults(job.user)):
            draft.spot.warning(("user",), *fault)


def _fault(user: str) -> tuple[str, str] | None:
    try:
        uid = pwd.getpwnam(user).pw_uid
    except KeyError:
        return f"no user {shown(user)} on this machine", "each run would end as a start error"
    me = os.geteuid()
    if me in (0, uid):
        return None
    return f"only a scheduler that runs as root can become {shown(user)}", f"here uid {me} runs it; or leave user out"
