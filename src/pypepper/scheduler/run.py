"""`python -m pypepper.scheduler.run module:workflow`: a workflow as a command, for a terminal or a scheduler's job.

The name leads to a `Workflow`, or to something that returns one. Each task gets a line when it has ended; warnings of
failed attempts go to standard error. Exit codes: 0 all done, 1 a required task failed, 2 no such workflow, 128 + n
after signal n.

SIGTERM and SIGINT ask politely: the cancel event of every task's context is set, the task that runs may end, and no
further one is begun. The second signal takes the usual course and ends the process.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from types import FrameType
from typing import Any, Final

from pypepper.scheduler.job import CANCEL_EVENT_KEY, Job
from pypepper.scheduler.metrics import metrics
from pypepper.scheduler.workflow import Workflow, error_text

DONE, FAILED, NOT_FOUND = 0, 1, 2
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class NoWorkflow(Exception):
    """The name on the command line leads to no workflow; the text says where it ends."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the workflow that the arguments name and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m pypepper.scheduler.run",
        description="Run a workflow: a line a task, exit code 0 if all went well.",
    )
    parser.add_argument("name", metavar="module:workflow", help="a Workflow in a module, or a callable that makes one")
    parser.add_argument("-q", "--quiet", action="store_true", help="no line for a task that went well")
    arguments = parser.parse_args(argv)
    try:
        workflow = find(arguments.name)
    except NoWorkflow as error:
        sys.stderr.write(f"{error}\n")
        return NOT_FOUND
    return Command(workflow, quiet=arguments.quiet).run()


def find(name: str) -> Any:
    """Return the workflow of this name; NoWorkflow if there is none. Errors inside the module come out as they are."""
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise NoWorkflow(f"{name}: write module:workflow, for example nightly.load:workflow")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there, and what it imports is not
        raise NoWorkflow(f"{name}: there is no module {error.name} here or on PYTHONPATH") from None
    for step in path.split("."):
        if not hasattr(found, step):
            raise NoWorkflow(f"{name}: {module_name} has no {path}")
        found = getattr(found, step)
    if callable(found) and not _is_workflow(found):
        found = found()
    if not _is_workflow(found):
        raise NoWorkflow(f"{name}: is a {type(found).__name__}, and neither a Workflow nor a callable that makes one")
    return found


def _is_workflow(found: Any) -> bool:
    return not isinstance(found, type) and callable(getattr(found, "run", None))


class Command:
    """One workflow under a terminal: its lines, its signals, its exit code."""

    def __init__(self, workflow: Any, *, quiet: bool = False) -> None:
        self._job = Job(category="command", channel_id="command")
        self._job.workflows.append(workflow)
        self._job.share_cancel_event()
        self._quiet = quiet
        self._ended = 0
        self._signal = 0

    def run(self) -> int:
        """Run task by task, so that a signal is looked at between two of them."""
        with ExitStack() as stack:
            stack.callback(metrics.add(self._show))
            for number in SIGNALS:
                stack.enter_context(_Handled(number, self._stop))
            try:
                for step in self._steps():
                    step.run()
                    if self._signal:
                        break
            except Exception as error:  # noqa: BLE001 — the workflow has failed, and this is how a command says so
                self._say(f"failed: {error_text(error)}", even_if_quiet=True)
                return 128 + self._signal if self._signal else FAILED
        if self._signal:
            self._say(f"stopped by {signal.Signals(self._signal).name}", even_if_quiet=True)
            return 128 + self._signal
        return DONE

    def _steps(self) -> list[Any]:
        """Return the workflow as workflows of one task each, if how it runs is ours to say."""
        workflow = self._job.workflows[0]
        if type(workflow) is not Workflow:
            return [workflow]
        steps = []
        for task in workflow.tasks:
            steps.append(Workflow())
            steps[-1].add_task(task)
        return steps

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self._signal = number
        self._job.context.context[CANCEL_EVENT_KEY].set()
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)

    def _show(self, step: str, facts: dict[str, Any]) -> None:
        if step != "task.ended":
            return
        self._ended += 1
        total = len(getattr(self._job.workflows[0], "tasks", ())) or "?"
        how = "ok" if facts["ok"] else f"failed: {facts['error']}"
        line = f"[{self._ended}/{total}] {facts['name']}: {how} ({facts['seconds']:.2f} s)"
        self._say(line, even_if_quiet=not facts["ok"])

    def _say(self, line: str, *, even_if_quiet: bool) -> None:
        if even_if_quiet or not self._quiet:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


class _Handled(AbstractContextManager[None]):
    """A signal with a handler of ours, and afterwards with the one before."""

    def __init__(self, number: int, handler: Any) -> None:
        self._number = number
        self._before = signal.signal(number, handler)

    def __exit__(self, *_: object) -> None:
        signal.signal(self._number, self._before)


if __name__ == "__main__":
    sys.exit(main())
