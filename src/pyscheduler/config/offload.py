"""Load a configuration in a process of its own, so that a running service's loop never stands still for it.

The child is started with nearly no environment. It asks for each `${NAME}` as it meets it, and is told that one value:
whatever else the service has in its environment never gets there, and nothing is in the child's /proc/PID/environ.
Both sides speak in frames: four bytes of length, one letter, the rest.

    to the child      R  the request, JSON           =  a variable's value      -  it is not set
    from the child    ?  the name of a variable      P  problems, no config     H  the Config without its jobs
                      J  some jobs                   E  the end                 X  our bug: where, never what with

Jobs come in pieces, because unpickling ten thousand at once would hold the loop for a third of a second. The child's
time, memory and answer are bounded, and it is ended when the caller loses patience or interest.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import traceback
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import IO, Any, Final

from pyscheduler import collector
from pyscheduler.config.pickled import ForeignBytes, dumps, loads
from pyscheduler.config.result import Config
from pyscheduler.errors import ConfigError
from pyscheduler.model.job import Job
from pyscheduler.model.problem import Problem

TIMEOUT_S: Final = 60.0
MAX_FRAME: Final = 256 << 20
MAX_MEMORY: Final = 2 << 30
JOBS_A_PIECE: Final = 50


class ReaderFailed(Exception):
    """The child did not do its work; the text says how."""


# --------------------------------------------------------------------------- the service's side


async def load_in_process(
    path: str | os.PathLike[str],
    *,
    env: Mapping[str, str] | None = None,
    today: date | None = None,
    allow_inactive: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Config:
    """Return what `load_config` returns, read in another process. Raises ConfigError, also where that process fails.

    The loop is held for a few milliseconds at a time. Cancelling ends the child.
    """
    env = os.environ if env is None else env
    request = {"path": os.fspath(path), "today": today and today.isoformat(), "allow_inactive": allow_inactive}
    argv = (sys.executable, "-P", "-m", __name__)
    try:
        child = await asyncio.create_subprocess_exec(
            *argv, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=_child_env(env)
        )
    except OSError as error:
        raise _failed(path, f"it could not be started: {error.strerror}") from None
    try:
        async with asyncio.timeout(timeout_s):
            return await _converse(child, json.dumps(request).encode(), env)
    except TimeoutError:
        raise _failed(path, f"it was not read within {timeout_s:g} s") from None
    except (ReaderFailed, ForeignBytes, OSError, asyncio.IncompleteReadError) as error:
        raise _failed(path, str(error) or type(error).__name__) from None
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()


def _child_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return the least a child needs: where programs and our own modules lie."""
    wanted = {"PYTHONPATH": os.pathsep.join(each or os.getcwd() for each in sys.path), "PYTHONUTF8": "1"}
    return wanted | {"PATH": env.get("PATH", os.defpath)}


def _failed(path: str | os.PathLike[str], what: str) -> ConfigError:
    return ConfigError([Problem(os.fspath(path), 0, 0, f"the reading process failed: {what}")])


async def _converse(child: Process, request: bytes, env: Mapping[str, str]) -> Config:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(_frame(b"R", request))
    while True:
        kind, body = await _receive(child.stdout)
        if kind == b"?":
            value = env.get(body.decode("utf-8", "surrogateescape"))
            answer = _frame(b"-", b"") if value is None else _frame(b"=", value.encode("utf-8", "surrogateescape"))
            child.stdin.write(answer)
        elif kind == b"P":
            raise ConfigError(loads(body))
        elif kind == b"H":
            head: Config = loads(body)
            return replace(head, jobs=await _jobs(child.stdout)).with_environment(env)
        else:
            raise _nonsense(body)


async def _jobs(stream: asyncio.StreamReader) -> dict[str, Job]:
    """Return the jobs, which come in pieces until the end.

    The garbage collector rests meanwhile: it would walk all of them again and again, a tenth of a second each time.
    """
    jobs: dict[str, Job] = {}
    with collector.at_rest():
        while True:
            kind, body = await _receive(stream)
            if kind == b"E":
                return jobs
            if kind != b"J":
                raise _nonsense(body)
            jobs.update((job.name, job) for job in loads(body))
            await asyncio.sleep(0)


def _nonsense(body: bytes) -> ReaderFailed:
    return ReaderFailed(body.decode("utf-8", "replace") or "it said nothing that makes sense")


async def _receive(stream: asyncio.StreamReader) -> tuple[bytes, bytes]:
    try:
        size = int.from_bytes(await stream.readexactly(4), "big")
        if not 1 <= size <= MAX_FRAME:
            raise ReaderFailed(f"it sent {size:,} bytes at once")
        frame = await stream.readexactly(size)
    except asyncio.IncompleteReadError:
        raise ReaderFailed("it ended before its time") from None
    return frame[:1], frame[1:]


def _frame(kind: bytes, body: bytes) -> bytes:
    return (len(body) + 1).to_bytes(4, "big") + kind + body


# --------------------------------------------------------------------------- the child's side


class _Asked(Mapping[str, str]):
    """The service's environment, one name at a time, by asking. PATH is here: programs are looked for on it."""

    def __init__(self, ask: IO[bytes], told: IO[bytes]) -> None:
        self._ask, self._told = ask, told

    def __getitem__(self, name: str) -> str:
        if name == "PATH":
            return os.environ["PATH"]
        _send(self._ask, b"?", name.encode("utf-8", "surrogateescape"))
        kind, body = _read_frame(self._told)
        if kind != b"=":
            raise KeyError(name)
        return body.decode("utf-8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _send(stream: IO[bytes], kind: bytes, body: bytes) -> None:
    stream.write(_frame(kind, body))
    stream.flush()


def _read_frame(stream: IO[bytes]) -> tuple[bytes, bytes]:
    size = int.from_bytes(stream.read(4), "big")
    frame = stream.read(size)
    return frame[:1], frame[1:]


def main() -> None:
    """Serve one request on standard input and output."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    # What a library prints must not get between the frames.
    out, told = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)
    request: dict[str, Any] = json.loads(_read_frame(told)[1])
    try:
        _answer(request, out, _Asked(out, told))
    except Exception as error:  # noqa: BLE001 - the other side must hear of it; values may stand in its text
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"
        _send(out, b"X", what.encode())


def _answer(request: Mapping[str, Any], out: IO[bytes], env: Mapping[str, str]) -> None:
    from pyscheduler.config.load import load_config

    today = request["today"] and date.fromisoformat(request["today"])
    try:
        config = load_config(request["path"], env=env, today=today, allow_inactive=request["allow_inactive"])
    except ConfigError as error:
        _send(out, b"P", dumps(list(error.problems)))
        return
    _send(out, b"H", dumps(replace(config, jobs={})))
    jobs = list(config.jobs.values())
    for start in range(0, len(jobs), JOBS_A_PIECE):
        _send(out, b"J", dumps(jobs[start : start + JOBS_A_PIECE]))
    _send(out, b"E", b"")


if __name__ == "__main__":
    main()
