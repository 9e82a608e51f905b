"""The keys of notifiers and routes. Spec: jobs.md 15.2, 15.3.

The shapes are checked now; what they say is kept as typed, `${NAME}` and all, for the part that will send.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import ConfigDict, Discriminator, Field, Tag

from pyscheduler.config.fields import (
    Bool,
    Count,
    Duration,
    FullText,
    Name,
    Text,
    TextKey,
    whole,
)
from pyscheduler.config.reading import Several, shape_of
from pyscheduler.config.schema_job import Shape, key
from pyscheduler.config.words import Url


class SendRetryKeys(Shape):
    """How often a failed delivery is tried again."""

    count: Count | None = key("Tries after the first.", default=5)
    delay: Duration | None = key("Wait before the first retry; doubled each time.", default="10s")
    max_delay: Duration | None = key("No wait is longer.", default="10m")


class NotifierKeys(Shape):
    """What every notifier may say."""

    type: FullText = Field(description="How it tells people.")
    timeout: Duration | None = key("How long one delivery may take.", default="10s")
    retries: SendRetryKeys | None = key("How often a failed delivery is tried again.")


class LogNotifier(NotifierKeys):
    """Appends one JSON line an alert to a file."""

    path: FullText = Field(description="The file; relative to this one.")


class CommandNotifier(NotifierKeys):
    """Runs a command with the alert as JSON on its standard input."""

    command: Annotated[
        Annotated[FullText, Tag("<text>")] | Annotated[list[Text], Field(min_length=1), Tag("<list>")],
        Discriminator(shape_of),
    ] = Field(description="Text by /bin/sh -c, a list directly.")


class WebhookNotifier(NotifierKeys):
    """Posts the alert as JSON."""

    url: Url = Field(description="Where to.")
    headers: dict[TextKey, Text] | None = key("Further headers.")


class SlackNotifier(NotifierKeys):
    """Posts one line to a Slack webhook."""

    webhook_url: Url = Field(description="The webhook.")


class TelegramNotifier(NotifierKeys):
    """Sends one line to a Telegram chat."""

    bot_token: FullText = Field(description="The bot's token.")
    chat_id: FullText = Field(description="The chat.")
    api_url: Url | None = key("Another server of the API.")


class EmailNotifier(NotifierKeys):
    """Sends a mail."""

    host: FullText = Field(description="The mail server.")
    from_: FullText = Field(description="The sender.", alias="from")
    to: Annotated[list[FullText], Field(min_length=1), Several()] = Field(description="One address or several.")
    port: Annotated[int, whole(1, 65535)] | None = key("The server's port.", default=587)
    username: FullText | None = key("With password.")
    password: FullText | None = key("With username.")
    smtps: Bool | None = key("Whether the server speaks TLS from the first byte; by default where `port` is 465.")
    starttls: Bool | None = key("Whether any other connection is encrypted before the mail.", default=True)


class PluginNotifier(NotifierKeys):
    """A notifier of a plug-in: its own options are its own business."""

    model_config = ConfigDict(extra="allow")


NOTIFIERS: Final[dict[str, type[NotifierKeys]]] = {
    "log": LogNotifier,
    "command": CommandNotifier,
    "webhook": WebhookNotifier,
    "slack": SlackNotifier,
    "telegram": TelegramNotifier,
    "email": EmailNotifier,
}
PLUGINS: Final = "pyscheduler.notifiers"
"""The entry-point group whose names are notifier types too."""

Notifier = LogNotifier | CommandNotifier | WebhookNotifier | SlackNotifier | TelegramNotifier | EmailNotifier


class RouteKeys(Shape):
    """Where alerts of a kind go."""

    match: FullText = Field(
        description="A pattern for alert.KIND.CRITICALITY.JOB: * is one word, # any number.",
        examples=["alert.failed.#"],
    )
    notify: list[Name] = Field(description="The notifiers that are told.")
