"""The TCP address the service is spoken to at: taken before anything is made in `state_dir`. Spec: jobs.md 13.1, 14.2.

Three ends: a listening socket; nothing, where `listen` is off, or where nobody wrote it and the default is taken (two
schedulers on one machine must work as they come); a refusal, where what was written cannot be had, or would let the
network in without asking who it is.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from pyscheduler.api.callers import user_name
from pyscheduler.config import Config, ConfigError
from pyscheduler.model.person import Credentials
from pyscheduler.model.problem import Problem

log = logging.getLogger(__name__)

BACKLOG: Final = 1024
_LISTENING: Final = "0A"
_GET_OPTIONS: Final = socket.AI_PASSIVE | socket.AI_NUMERICSERV


def bind(config: Config, credentials: Credentials) -> socket.socket | None:
    """Return the socket that listens at the configured address, None for none. Raises ConfigError."""
    settings = config.settings
    if settings.listen is None:
        return None
    host, _, port = settings.listen.rpartition(":")
    try:
        family, address = _resolved(host.strip("[]"), int(port))
        if credentials.is_open and not ip_address(address[0]).is_loopback:
            what = f"scheduler.listen: {settings.listen} lets the network in, and nothing says who may come"
            raise _refusal(config, what, "write users_file or api_tokens_file, or listen at 127.0.0.1")
        return _listening(family, address)
    except OSError as error:
        reason = _reason(error, host.strip("[]"), int(port))
        if not settings.listen_is_given:
            log.warning("no TCP listener: the default %s %s; the Unix socket is there", settings.listen, reason)
            return None
        what = f"scheduler.listen: {settings.listen} {reason}"
        raise _refusal(config, what, "write another address, or `listen: off` for the Unix socket alone") from None


def is_loopback(listen: str | None) -> bool:
    """Whether a listening address, as configured, can be reached from this machine only."""
    host = (listen or "127.0.0.1:0").rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def shown(listening: socket.socket) -> str:
    """Return the address that a socket listens at as people type it; one of all interfaces by its loopback."""
    host, port = listening.getsockname()[:2]
    if ip_address(host).is_unspecified:
        host = "::1" if listening.family == socket.AF_INET6 else "127.0.0.1"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _resolved(host: str, port: int) -> tuple[int, tuple[str, int]]:
    """Return the family and the numeric address of a host, IPv4 first. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=_GET_OPTIONS)
    family, *_, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    return family, (str(address[0]), int(address[1]))


def _listening(family: int, address: tuple[str, int]) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        bound.bind(address)
        bound.listen(BACKLOG)
        bound.setblocking(False)
    except BaseException:
        bound.close()
        raise
    return bound


def _refusal(config: Config, what: str, mend: str) -> ConfigError:
    return ConfigError([Problem(str(config.path), 0, 0, what, mend)])


def _reason(error: OSError, host: str, port: int) -> str:
    """Return why an address cannot be listened at."""
    if error.errno != errno.EADDRINUSE:
        return f"cannot be listened at: {error.strerror or error}"
    holder = _holder(port)
    return f"is taken{f' by {holder}' if holder else ''}"


def _holder(port: int) -> str:
    """Return who listens at a port, as far as this user may see: the process, else the user, else nothing."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text("ascii").splitlines()[1:]:
                parts = line.split()
                if parts[3] == _LISTENING and int(parts[1].rpartition(":")[2], 16) == port:
                    return _process_with(parts[9]) or f"a process of {user_name(int(parts[7]))}"
    return ""


def _process_with(inode: str) -> str:
    """Return the process that holds a socket, empty where it cannot be seen."""
    wanted = f"socket:[{inode}]"
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):
            for link in os.listdir(f"/proc/{pid}/fd"):
                if os.readlink(f"/proc/{pid}/fd/{link}") == wanted:
                    name = Path("/proc", pid, "comm").read_text("utf-8", "replace").strip()
                    return f"pid {pid} ({name})"
    return ""
