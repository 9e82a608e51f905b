"""Callables as attempts: forked here, gated, and watched by a minder through a socket. DESIGN 6, "In Python too".

Three processes. The *holder* is forked from the scheduler before the start's commit, so that it has the function with
all it refers to, and waits at its gate: until somebody connects it ends as soon as the scheduler does. The minder's job
is `hold.py`, which connects: that is the go. The holder then forks the *call*, in a session of its own, gives it
`hold.py`'s environment and output, and hands its exit code or signal back. So a callable outlives its scheduler as a
command does, its end stands in a note, and whoever ends `hold.py` ends the call.

What must always hold: nothing of the function runs before the gate is opened; holder and call have no descriptor of
the scheduler's but the ones named here (no store connection above all); neither ever returns into the scheduler's code.
"""

from __future__ import annotations

import ctypes
import gc
import inspect
import os
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from pyscheduler.cluster import hold
from pyscheduler.cluster.task import Context, Payload

PROGRAM: Final = str(Path(hold.__file__))
_PR_SET_PDEATHSIG: Final = 1
_HEAD: Final = 4
"""Bytes that say how long the environment is."""
_STANDARD: Final = 3
"""Descriptors below are the standard ones."""
_libc: Final = ctypes.CDLL(None, use_errno=True)


class Holder:
    """One callable at its gate. Close it once the attempt has ended or was not started."""

    def __init__(self, payload: Payload, context: Context) -> None:
        """Fork the holder. Raises OSError where the system refuses."""
        self._folder = tempfile.mkdtemp(prefix="pysched-")
        self._path = os.path.join(self._folder, "gate")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(self._path)
            listener.listen(1)
            lifeline, self._alive = os.pipe()
            try:
                self.pid = os.fork()
                if self.pid == 0:
                    _hold(listener, lifeline, lambda: _call(payload, context))
            finally:
                os.close(lifeline)
        self._is_reaped = False

    def argv(self, python: str = sys.executable) -> tuple[str, ...]:
        """Return the command by which a minder opens the gate and stands for the call."""
        return (python, "-I", "-S", "-E", PROGRAM, self._path)

    def close(self) -> None:
        """Let go: a holder whose gate was never opened ends. Its number is free once `reap` says so."""
        if self._alive >= 0:
            os.close(self._alive)
            self._alive = -1
            shutil.rmtree(self._folder, ignore_errors=True)

    def reap(self) -> bool:
        """Bury the holder if it has ended; True once it has been."""
        if not self._is_reaped:
            try:
                self._is_reaped = os.waitpid(self.pid, os.WNOHANG)[0] != 0
            except ChildProcessError:
                self._is_reaped = True
        return self._is_reaped


def wants_context(payload: Payload) -> bool:
    """Whether a callable takes an argument that it must be given."""
    try:
        parameters = inspect.signature(payload).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(each.kind in positional and each.default is inspect.Parameter.empty for each in parameters)


def _call(payload: Payload, context: Context) -> object:
    return payload(context) if wants_context(payload) else payload()


# --------------------------------------------------------------------------- in the holder


def _hold(listener: socket.socket, lifeline: int, call: Callable[[], object]) -> NoReturn:
    """Wait at the gate, then for the call's end. Never returns into what forked us."""
    try:
        gc.freeze()  # the scheduler's objects are not ours to finalise: some would talk to its connections
        _keep_only(listener.fileno(), lifeline)
        os.setsid()
        _plain_signals()
        link = _gate(listener, lifeline)
        if link is not None:
            _watch(link, _begin(link, listener, lifeline, call))
    except BaseException:  # noqa: BLE001 - whatever it is, it ends here: the frames above are the scheduler's
        os._exit(hold.LOST_CODE)
    os._exit(0)


def _keep_only(*kept: int) -> None:
    """Close every descriptor but the standard ones, which become the null device, and `kept`."""
    begin = _STANDARD
    for number in sorted(kept):
        os.closerange(begin, number)
        begin = number + 1
    os.closerange(begin, os.sysconf("SC_OPEN_MAX"))
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(_STANDARD):
        os.dup2(null, number)
    os.close(null)


def _plain_signals() -> None:
    """Take back what the scheduler does about signals."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) is not None:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _ready(*descriptors: int) -> set[int]:
    """Wait until something is to be read of these, or its other side is gone. Not select(2): numbers may be large."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll()}


def _gate(listener: socket.socket, lifeline: int) -> socket.socket | None:
    """Return the connection that opens the gate, None where the scheduler goes before there is one."""
    while True:
        if listener.fileno() not in _ready(listener.fileno(), lifeline):
            return None
        link, _ = listener.accept()
        _, uid, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if uid in (0, os.getuid()):
            return link
        link.close()


def _begin(link: socket.socket, listener: socket.socket, lifeline: int, call: Callable[[], object]) -> int:
    """Fork the call with the output and the environment that came through the gate; returns its pid."""
    head, files, _, _ = socket.recv_fds(link, _HEAD, 2)
    if len(head) < _HEAD:
        raise EOFError("the gate was closed again before a word was said")
    environment = _exactly(link, int.from_bytes(head, "big"))
    holder = os.getpid()
    pid = os.fork()
    if pid == 0:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != holder:
            os._exit(hold.LOST_CODE)
        os.setsid()
        for number, file in enumerate(files, start=1):
            os.dup2(file, number)
        for file in (*files, link.fileno(), listener.fileno(), lifeline):
            os.close(file)
        _take_on(environment)
        _run(call)
    listener.close()
    os.close(lifeline)
    for file in files:
        os.close(file)
    return pid


def _exactly(link: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = link.recv(size - len(data))
        if not part:
            raise EOFError("the gate was closed again")
        data += part
    return data


def _take_on(environment: bytes) -> None:
    os.environb.clear()
    for entry in environment.split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name:
            os.environb[name] = value


def _watch(link: socket.socket, pid: int) -> None:
    """Wait for the call's end and say how it was; kill it where the other side goes."""
    end = os.pidfd_open(pid)
    while True:
        if end in _ready(link.fileno(), end):
            break
        asked = link.recv(16)
        _signal_group(pid, signal.SIGTERM if asked else signal.SIGKILL)
        if not asked:
            os.waitpid(pid, 0)
            return
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    word = f"signal {-code}\n" if code < 0 else f"exit {code}\n"
    link.sendall(word.encode())


def _signal_group(pid: int, number: signal.Signals) -> None:
    """Signal the call's session; before it has one of its own, the call alone."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        os.kill(pid, number)  # not reaped yet, so the number is still its own


# --------------------------------------------------------------------------- in the call


def _run(call: Callable[[], object]) -> NoReturn:
    """Run the function and end with what that means for its run: 0, the code it exits with, or 1."""
    # New streams, so that what the scheduler had written and not flushed is not written a second time.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    code = 1
    try:
        call()
        code = 0
    except SystemExit as leaving:
        code = _code_of(leaving)
    except BaseException:  # noqa: BLE001 - the task's own failure, which its log tells of
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _code_of(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    sys.stderr.write(f"{leaving.code}\n")
    return 1
