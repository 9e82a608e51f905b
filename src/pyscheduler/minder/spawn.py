"""Start the job itself: its logs, its folder, its environment, and nothing of ours.

The job gets stdin from /dev/null, its two logs, a clean signal mask, default dispositions, its own session, and no
other descriptor. posix_spawn starts it (about 0.15 ms here, and no page of ours is copied); `special` forks where
user, limits or nice ask for more. Until exec the child shares our locked descriptor, and from exec on it carries
the attempt's key in its environment: there is no instant at which it could be running unseen.
"""

from __future__ import annotations

import os

from . import crash, kernel, special
from .frames import Body
from .program import ALL_SIGNALS, CannotStart, find_program, words

OOM_STEP = 100
"""By how much sooner the kernel kills a job than what watches over it."""
OOM_MAX = 1000
LOG_MODE = 0o640
FOLDER_MODE = 0o750


class Surroundings:
    """What a minder changes for the instant of a start and then takes back: umask, folder, OOM score."""

    def __init__(self, job_umask: int) -> None:
        self._job_umask = job_umask
        self._umask = 0
        self._oom, self._oom_own = -1, 0
        try:
            self._oom = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
            self._oom_own = int(os.pread(self._oom, 16, 0))
        except OSError:
            pass  # a sandbox hides it: jobs are then as likely victims as we are

    def enter(self, body: Body) -> None:
        """Change into the job's surroundings. CannotStart where its folder cannot be entered."""
        try:
            os.chdir(body.cwd)
        except OSError as error:
            raise CannotStart(str(error)) from None
        self._umask = os.umask(self._job_umask if body.umask is None else body.umask)
        self._score(min(self._oom_own + OOM_STEP, OOM_MAX))

    def leave(self) -> None:
        """Take everything back. A minder holds no folder, so that file systems can be unmounted under it."""
        self._score(self._oom_own)
        os.umask(self._umask)
        os.chdir("/")

    def close(self) -> None:
        """Give the descriptor back."""
        if self._oom >= 0:
            os.close(self._oom)

    def _score(self, value: int) -> None:
        try:
            os.pwrite(self._oom, str(value).encode(), 0)
        except OSError:
            return  # hidden or forbidden, as above


def open_log(path: str, access: int = os.O_WRONLY | os.O_APPEND) -> int:
    """Open a log, its folders made. CannotStart with the reason."""
    flags = access | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY
    try:
        try:
            return os.open(path, flags, LOG_MODE)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), FOLDER_MODE, exist_ok=True)
            return os.open(path, flags, LOG_MODE)
    except OSError as error:
        raise CannotStart(f"cannot open log: {error}") from None


def open_logs(body: Body) -> tuple[int, int]:
    """Return the descriptors for stdout and stderr, the same twice where they are merged."""
    out = open_log(body.stdout)
    if body.stderr is None or body.stderr == body.stdout:
        return out, out
    try:
        return out, open_log(body.stderr)
    except CannotStart:
        os.close(out)
        raise


def start(body: Body, key: str, outputs: tuple[int, int], around: Surroundings) -> int:
    """Start the job and return its pid. The outputs are closed here in every case. CannotStart with the reason."""
    environment = {**body.env, kernel.KEY_VARIABLE: key}
    try:
        around.enter(body)
        crash.point("spawn.before")
        try:
            pid = _start(body, environment, outputs)
        finally:
            around.leave()
    except (OSError, ValueError) as error:
        raise CannotStart(words(error, body.argv[0])) from None
    finally:
        for fd in set(outputs):
            os.close(fd)
    crash.point("spawn.after")
    return pid


def _start(body: Body, environment: dict[str, str], outputs: tuple[int, int]) -> int:
    out, err = outputs
    if body.user is not None or body.limits or body.nice is not None:
        return special.start(body, environment, out, err)
    program = find_program(body.argv[0], environment)
    actions = (
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, out, 1),
        (os.POSIX_SPAWN_DUP2, err, 2),
    )
    return os.posix_spawn(
        program, body.argv, environment, file_actions=actions, setsid=True, setsigmask=(), setsigdef=ALL_SIGNALS
    )
