"""Where a scheduler lives: its state folder, the lock that says it is at home, and the door it is spoken to at.

| file in `state_dir` | what it is |
|---|---|
| `serve.lock` | locked (flock) for life by the one process that serves. Never removed |
| `api.sock` | the API's Unix socket, 0600. One without that process behind it is stale, and removed under the lock |

The lock's text is the pid in 20 bytes, then a line with the path of the configuration: a client whose file has come to
name another folder finds us by it (`cli/at_home.py`).

What must always hold: the lock comes before any look at the socket, and the socket is removed by the one who bound it,
while it still has the lock. The folder is 0700 where we make it: only root and this user reach what is in it. A path
too long for a socket's address (108 bytes) is reached through a descriptor of its folder. DESIGN 6 and 8.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pyscheduler.errors import AlreadyServed

SOCKET_NAME: Final = "api.sock"
LOCK_NAME: Final = "serve.lock"
LONGEST_ADDRESS: Final = 100
"""Bytes of a path that are bound as they stand; the kernel takes 107."""
BACKLOG: Final = 1024
LOOKS: Final = 3
LOOK_S: Final = 0.01
MAY_PASS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOMEM, errno.ESTALE})
"""What stands in the way of a start and may go by itself: the service waits for it."""


class Premises:
    """The lock and the socket of one state folder."""

    def __init__(self, state_dir: Path, config: Path) -> None:
        self.state_dir, self._config = state_dir, config
        self.socket_path = state_dir / SOCKET_NAME
        self._lock: int | None = None
        self._bound: tuple[int, int] | None = None

    def enter(self) -> socket.socket:
        """Take the lock, then bind and listen; returns the socket. After AlreadyServed or OSError nothing is held."""
        self.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self.state_dir / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._take(lock)
            listener = self._bind()
        except BaseException:
            os.close(lock)
            raise
        self._lock = lock
        return listener

    def check_free(self) -> None:
        """Raise AlreadyServed where another process is at home here; makes nothing, and promises nothing."""
        try:
            lock = os.open(self.state_dir / LOCK_NAME, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return  # there is none yet, or `enter` will say what is wrong with it
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._refusal(lock) from None
        finally:
            os.close(lock)

    def leave(self) -> None:
        """Remove the socket if it still is ours, and let the lock go. Harmless when not entered."""
        lock, self._lock = self._lock, None
        if lock is None:
            return
        with suppress(OSError):
            if _identity(self.socket_path) == self._bound:
                self.socket_path.unlink()
        os.close(lock)

    def _take(self, lock: int) -> None:
        for left in reversed(range(LOOKS)):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not left:
                    raise self._refusal(lock) from None
                time.sleep(LOOK_S)  # who only looks whether it is free, as a standby does, has it for an instant
        with suppress(OSError):  # on a full disk the lock stands without a name
            text = b"%-19d\n%s\n" % (os.getpid(), os.fsencode(os.path.realpath(self._config)))
            os.pwrite(lock, text, 0)
            os.ftruncate(lock, len(text))

    def _refusal(self, lock: int) -> AlreadyServed:
        text = os.pread(lock, 20, 0).strip()
        holder = f" (pid {int(text)})" if text.isdigit() else ""
        what = f"another scheduler{holder} already serves this state_dir"
        return AlreadyServed(what, where=str(self.state_dir), mend="stop it first, or use another state_dir")

    def _bind(self) -> socket.socket:
        self._remove_stale()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        folder = os.open(self.state_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with _closed_to_others():
                listener.bind(address_of(self.socket_path, folder))
            self._bound = _identity(self.socket_path)
            listener.listen(BACKLOG)
        except BaseException:
            listener.close()
            raise
        finally:
            os.close(folder)
        listener.setblocking(False)
        return listener

    def _remove_stale(self) -> None:
        """Remove what an earlier process left; only a socket is ever taken for one."""
        try:
            mode = os.lstat(self.socket_path).st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(mode):
            raise FileExistsError(errno.EEXIST, "is in the way and no socket", str(self.socket_path))
        os.unlink(self.socket_path)


@contextmanager
def _closed_to_others() -> Iterator[None]:
    """Make whatever is made meanwhile 0600: a socket is never open to others, not for an instant."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


def address_of(path: Path, folder: int) -> str:
    """Return the address of a socket: its path, or where that is too long the way through its open folder."""
    text = os.fspath(path)
    return text if len(os.fsencode(text)) <= LONGEST_ADDRESS else f"/proc/self/fd/{folder}/{path.name}"


def _identity(path: Path) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_dev, found.st_ino
