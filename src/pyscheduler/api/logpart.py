"""Which attempt's log is meant, where it lies, and the part of it that is asked for. Spec: jobs.md 13.4.

The path is the one the attempt's row recorded, never a parameter.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyscheduler.api import logfile
from pyscheduler.api.asking import LogAsked
from pyscheduler.errors import NotFound
from pyscheduler.model.run import Attempt, Run
from pyscheduler.store.reads import Reads

TAIL_LINES: Final = 200


def attempts_of(store: Reads, run_id: str) -> tuple[Run, list[Attempt]]:
    """Return a run and its attempts. Raises NotFound."""
    run = store.get_run(run_id)
    if run is None:
        raise NotFound(f"there is no run {run_id[:100]}", mend="`pysched runs` lists them")
    return run, store.attempts(run_id)


def chosen(run: Run, attempts: list[Attempt], number: int | None) -> Attempt:
    """Return the attempt asked for, the latest unless named. Raises NotFound."""
    if not attempts:
        raise NotFound(f"{run.run_id} has no log: it was never started", mend=f"`pysched why {run.job}` says why")
    found = attempts[-1] if number is None else next((row for row in attempts if row.attempt == number), None)
    if found is None:
        raise NotFound(f"{run.run_id} has no attempt {number}", mend=f"it has had {attempts[-1].attempt}")
    return found


def path_of(attempt: Attempt, stream: str) -> str:
    """Return the path of an attempt's log. Raises NotFound."""
    if stream == "stderr" and attempt.stderr_path in ("", attempt.stdout_path):
        raise NotFound("stderr goes into the log of stdout for this job", mend="ask for stream=stdout")
    path = attempt.stdout_path if stream == "stdout" else attempt.stderr_path
    if not path:
        raise NotFound("this attempt has no log: its command could not be made", mend=attempt.reason)
    return path


def text_of(path: str, asked: LogAsked, attempt: Attempt) -> dict[str, Any]:
    """Return the part of a log that was asked for. For a helper thread. Raises NotFound, Forbidden, OSError."""
    with _absence_of(attempt):
        if asked.offset is None:
            tail = logfile.tail(path, asked.tail or TAIL_LINES)
            return {"lines": tail.lines, "truncated": tail.truncated, "size": tail.size, "path": path}
        piece = logfile.piece(path, asked.offset, asked.limit, ended=attempt.outcome is not None)
    offsets = {"offset": piece.offset, "next_offset": piece.next_offset, "size": piece.size}
    return {"text": piece.text, **offsets, "path": path}


def size_of(path: str, attempt: Attempt) -> int:
    """Return how many bytes an attempt's log has. For a helper thread. Raises like `text_of`."""
    with _absence_of(attempt):
        return logfile.size_of(path)


@contextmanager
def _absence_of(attempt: Attempt) -> Iterator[None]:
    """Say of an attempt that has ended that its log is gone: no log will come any more."""
    try:
        yield
    except NotFound as error:
        if attempt.outcome is None:
            raise
        what = "there is no log: the attempt has ended, and its file was removed or never written"
        if attempt.exit_code is not None or attempt.signal is not None:
            what = "the log file is gone: it lay here when the attempt ran, and was removed or moved since"
        raise NotFound(what, where=error.where, mend="look where old logs are moved to, or in a backup") from None


def standing_of(run: Run, attempt: Attempt, attempts: list[Attempt]) -> dict[str, Any]:
    """Return what a follower needs to know when to look again, and when never."""
    return {
        "attempt": attempt.attempt,
        "latest_attempt": attempts[-1].attempt,
        "ended": attempt.outcome is not None,
        "state": run.state.value,
    }
