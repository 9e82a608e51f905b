"""The long-running service, from its first line to its last. Spec: jobs.md 14.2, 9.4; DESIGN 3 and 6.

In this order: the configuration, the credential files, the TCP address (what is wrong with one of them is refused
before anything is made in `state_dir`), the lock, the socket, which answers 503 until the engine is up, one launcher
for life, and then engines on the store (`supervise`). A standby has lock and socket before the address, for whoever is
quicker than it has both. It ends when a stop is wished for: the API first (5 s for
requests under way), then the engine; running jobs go on under their minders, and the next start finds them.

Exit codes: 0 after a stop; 1 where the store is damaged, foreign or held by another process, where another scheduler
serves the folder, or after any failure with `exit_on_failure`; 2 where the configuration or a credential file is faulty
or the address cannot be had.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pynet.loop
from pyscheduler import collector
from pyscheduler.config import Config, ConfigError, glance, load_cached, load_config
from pyscheduler.config.credentials import read_credentials
from pyscheduler.engine import machine
from pyscheduler.errors import AlreadyServed, PyschedError
from pyscheduler.model.person import Credentials
from pyscheduler.model.problem import Severity
from pyscheduler.service import address
from pyscheduler.service.entrance import Entrance
from pyscheduler.service.house import House
from pyscheduler.service.premises import MAY_PASS, Premises
from pyscheduler.service.reloading import Reading
from pyscheduler.service.signals import Wishes, heard

log = logging.getLogger(__name__)

SWITCH_S: Final = 0.0005
"""How long a thread may keep the interpreter from the loop."""
JOB_UMASK: Final = 0o022
"""What jobs get unless they say otherwise, whatever umask the service was started under (field case FC-062)."""
ROOM_WAIT_S: Final = 5.0
LOOK_S: Final = 0.5
"""How often a standby looks whether the folder is free."""
FAULTY_TEXT: Final = 2
NOT_MINE: Final = "run it as the user that owns the folder, or name another state_dir"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to serve. `env` is where `${NAME}` and the jobs' environment come from, None for this process's."""

    exit_on_failure: bool = False
    allow_inactive: bool = False
    standby: bool = False
    env: Mapping[str, str] | None = None


def run(path: str | os.PathLike[str], options: Options | None = None) -> int:
    """Serve in this process until told to stop by a signal; returns the exit code. For a command's main thread."""
    machine.shed_attempt_key()
    collector.be_seldom()
    return pynet.loop.run(serve(path, options=options, on_stuck=os._exit))


async def serve(
    path: str | os.PathLike[str],
    *,
    options: Options | None = None,
    ready: asyncio.Event | None = None,
    stop: asyncio.Event | None = None,
    on_stuck: Callable[[int], object] | None = None,
) -> int:
    """Serve a configuration until `stop` is set or a signal says so; returns the exit code (see the module's head).

    `ready` is set once the first engine runs. `on_stuck` is called with the exit code where a stop is given up on
    because the disk does not answer: a thread then never ends.
    """
    options = options or Options()
    wishes = Wishes(stop)
    with _set_up_process():
        try:
            return await _serve(Path(path), options, wishes, ready or asyncio.Event(), on_stuck)
        except ConfigError as error:
            for problem in error.problems:
                log.log(logging.ERROR if problem.severity is Severity.ERROR else logging.WARNING, "%s", problem)
            log.critical("the configuration cannot be used")
            return FAULTY_TEXT
        except PermissionError as error:
            log.critical("%s: this user may not use it (%s); %s", error.filename, error.strerror, NOT_MINE)
            return 1
        except (PyschedError, OSError) as error:
            log.critical("%s", error)
            return 1


@contextmanager
def _set_up_process() -> Iterator[None]:
    """Give the process what a service needs, and take it back at the end: a program may serve for a while only."""
    umask, switch = os.umask(0o077), sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    machine.raise_open_files()
    try:
        yield
    finally:
        os.umask(umask)
        sys.setswitchinterval(switch)


async def _serve(
    path: Path, options: Options, wishes: Wishes, ready: asyncio.Event, on_stuck: Callable[[int], object] | None
) -> int:
    env = os.environ if options.env is None else options.env
    reading = Reading(path=path, env=env, allow_inactive=options.allow_inactive)
    config = await asyncio.to_thread(_first_config, reading)
    credentials = await asyncio.to_thread(_credentials, config)
    premises = Premises(config.settings.state_dir, config.path)
    listening = None
    if not options.standby:
        premises.check_free()
    elif (listening := await _outlast(premises, wishes)) is None:
        return 0
    try:
        with (
            closing_socket(listening),
            closing_socket(await asyncio.to_thread(address.bind, config, credentials)) as tcp,
        ):
            entrance = Entrance(credentials, tcp)
            house = House(config, reading, wishes, ready, entrance, exit_on_failure=options.exit_on_failure)
            with heard(wishes, house.on_hangup):
                listening = listening or await _enter(premises, wishes)
                if listening is None:
                    return 0
                os.umask(JOB_UMASK)
                return await house.live(listening, on_stuck)
    finally:
        premises.leave()


async def _outlast(premises: Premises, wishes: Wishes) -> socket.socket | None:
    """Wait until the folder is ours; None where a stop came first. Another may be quicker: then that one is waited for.

    All else comes after it: who was quicker has the address as well.
    """
    while await _until_free(premises, wishes):
        with suppress(AlreadyServed):
            return await _enter(premises, wishes)
    return None


async def _until_free(premises: Premises, wishes: Wishes) -> bool:
    """Wait for the scheduler that serves this folder to end; False where a stop came first."""
    told = False
    while not wishes.stop.is_set():
        try:
            premises.check_free()
        except AlreadyServed as error:
            if not told:
                log.info("standing by: %s; this one takes over when that ends", error.what)
                told = True
        else:
            return True
        with suppress(TimeoutError):
            await asyncio.wait_for(wishes.stop.wait(), LOOK_S)
    return False


@contextmanager
def closing_socket(held: socket.socket | None) -> Iterator[socket.socket | None]:
    """Close a socket at the end, if there is one."""
    try:
        yield held
    finally:
        if held is not None:
            held.close()


def _credentials(config: Config) -> Credentials:
    """Read the credential files, warning of what is odd about them. Raises ConfigError."""
    credentials, warnings = read_credentials(config.settings)
    for problem in warnings:
        log.warning("%s", problem)
    return credentials


def _first_config(reading: Reading) -> Config:
    """Read the configuration, from the cache in its state_dir where that has it. Raises ConfigError.

    Before the first start there is no state_dir, and nothing is made yet: what else is wrong is still to be found out.
    """
    more = {"env": reading.env, "allow_inactive": reading.allow_inactive}
    try:
        folder: Path | None = glance(reading.path, env=reading.env).state_dir / "cache"
    except ConfigError:
        folder = None
    if folder is None or not folder.parent.is_dir():
        return load_config(reading.path, **more)  # type: ignore[arg-type]
    return load_cached(reading.path, folder, **more)  # type: ignore[arg-type]


async def _enter(premises: Premises, wishes: Wishes) -> socket.socket | None:
    """Take the lock and bind the socket, waiting for room on a full disk; None where a stop came first."""
    while not wishes.stop.is_set():
        try:
            return premises.enter()
        except OSError as error:
            if error.errno not in MAY_PASS:
                raise
            log.warning("cannot begin yet: %s; the next try is in %.0f s", error, ROOM_WAIT_S)
        with suppress(TimeoutError):
            await asyncio.wait_for(wishes.stop.wait(), ROOM_WAIT_S)
    return None
