"""A mail: the line as its subject, the alert as JSON in its body. Spec: jobs.md 15.3.

Encrypted unless the configuration says otherwise, and then only with a certificate that the system trusts for the host:
by STARTTLS, or from the first byte (SMTPS). Each alert has its own Message-ID, made of its id, so a mail that is sent
twice after a crash is one in many a mailbox.
"""

from __future__ import annotations

import json
import smtplib
import ssl
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime
from typing import Final

from pyscheduler.alerts.definition import Definition
from pyscheduler.alerts.message import Message, one_line
from pyscheduler.config.values import parse_bool, parse_int
from pyscheduler.errors import NotifyError

LONGEST_SUBJECT: Final = 200
SMTPS_PORT: Final = 465
"""Where a server expects TLS from the first byte (RFC 8314)."""


class EmailNotifier:
    """Sends to all of `to` in one mail."""

    def __init__(self, definition: Definition) -> None:
        options = definition.options
        self._host, self._port = options["host"], parse_int(options.get("port", "587"))
        self._sender, given = options["from"], options["to"]
        self._to = [given] if isinstance(given, str) else list(given)
        self._login = (options["username"], options["password"]) if "username" in options else None
        self._is_smtps = parse_bool(options["smtps"]) if "smtps" in options else self._port == SMTPS_PORT
        self._encrypts = parse_bool(options.get("starttls", "true")) and not self._is_smtps
        self._timeout_s = definition.timeout_s

    def send(self, message: Message) -> None:
        """Return when the server has taken the mail for every receiver. Raises NotifyError, OSError."""
        mail = self._mail(message)
        try:
            with self._connected() as server:
                if self._encrypts:
                    server.starttls(context=ssl.create_default_context())
                if self._login is not None:
                    server.login(*self._login)
                refused = server.send_message(mail, self._sender, self._to)
        except smtplib.SMTPResponseException as error:
            raise NotifyError(f"{self._host} answered {error.smtp_code} ({type(error).__name__})") from None
        except smtplib.SMTPException as error:
            raise NotifyError(f"{self._host} did not take the mail ({type(error).__name__})") from None
        if refused:
            raise NotifyError(f"{self._host} refused {len(refused)} of {len(self._to)} receivers")

    def _connected(self) -> smtplib.SMTP:
        if not self._is_smtps:
            return smtplib.SMTP(self._host, self._port, timeout=self._timeout_s)
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(self._host, self._port, timeout=self._timeout_s, context=context)

    def _mail(self, message: Message) -> EmailMessage:
        fields = message.fields
        mail = EmailMessage(policy=SMTP_POLICY)
        subject = f"[pysched {fields['criticality']}] {one_line(fields['message'])}"
        mail["Subject"] = subject[:LONGEST_SUBJECT]
        mail["From"], mail["To"] = self._sender, ", ".join(self._to)
        mail["Date"] = format_datetime(datetime.fromisoformat(fields["raised_at"]))
        mail["Message-ID"] = f"<{fields['alert_id'].replace(':', '.')}@{_domain(self._sender)}>"
        mail["Auto-Submitted"] = "auto-generated"
        text = json.dumps(fields, ensure_ascii=False, indent=2, default=str)
        mail.set_content(text.encode("utf-8", "replace").decode("utf-8") + "\n")
        return mail


def _domain(sender: str) -> str:
    """Return the domain of an address, or a name that stands for none."""
    try:
        return Address(addr_spec=sender).domain or "pysched"
    except (ValueError, IndexError):
        return "pysched"
