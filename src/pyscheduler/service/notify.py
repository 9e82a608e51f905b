"""Words to the service manager: the sd_notify protocol, which is one datagram to the socket named in NOTIFY_SOCKET.

Valid messages are lines `NAME=value`. Not being under a service manager, or one that does not listen, changes nothing:
every method then does nothing. A datagram is sent without waiting; one that cannot be sent is not sent again, since
the next word says more than the lost one. docs/adr/0004-service.md says why this is no library.

Source: sd_notify(3), systemd.service(5).
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping
from typing import Final

log = logging.getLogger(__name__)

US: Final = 1_000_000


class Notifier:
    """Tells one service manager; `environ` is where its address stands."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._socket: socket.socket | None = None
        if address.startswith(("@", "/")):
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.setblocking(False)
        self.watchdog_s = watchdog_of(environ) if self._socket is not None else None
        """Seconds within which it wants to hear `alive`; None where it does not watch."""

    def starting(self, status: str, within_s: float) -> None:
        """Say how far the start is, and that it may take `within_s` more seconds from now."""
        self._send(f"STATUS={status}", f"EXTEND_TIMEOUT_USEC={int(within_s * US)}")

    def ready(self, status: str) -> None:
        """Say that the start, or a reload, is over."""
        self._send("READY=1", f"STATUS={status}")

    def reloading(self, monotonic_s: float) -> None:
        """Say that a reload has begun, at this reading of CLOCK_MONOTONIC."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={int(monotonic_s * US)}")

    def stopping(self, status: str) -> None:
        """Say that the end has begun."""
        self._send("STOPPING=1", f"STATUS={status}")

    def status(self, status: str) -> None:
        """Say in one line how it goes."""
        self._send(f"STATUS={status}")

    def alive(self) -> None:
        """Say that the loop still turns."""
        self._send("WATCHDOG=1")

    def close(self) -> None:
        """Say nothing more."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, *lines: str) -> None:
        if self._socket is None:
            return
        message = "\n".join(line.replace("\n", " ") for line in lines)
        try:
            self._socket.sendto(message.encode(), self._address)
        except OSError as error:
            log.debug("the service manager does not listen: %s", error)


def watchdog_of(environ: Mapping[str, str]) -> float | None:
    """Return the watchdog's patience in seconds, None where none watches this process."""
    text, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not text.isdecimal() or not int(text) or (pid and pid != str(os.getpid())):
        return None
    return int(text) / US
