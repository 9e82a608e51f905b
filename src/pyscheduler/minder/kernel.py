"""What the kernel is asked: who is that process, whose child, how did it end, and signal exactly that one.

Always: a process is known by its number *and* its start ticks; a number alone is never signalled. Where there is no
pidfd (an old kernel, a sandbox that forbids it, or PYSCHED_NO_PIDFD=1 in tests) the start ticks are checked and then
the number is signalled: between the two a number could in theory be reused, which docs/concepts/recovery.md says.
ctypes is used for the two calls Python does not offer: PR_SET_CHILD_SUBREAPER, and waitid's fifth argument, the usage
of a zombie not yet reaped.
"""

from __future__ import annotations

import ctypes
import os
import signal

from . import notes


def _has_pidfds() -> bool:
    """Try both calls on ourselves: Python offers them wherever it was built with them, whatever this kernel says."""
    try:
        fd = os.pidfd_open(os.getpid())
    except (AttributeError, OSError):  # ENOSYS before Linux 5.3, EPERM in a sandbox
        return False
    try:
        signal.pidfd_send_signal(fd, 0)
    except (AttributeError, OSError):
        return False
    finally:
        os.close(fd)
    return True


NO_PIDFD = os.environ.get("PYSCHED_NO_PIDFD") == "1" or not _has_pidfds()
KEY_VARIABLE = "PYSCHED_ATTEMPT_KEY"

PR_SET_NAME = 15
PR_SET_CHILD_SUBREAPER = 36
WAITID = {"x86_64": 247, "aarch64": 95, "riscv64": 95, "ppc64le": 272, "s390x": 281}
"""System call numbers of waitid; elsewhere the times come from /proc and the peak memory stays unknown."""
FIELDS = 20
"""As many of /proc/PID/stat, counted from the state, as hold the start ticks."""
FD_MAX = (1 << 31) - 1

_libc = ctypes.CDLL(None)
_prctl, _syscall = _libc.prctl, _libc.syscall  # looked up before the first fork: a lookup dirties 50 pages
_close_range = getattr(_libc, "close_range", lambda low, high, flags: -1)
_waitid = WAITID.get(os.uname().machine)


class _Usage(ctypes.Structure):
    """The kernel's struct rusage on 64-bit Linux: two timevals and fourteen longs."""

    _fields_ = (
        ("user_s", ctypes.c_long),
        ("user_us", ctypes.c_long),
        ("system_s", ctypes.c_long),
        ("system_us", ctypes.c_long),
        ("max_rss_kb", ctypes.c_long),
        ("rest", ctypes.c_long * 13),
    )


class Stat:
    """One line of /proc/PID/stat, as far as it matters here. `state` is one letter, Z for a zombie."""

    __slots__ = ("group", "parent", "pid", "session", "start_ticks", "state")

    def __init__(self, pid: int, fields: list[bytes]) -> None:
        self.pid = pid
        self.state = fields[0].decode()
        self.parent, self.group, self.session = int(fields[1]), int(fields[2]), int(fields[3])
        self.start_ticks = int(fields[19])

    @property
    def alive(self) -> bool:
        """Whether it still runs code: neither a zombie nor being buried."""
        return self.state not in "ZXx"

    @property
    def proc(self) -> notes.Proc:
        """Return what tells it from every other process of this boot."""
        return notes.Proc(self.pid, self.start_ticks)


class End:
    """How a process ended: one of `exit_code` and `signal` is set."""

    __slots__ = ("exit_code", "signal")

    def __init__(self, exit_code: int | None, signum: int | None) -> None:
        self.exit_code, self.signal = exit_code, signum


def stat(pid: int) -> Stat | None:
    """Return what the kernel says of a process, None where there is none of that number."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    try:
        data = os.read(fd, 4096)
    except ProcessLookupError:
        return None
    finally:
        os.close(fd)
    return Stat(pid, data[data.rindex(b")") + 2 :].split(b" ", FIELDS)) if data else None


def start_ticks(pid: int) -> int | None:
    """Return the clock ticks after boot at which the process started; None where there is none."""
    found = stat(pid)
    return found.start_ticks if found else None


def myself() -> notes.Proc:
    """Return this very process."""
    pid = os.getpid()
    return notes.Proc(pid, start_ticks(pid) or 0)


def boot_id() -> str:
    """Return the machine's boot: start ticks repeat after a reboot, this does not."""
    data = notes.read("/proc/sys/kernel/random/boot_id")
    return data.decode().strip() if data else ""


