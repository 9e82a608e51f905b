"""The ways to tell people, one module a type, and those of plug-ins. Spec: jobs.md 15.3.

A notifier has one method, `send`, called on a thread of its own; it returns when the message was taken and raises
NotifyError, OSError or ValueError when it was not. A plug-in is an entry point in the group `pyscheduler.notifiers`: a
factory `(definition, settings)` that returns an object with `async send(mapping)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from pyscheduler.alerts.definition import Definition
from pyscheduler.alerts.message import Message
from pyscheduler.alerts.notifiers.command import CommandNotifier
from pyscheduler.alerts.notifiers.hooks import SlackNotifier, TelegramNotifier, WebhookNotifier
from pyscheduler.alerts.notifiers.logfile import LogNotifier
from pyscheduler.alerts.notifiers.mail import EmailNotifier
from pyscheduler.alerts.notifiers.plugin import PluginNotifier
from pyscheduler.model.job import Settings


class Notifier(Protocol):
    """Tells people of one message."""

    def send(self, message: Message) -> None:
        """Return when the message was taken. Raises NotifyError, OSError, ValueError."""
        ...


OUR_OWN: Final[Mapping[str, Callable[[Definition], Notifier]]] = {
    "log": LogNotifier,
    "command": CommandNotifier,
    "webhook": WebhookNotifier,
    "slack": SlackNotifier,
    "telegram": TelegramNotifier,
    "email": EmailNotifier,
}


def notifier_of(definition: Definition, settings: Settings) -> Notifier:
    """Return what sends for a definition. Raises ValueError for options that make no sense."""
    made = OUR_OWN.get(definition.kind)
    return made(definition) if made is not None else PluginNotifier(definition, settings)
