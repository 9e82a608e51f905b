"""Finding the program of an order, and the words for why it cannot be started."""

from __future__ import annotations

import errno
import os
import signal

ALL_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
"""What a job gets back as default: the interpreter ignores SIGPIPE and SIGXFSZ, and who started us may ignore more."""


class CannotStart(Exception):
    """The job was not started; the text is for people and names the fault as the system does."""


def find_program(name: str, environment: dict[str, str]) -> str:
    """Search the job's own PATH as execvp does. FileNotFoundError, PermissionError."""
    if "/" in name:
        return name
    fault = errno.ENOENT
    for folder in environment.get("PATH", os.defpath).split(":"):
        path = os.path.join(folder or ".", name)
        if os.access(path, os.X_OK, effective_ids=True) and not os.path.isdir(path):
            return path
        if os.path.isfile(path):
            fault = errno.EACCES
    raise OSError(fault, os.strerror(fault), name)


def words(error: OSError | ValueError, program: str) -> str:
    """Return the system's words for a start that failed, naming the program as it was given."""
    if isinstance(error, OSError) and error.errno is not None:
        return str(OSError(error.errno, os.strerror(error.errno), program))
    return str(error)
