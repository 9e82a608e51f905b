"""Job set-up that posix_spawn has no words for: another user, resource limits, a nice value. It takes a fork.

Order: limits (raising one needs root), nice, groups, gid, uid, then the program is looked for with the job's own
rights. If any step fails the program is not run. What went wrong comes back through a pipe that exec closes.
"""

from __future__ import annotations

import os
import pwd
import resource
import signal

from .frames import Body
from .program import ALL_SIGNALS, CannotStart, find_program, words

CPU_MARGIN_S = 5
"""Between the CPU limit's SIGXCPU, which a job may handle, and the kernel's SIGKILL."""
REASON_MAX = 2000


def start(body: Body, environment: dict[str, str], out: int, err: int) -> int:
    """Fork, set up, exec; return the pid. CannotStart, or OSError where there is no room to fork."""
    account = _account(body.user)
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(body, environment, (out, err), account, write_end)
    os.close(write_end)
    try:
        fault = _read(read_end)
    finally:
        os.close(read_end)
    if fault:
        os.waitpid(pid, 0)
        raise CannotStart(fault.decode(errors="replace"))
    return pid


def _account(user: str | None) -> pwd.struct_passwd | None:
    if user is None:
        return None
    try:
        return pwd.getpwnam(user)
    except KeyError:
        raise CannotStart(f"no user {user!r} on this machine; create it, or correct the job's user") from None


def _read(fd: int) -> bytes:
    data = b""
    while part := os.read(fd, 4096):
        data += part
    return data


def _child(
    body: Body, environment: dict[str, str], outputs: tuple[int, int], account: pwd.struct_passwd | None, pipe: int
) -> None:
    """Run between fork and exec. Never returns."""
    try:
        os.setsid()
        for signum in ALL_SIGNALS:
            signal.signal(signum, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.dup2(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), 0)
        os.dup2(outputs[0], 1)
        os.dup2(outputs[1], 2)
        _set_up(body, account)
        try:
            os.execve(find_program(body.argv[0], environment), body.argv, environment)
        except (OSError, ValueError) as error:
            raise CannotStart(words(error, body.argv[0])) from None
    except BaseException as error:  # noqa: BLE001 - whatever it was must not run on as a second minder
        os.write(pipe, str(error).encode(errors="replace")[:REASON_MAX])
    os._exit(127)


def _set_up(body: Body, account: pwd.struct_passwd | None) -> None:
    """Set up everything, each step's fault with the key that asks for it. CannotStart."""
    _limit(body.limits)
    if body.nice is not None:
        try:
            os.nice(body.nice)
        except OSError as error:
            raise CannotStart(f"cannot set nice {body.nice}: {error.strerror}") from None
    if account is not None:
        try:
            _become(account)
        except (OSError, ValueError) as error:
            raise CannotStart(_no_way_to_be(account.pw_name, error)) from None


def _no_way_to_be(user: str, error: OSError | ValueError) -> str:
    why = error.strerror if isinstance(error, OSError) else str(error)
    mend = "; only a scheduler that runs as root can: run it as root, or leave user out" if os.geteuid() else ""
    return f"cannot become user {user}: {why}{mend}"


def _limit(limits: dict[str, int]) -> None:
    """Set each limit, soft and hard alike; only `cpu` leaves room for its SIGXCPU to be handled. CannotStart."""
    for name, value in limits.items():
        which = getattr(resource, f"RLIMIT_{name.upper()}", None)
        if which is None:
            raise CannotStart(f"cannot set limits.{name}: no limit is called so here")
        hard = value + CPU_MARGIN_S if name == "cpu" and value >= 0 else value
        try:
            resource.setrlimit(which, (value, hard))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise CannotStart(f"cannot set limits.{name} to {value}: {why}") from None


def _become(account: pwd.struct_passwd) -> None:
    """Become the user for good: its groups, gid and uid, none of ours kept."""
    if os.getuid() == account.pw_uid and os.geteuid() == account.pw_uid:
        return
    os.setgroups(os.getgrouplist(account.pw_name, account.pw_gid))
    os.setresgid(account.pw_gid, account.pw_gid, account.pw_gid)
    os.setresuid(account.pw_uid, account.pw_uid, account.pw_uid)
    if os.getresuid() != (account.pw_uid,) * 3 or os.getresgid() != (account.pw_gid,) * 3:
        raise ValueError(f"could not become {account.pw_name}")
