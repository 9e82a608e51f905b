"""The command whose life stands for that of a callable: what a minder starts, watches and writes the note of.

A callable cannot be exec'd, so the scheduler forks a holder before the start (`callables.py`), and the minder runs this
file with the holder's socket. Connecting opens the holder's gate; from then on the two live and die together: our end
of the connection is its lifeline, TERM is passed on, and the callable's exit code or signal becomes our own. It runs as
`python -I -S -E`, so it imports nothing of the package and little of the library.

What a crash leaves: where this process dies, the holder kills the callable; where the holder dies without a word, this
process ends with LOST_CODE and says so on standard error, and the kernel kills the callable.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

LOST_CODE = 70
NOBODY_CODE = 71
STOP = b"T"
STOPPING = (signal.SIGTERM, signal.SIGINT)


def main(path: str) -> int:
    """Open the gate and wait for the callable's end; returns the exit code."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # From the gate's opening to the environment's last byte nothing else may be said, and nobody may go half-way.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        link.connect(path)
    except OSError as error:
        sys.stderr.write(f"the callable's process is gone: {error}\n")
        return NOBODY_CODE
    for number in STOPPING:
        signal.signal(number, lambda _number, _frame: _pass_on(link))
    environment = b"\0".join(name + b"=" + value for name, value in os.environb.items())
    socket.send_fds(link, [len(environment).to_bytes(4, "big")], [1, 2])
    link.sendall(environment)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    return _end(_word(link))


def _pass_on(link: socket.socket) -> None:
    try:
        link.send(STOP)
    except OSError:
        return  # it has ended, and its word is on the way


def _word(link: socket.socket) -> str:
    """Return what the holder says of the end: `exit N`, `signal N`, or nothing where it died."""
    data = b""
    while not data.endswith(b"\n"):
        try:
            part = link.recv(64)
        except ConnectionResetError:
            part = b""
        if not part:
            return ""
        data += part
    return data.decode()


def _end(word: str) -> int:
    kind, _, number = word.partition(" ")
    if kind == "exit":
        return int(number)
    if kind == "signal":
        signal.signal(int(number), signal.SIG_DFL) if int(number) not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), int(number))
        return 128 + int(number)  # a signal that does not end a process
    sys.stderr.write("the callable's process ended without a word\n")
    return LOST_CODE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
