"""Notifiers of plug-ins: entry points of the group `pyscheduler.notifiers`. Spec: jobs.md 15.3.

The plug-in's coroutine runs in a loop of its own on the sender's thread: whatever it does there, it holds up nobody.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import entry_points

from pyscheduler.alerts.definition import Definition
from pyscheduler.alerts.message import Message
from pyscheduler.config.schema_alerts import PLUGINS
from pyscheduler.errors import NotifyError
from pyscheduler.model.job import Settings


class PluginNotifier:
    """Sends by what the entry point's factory makes."""

    def __init__(self, definition: Definition, settings: Settings) -> None:
        found = next(iter(entry_points(group=PLUGINS, name=definition.kind)), None)
        if found is None:
            raise ValueError(f"there is no plug-in for notifiers of type {definition.kind}")
        self._made, self._timeout_s = found.load()(definition, settings), definition.timeout_s

    def send(self, message: Message) -> None:
        """Return when the plug-in's `send` does, within the notifier's timeout. Raises NotifyError and its own."""
        try:
            asyncio.run(asyncio.wait_for(self._made.send(dict(message.fields)), self._timeout_s))
        except TimeoutError:
            raise NotifyError(f"it did not send within {self._timeout_s:g} s") from None
