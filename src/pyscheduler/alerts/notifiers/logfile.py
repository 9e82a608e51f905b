"""Appends one JSON line an alert to a file. Spec: jobs.md 15.3.

The line is written in one call to a file opened for appending: two writers never mix theirs.
"""

from __future__ import annotations

import os

from pyscheduler.alerts.definition import Definition
from pyscheduler.alerts.message import Message
from pyscheduler.errors import NotifyError


class LogNotifier:
    """Writes to `path`, which lies beside the configuration where it is relative. The folder must be there."""

    def __init__(self, definition: Definition) -> None:
        self._path = os.path.join(definition.folder, definition.options["path"])

    def send(self, message: Message) -> None:
        """Append the line. Raises OSError, NotifyError where only a part of it could be written."""
        line = message.body + b"\n"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            written = os.write(descriptor, line)
        finally:
            os.close(descriptor)
        if written < len(line):
            raise NotifyError(f"only {written} of {len(line)} bytes were written", where=self._path)
