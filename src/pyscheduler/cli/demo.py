"""`demo`: a nightly chain from start to end, on a real scheduler with real jobs, in this very process.

The example lies in `examples/nightly`; in an installed package beside this module, as `nightly`. What is shown is what
any operator sees: the demo asks the scheduler over its socket, like every other command. Source: the issue, "House".
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

import click

from pyscheduler.cli.faults import CommandError
from pyscheduler.cli.options import only_here, verb
from pyscheduler.cli.place import FILE_NAME, look_up
from pyscheduler.cli.session import Session, pass_session

FOLDER: Final = "pysched-demo"
MARK: Final = "# A night of real work"
"""How the example's configuration begins: what begins otherwise is somebody's own."""


@only_here
@verb(
    "demo",
    "pysched demo",
    "pysched demo --folder ~/pysched-demo",
    "pysched demo --serve   # a living day, in the browser",
)
@click.option("--folder", type=click.Path(), default=None, help=f"Where it is put and run. Default: {FOLDER}.")
@click.option(
    "--serve", "is_served", is_flag=True, help="Serve the console with a month of history and a day in full swing."
)
@pass_session
def demo(session: Session, folder: str | None, is_served: bool) -> int:
    """Show a nightly chain of jobs from start to end.

    Copies the example into a folder, runs a scheduler on it, starts the night's jobs and shows the board until all have
    ended: four extracts that share a pool, a transformation that waits for them, a step that fails once and succeeds on
    its retry, a report, and a clean-up that is skipped because nothing has failed for good. The input is real: the
    rules by which the clocks of all time zones change.

    Run it again and it works on an earlier day. The folder stays, to look into and to play with.

    With --serve it shows the console instead: a scratch state is filled with thirty days of a small company, one thing
    of each kind has gone wrong today, and the address is printed. Ctrl-C ends it and removes the state, unless
    --folder names an empty place for it.
    """
    if is_served:
        return _serve(session, folder)
    target = Path(folder or FOLDER).absolute()
    _put_example(target)
    place = look_up(target / FILE_NAME, session.environ)
    from pynet import loop
    from pyscheduler.cli.show_demo import Show
    from pyscheduler.service.logs import logging_to

    with logging_to(target / "pysched.log"):
        return loop.run(Show(session, place, _environment(target)).run())


def _serve(session: Session, folder: str | None) -> int:
    """Serve a living day. Raises CommandError where the folder holds something."""
    from pyscheduler.cli.init import host_zone
    from pyscheduler.cli.serve_demo import serve_demo

    target = None if folder is None else Path(folder).absolute()
    if target is not None:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise CommandError("something is there already", where=str(target), mend="name an empty folder, or none")
        target.mkdir(parents=True, exist_ok=True)
    return serve_demo(session, target, host_zone(session))


def example() -> Path:
    """Return where the example's files lie: in the package, or in a checkout of the sources."""
    here = Path(__file__).parent
    places = (here / "nightly", here.parents[2] / "examples" / "nightly")
    found = next((place for place in places if (place / FILE_NAME).is_file()), None)
    if found is None:
        raise CommandError("the example is not installed", where=str(places[0]), mend="install the package anew")
    return found


def _put_example(target: Path) -> None:
    """Copy the example, over an earlier copy of it and over nothing else. Raises CommandError."""
    config = target / FILE_NAME
    try:
        known = config.is_file() and config.read_text(encoding="utf-8", errors="replace").startswith(MARK)
        if target.exists() and not known and (not target.is_dir() or any(target.iterdir())):
            what = "something else is there already"
            raise CommandError(what, where=str(target), mend="name another folder with --folder")
        target.mkdir(parents=True, exist_ok=True)
        for file in sorted(example().iterdir()):
            if file.is_file():
                shutil.copyfile(file, target / file.name)
    except OSError as error:
        raise CommandError(f"cannot be written ({error.strerror})", where=str(error.filename or target)) from None


def _environment(target: Path) -> dict[str, str]:
    """Return this process's environment with this very Python first on the PATH, as `python3`."""
    beside = Path(sys.executable).parent
    if not _is_same_python(beside / "python3"):
        beside = target / "bin"
        beside.mkdir(exist_ok=True)
        wrapper = beside / "python3"
        wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        wrapper.chmod(0o755)
    return {**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def _is_same_python(candidate: Path) -> bool:
    return candidate.exists() and os.path.realpath(candidate) == os.path.realpath(sys.executable)