def processes() -> dict[int, Stat]:
    """Return every process there is. About 15 µs each."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (one := stat(int(name))) is not None:
            found[one.pid] = one
    return found


def children() -> list[int]:
    """Return the children of this process, zombies included. It must have one thread only."""
    me = os.getpid()
    try:
        data = notes.read(f"/proc/{me}/task/{me}/children")
    except OSError:
        data = None
    if data is None:  # a kernel built without PROC_CHILDREN
        return [one.pid for one in processes().values() if one.parent == me]
    return [int(word) for word in data.split()]


def carries(pid: int, key: str) -> bool | None:
    """Whether the process was started with this attempt's key in its environment; None where we may not look.

    A zombie has no environment any more.
    """
    try:
        data = notes.read(f"/proc/{pid}/environ")
    except PermissionError:
        return None
    except ProcessLookupError:
        return False
    return data is not None and f"{KEY_VARIABLE}={key}".encode() in data.split(b"\0")


def become_subreaper() -> None:
    """Make orphans below this process fall to it instead of to pid 1. OSError where the kernel refuses."""
    if _prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError("the kernel knows no child subreapers (Linux before 3.4)")


def close_all_but(keep: set[int]) -> None:
    """Close every descriptor that is not named."""
    low = 0
    for fd in [*sorted(keep), FD_MAX]:
        if fd > low and _close_range(low, fd - 1, 0) != 0:
            break
        low = fd + 1
    else:
        return
    for name in os.listdir("/proc/self/fd"):  # a kernel before 5.9 or an old C library
        if int(name) not in keep:
            os.closerange(int(name), int(name) + 1)


def call_myself(name: str) -> None:
    """Set the name that `ps` and `top` show, at most 15 bytes."""
    _prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def peek(pid: int) -> End | None:
    """Return how a child ended without reaping it, None while it lives. ChildProcessError where it is no child."""
    info = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if info is None:
        return None
    if info.si_code == os.CLD_EXITED:
        return End(info.si_status, None)
    return End(None, info.si_status)


def peek_any() -> int | None:
    """Return some child that has ended, without reaping it. None where none has; ChildProcessError without children."""
    info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return info.si_pid if info else None


def reap(pid: int) -> bool:
    """Bury one ended child. False where it still lives or is none of ours."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return False


def usage(pid: int) -> dict[str, object]:
    """Return a zombie child's CPU seconds and peak memory, its own waited-for children included.

    The peak of a very small job is its minder's, about 10 MB: the kernel counts the memory it had before exec.
    """
    if _waitid is not None:
        found = _Usage()
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        if _syscall(_waitid, int(os.P_PID), pid, None, flags, ctypes.byref(found)) == 0:
            cpu_s = found.user_s + found.system_s + (found.user_us + found.system_us) / 1e6
            return {"cpu_s": round(cpu_s, 6), "max_rss_bytes": found.max_rss_kb * 1024}
    return {"cpu_s": _cpu_of(pid), "max_rss_bytes": None}


def _cpu_of(pid: int) -> float | None:
    data = notes.read(f"/proc/{pid}/stat")
    if not data:
        return None
    fields = data[data.rindex(b")") + 2 :].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def send(proc: notes.Proc, signum: int) -> bool:
    """Signal exactly this process; False where it is gone or not ours to signal."""
    if NO_PIDFD:
        return _send_by_number(proc, signum)
    try:
        fd = os.pidfd_open(proc.pid)
    except ProcessLookupError:
        return False
    except OSError:  # ENOSYS, EMFILE
        return _send_by_number(proc, signum)
    try:
        if start_ticks(proc.pid) != proc.start_ticks:
            return False
        signal.pidfd_send_signal(fd, signum)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(fd)
    return True


def _send_by_number(proc: notes.Proc, signum: int) -> bool:
    if start_ticks(proc.pid) != proc.start_ticks:
        return False
    try:
        os.kill(proc.pid, signum)
    except (ProcessLookupError, PermissionError):
        return False
    return True
