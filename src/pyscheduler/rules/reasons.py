"""Whether an action says why, where its job asks for that. Pure. Spec: jobs.md 11."""

from __future__ import annotations

from pyscheduler.model.job import Job


def lacks_reason(job: Job | None, reason: str) -> bool:
    """Whether a job asks for a reason and this is none; a job that is not configured any more asks for nothing."""
    return job is not None and job.require_reason and not any(map(str.isalnum, reason))
