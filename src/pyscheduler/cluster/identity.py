"""Who this process is, for others on the same store; and what the kernel says of another's process. Spec: claims.md C2.

What must always hold: what cannot be known is left empty, never guessed, and with it every proof (`rules/proof.py`).
The machine's own id never leaves it: only its hash with the deployment's name does.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from pyscheduler.engine import machine
from pyscheduler.minder import kernel
from pyscheduler.model.lease import Identity
from pyscheduler.rules.proof import Presence, ProcessFacts

HOST_VARIABLE: Final = "PYSCHED_HOST_ID"
"""Says the host's id where the machine has none of its own or shares it (containers, cloned disks)."""
_MACHINE_IDS: Final = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_PID_NAMESPACE: Final = Path("/proc/self/ns/pid")


def identity(
    *,
    state_dir: Path,
    node: str = "",
    tags: Iterable[str] = (),
    capacity: int = 0,
    address: str = "",
    deployment: str = "pyscheduler",
) -> Identity:
    """Return a new incarnation of this process: a fresh `inc_id` each time, the rest as it is."""
    return Identity(
        inc_id=secrets.token_hex(16),
        host_id=host_id(deployment),
        boot_id=_boot_id(),
        pid_ns=pid_namespace(),
        pid=os.getpid(),
        start_ticks=machine.start_ticks(os.getpid()),
        state_dir=str(Path(state_dir).absolute()),
        node=node or socket.gethostname(),
        tags=tuple(tags),
        capacity=capacity,
        address=address,
    )


def host_id(deployment: str) -> str:
    """Return what names this machine within a deployment; empty where the machine has no id."""
    said = os.environ.get(HOST_VARIABLE, "").strip()
    raw = said or _machine_id()
    return hashlib.sha256(f"{deployment}\0{raw}".encode()).hexdigest()[:32] if raw else ""


def pid_namespace() -> str:
    """Return the inode of this process's pid namespace; empty where the kernel does not say."""
    try:
        return str(_PID_NAMESPACE.stat().st_ino)
    except OSError:
        return ""


def probe(pid: int | None) -> ProcessFacts:
    """Ask the kernel about a process of this pid namespace: signal 0, then its line in /proc.

    In this order: what is absent at the first question stays so for the process that is asked about.
    """
    if pid is None or pid <= 0:
        return ProcessFacts()
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ProcessFacts(Presence.ABSENT)
    except PermissionError:
        pass  # it is there, and somebody else's
    except OSError:
        return ProcessFacts()
    found = None
    with suppress(OSError, ValueError, IndexError):
        found = kernel.stat(pid)
    if found is None:
        return ProcessFacts(Presence.PRESENT)
    return ProcessFacts(Presence.PRESENT, found.start_ticks, not found.alive, _threads(pid))


def _threads(pid: int) -> int | None:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return None


def _machine_id() -> str:
    for path in _MACHINE_IDS:
        with suppress(OSError, UnicodeDecodeError):
            text = path.read_text().strip()
            if text and text != "uninitialized":
                return text
    return ""


def _boot_id() -> str:
    try:
        return machine.boot_id()
    except OSError:
        return ""
