"""What one job says must fit together. Spec: jobs.md 1.10, 12.2 (Settings, Agents, warnings about one job)."""

from __future__ import annotations

import re
from typing import Final

from pyscheduler.config.complaints import Spot
from pyscheduler.config.templates import variables_in
from pyscheduler.config.values import format_duration
from pyscheduler.model.job import BusinessDaySpec, Job, JobKind, Overlap


def check_job(job: Job, spot: Spot, *, sound_schedule: bool) -> None:
    """Complain about everything in a job that does not fit together. `spot` is its mapping.

    Where the schedule was not sound, nothing more is said about what starts the job.
    """
    _check_work(job, spot)
    if sound_schedule:
        _check_start(job, spot)
    _check_runtimes(job, spot)
    _check_retries(job, spot)
    _check_agent(job, spot)
    _check_argv(job, spot)
    if job.overlap is Overlap.ALLOW and job.pools:
        spot.warning(("overlap",), "allow with pools: runs of the job itself may take all slots of a pool", at_key=True)


def _check_work(job: Job, spot: Spot) -> None:
    if job.kind is JobKind.FILE_WATCHER:
        if job.watch is None:
            spot.error((), "a file watcher needs watch", 'add watch: "/in/*.csv"')
        elif job.min_age_s > job.give_up_after_s:
            lengths = (
                f"{format_duration(job.min_age_s)} is longer than give_up_after {format_duration(job.give_up_after_s)}"
            )
            spot.error(("min_age",), lengths, at_key=True)
    elif not job.command:
        spot.error((), "command is missing", "say what runs, as in command: ./load.sh")
    elif isinstance(job.command, tuple) and not job.command[0].strip():
        spot.error(("command", 0), "the program to run has no name")


def _check_start(job: Job, spot: Spot) -> None:
    if not job.schedules and not job.manual and not job.depends_on:
        what = "nothing ever starts it: it has neither schedule nor depends_on"
        spot.error((), what, "add a schedule, a dependency, or schedule: manual")
    elif job.dependency_only and all(dependency.job == job.name for dependency in job.depends_on):
        spot.warning(
            ("depends_on",), "it depends on nothing but itself, and that creates no run", "add a schedule", at_key=True
        )
    if job.manual and job.schedules:
        spot.warning(
            ("schedule",), "manual beside a schedule changes nothing: every job can be triggered by hand", at_key=True
        )
    if job.calendar is None and any(isinstance(spec, BusinessDaySpec) for spec in job.schedules):
        spot.error(("schedule",), "business_day needs a calendar on the job itself", "add calendar: NAME", at_key=True)


def _check_runtimes(job: Job, spot: Spot) -> None:
    least, most, timeout = job.min_runtime_s, job.max_runtime_s, job.timeout_s
    if least is not None and most is not None and least >= most:
        spot.error(
            ("min_runtime",),
            f"{format_duration(least)} is not less than max_runtime {format_duration(most)}",
            at_key=True,
        )
    if most is not None and timeout is not None and most > timeout:
        spot.error(
            ("max_runtime",), f"{format_duration(most)} is longer than timeout {format_duration(timeout)}", at_key=True
        )


def _check_retries(job: Job, spot: Spot) -> None:
    policy = job.retries
    if policy.count and policy.delay_s > policy.max_delay_s:
        longest = format_duration(policy.max_delay_s)
        what = f"delay {format_duration(policy.delay_s)} is longer than max_delay {longest}, so every wait is {longest}"
        spot.warning(("retries", "delay"), what, "raise max_delay", at_key=True)
    both = sorted(code for code in job.success_codes if code in policy.on)
    if both:
        spot.warning(("success_codes",), f"exit code {both[0]} is a success, so retries.on never sees it", at_key=True)


_SECRET: Final = re.compile(
    r"(^|_)(pass|passwd|pwd)(_|$)|password|passphrase|secret|token|api_?key|private_?key|credential", re.IGNORECASE
)
"""Names that say that their value is nobody's business."""


def _check_argv(job: Job, spot: Spot) -> None:
    """Warn of a secret in a command line: every user of the machine can read it in ps (P8, field case FC-082)."""
    parts = job.command if isinstance(job.command, tuple) else (job.command,)
    for number, part in enumerate(parts):
        for name in sorted(filter(_SECRET.search, variables_in(part))):
            loc = ("command", number) if isinstance(job.command, tuple) else ("command",)
            what = f"${{{name}}} would stand in the command line, where every user can read it"
            spot.warning(loc, what, f'hand it on by env: {{{name}: "${{{name}}}"}} and write ${name}')


def _check_agent(job: Job, spot: Spot) -> None:
    if job.kind is JobKind.FILE_WATCHER:
        for key in ("agent", "agent_tags"):
            if getattr(job, key):
                spot.error((key,), "a file watcher runs in the scheduler itself, on no agent", "remove it", at_key=True)
    elif job.agent and job.agent_tags:
        spot.error(
            ("agent_tags",), "agent names one agent and agent_tags any that fits", "keep one of them", at_key=True
        )
