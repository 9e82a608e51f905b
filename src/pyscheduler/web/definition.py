"""The definition that a run used: the job as it is in force, or the text of an older configuration as it was typed.

An older text is shown to operators only (jobs.md 15.8): it holds what was typed, which may be more than a viewer is to
see. Only the job's own lines are shown, found by its name as a key; that is as near as its text can tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from pyscheduler.api.desk import FrontDesk
from pyscheduler.api.views import definition_view
from pyscheduler.model.job import ConfigSource, Job
from pyscheduler.model.run import Run

LINES: Final = 200
"""Lines of an older definition that are shown."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What a page shows: `text` of the job's keys, and where it comes from. `remark` says what is not shown and why."""

    version: int
    in_force: int
    text: str = ""
    where: str = ""
    remark: str = ""


async def definition_of(desk: FrontDesk, run: Run, version: int, *, may_see_text: bool) -> Definition:
    """Return the definition of the version that a run's latest attempt used. Raises StoreError, Unavailable."""
    engine = desk.engine
    job, in_force = engine.config.jobs.get(run.job), engine.config_version
    if version == in_force and job is not None:
        timetable = engine.config.timetable(job.name)
        bare = definition_view(Job(name=job.name, source=job.source), timetable)
        return Definition(version, in_force, as_text(definition_view(job, timetable), bare), str(job.source))
    if not may_see_text:
        return Definition(version, in_force, remark="An older text is shown to operators only.")
    record = await desk.ask(lambda store: store.config(version))
    if record is None:
        return Definition(version, in_force, remark="This version's text is not kept any more.")
    found = await desk.threads(excerpt, record.sources, run.job)
    if found is None:
        return Definition(version, in_force, remark="The job's own lines were not found in that version's text.")
    where, text = found
    return Definition(version, in_force, text, where)


def as_text(view: dict[str, Any], bare: dict[str, Any]) -> str:
    """Return a definition as YAML, without what a bare job has as well; the schedules are always told."""
    source = {key: value for key, value in view.items() if key == "schedules" or value != bare.get(key)}
    return str(yaml.safe_dump(source, sort_keys=False, allow_unicode=True, width=100, default_flow_style=None))


def excerpt(sources: Sequence[ConfigSource], job: str) -> tuple[str, str] | None:
    """Return where a job stands in these texts, and its own lines; None where its name is no key of theirs."""
    key = re.compile(rf"^([ \t]*)[\"']?{re.escape(job)}[\"']?[ \t]*:.*$", re.MULTILINE)
    for source in sources:
        if (found := key.search(source.text)) is not None:
            line = source.text.count("\n", 0, found.start()) + 1
            return f"{source.path}:{line}", _lines_from(source.text[found.start() :], len(found[1]))
    return None


def _lines_from(text: str, depth: int) -> str:
    """Return the first line and those that are set in deeper, LINES at most."""
    first, *rest = text.split("\n", LINES)[:LINES]
    kept = [first]
    for line in rest:
        if line.strip() and len(line) - len(line.lstrip(" \t")) <= depth:
            break
        kept.append(line)
    return "\n".join(each[depth:] if each[:depth].isspace() else each for each in kept).rstrip()
