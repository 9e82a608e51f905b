"""Messages by HTTP: any webhook, Slack, Telegram. Spec: jobs.md 15.3."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from pyscheduler.alerts.definition import Definition
from pyscheduler.alerts.message import Message
from pyscheduler.alerts.notifiers.http import checked, request

_JSON: Final = {"Content-Type": "application/json"}
TELEGRAM: Final = "https://api.telegram.org"


class WebhookNotifier:
    """Posts the alert as JSON to `url`."""

    def __init__(self, definition: Definition) -> None:
        self._url, self._timeout_s = definition.options["url"], definition.timeout_s
        self._headers = {**_JSON, **definition.options.get("headers", {})}
        checked(self._url)

    def send(self, message: Message) -> None:
        """Return when it was answered with 2xx. Raises NotifyError."""
        request("POST", self._url, message.body, self._headers, self._timeout_s)


class SlackNotifier:
    """Posts one line to a Slack webhook."""

    def __init__(self, definition: Definition) -> None:
        self._url, self._timeout_s = definition.options["webhook_url"], definition.timeout_s
        checked(self._url)

    def send(self, message: Message) -> None:
        """Return when it was answered with 2xx. Raises NotifyError."""
        request("POST", self._url, _body({"text": message.line}), _JSON, self._timeout_s)


class TelegramNotifier:
    """Sends one line to a Telegram chat."""

    def __init__(self, definition: Definition) -> None:
        base = definition.options.get("api_url", TELEGRAM).rstrip("/")
        self._url = f"{base}/bot{definition.options['bot_token']}/sendMessage"
        self._chat, self._timeout_s = definition.options["chat_id"], definition.timeout_s
        checked(self._url)

    def send(self, message: Message) -> None:
        """Return when it was answered with 2xx. Raises NotifyError."""
        body = _body({"chat_id": self._chat, "text": message.line})
        request("POST", self._url, body, _JSON, self._timeout_s)


def _body(fields: Mapping[str, str]) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace")
