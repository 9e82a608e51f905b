"""`init`: a configuration to begin with, or the systemd unit for one. Overwrites nothing, ever."""

from __future__ import annotations

import os
import re
import sys
from importlib.resources import files
from pathlib import Path

import click

from pyscheduler.cli.faults import CommandError, WrongUsage
from pyscheduler.cli.options import only_here, verb
from pyscheduler.cli.place import FILE_NAME
from pyscheduler.cli.session import Session, pass_session
from pyscheduler.cli.unit import Unit

UNIT_NAME = "pysched.service"
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")


@only_here
@verb(
    "init",
    "pysched init",
    "pysched init /etc/pysched/pysched.yaml",
    "pysched init --systemd --run-as batch",
    "pysched init --systemd --user --output ~/.config/systemd/user/pysched.service",
)
@click.argument("file", required=False, type=click.Path(), metavar="[FILE]")
@click.option("--systemd", is_flag=True, help="Write a systemd unit for the configuration FILE instead.")
@click.option("--output", type=click.Path(), metavar="PATH", help=f"Where the unit goes. Default: ./{UNIT_NAME}.")
@click.option("--run-as", metavar="USER", help="The user that the unit's scheduler runs as. Default: the present one.")
@click.option("--user", "for_user", is_flag=True, help="A unit for one user's own systemd, without root.")
@pass_session
def init(
    session: Session, file: str | None, systemd: bool, output: str | None, run_as: str | None, for_user: bool
) -> None:
    """Write a configuration to begin with, or a systemd unit.

    The configuration has a job that runs every minute and, commented out, one example of most of what there is. It goes
    to FILE, by default ./pysched.yaml.

    The unit leaves running jobs alone when the scheduler is stopped, restarted or upgraded, and starts it again
    whatever ends it. A file that exists is never overwritten.
    """
    if not systemd:
        if output or run_as or for_user:
            raise WrongUsage("--output, --run-as and --user are for --systemd")
        _write_config(session, Path(file or session.given_config or FILE_NAME))
        return
    if for_user and run_as:
        raise WrongUsage("a user's own unit runs as that user: leave --run-as out")
    if run_as and not _is_account(run_as):
        raise WrongUsage(f"--run-as: no user {run_as} on this machine", mend=f"create one: useradd --system {run_as}")
    session.given_config = file or session.given_config
    _write_unit(session, Path(output or UNIT_NAME), run_as, for_user=for_user)


def _write_config(session: Session, target: Path) -> None:
    text = files("pyscheduler.cli").joinpath("first.yaml").read_text(encoding="utf-8")
    name = _NO_NAME.sub("-", target.absolute().parent.name).strip("-") or "pysched"
    _write_new(target, text.replace("@NAME@", name[:64]).replace("@TIMEZONE@", host_zone(session)))
    at = "" if target == Path(FILE_NAME) else f" -c {target}"
    session.say(f"{target} is written. What to do next:")
    session.say(f"  pysched validate{at}   checks it whenever it was changed")
    session.say(f"  pysched serve{at}      runs it, here and now")
    session.say(f"  pysched status{at}     shows what runs, in another terminal")


def _write_unit(session: Session, target: Path, run_as: str | None, *, for_user: bool) -> None:
    place = session.place  # an unreadable configuration is found out now, not at boot
    unit = Unit(
        name=place.name,
        config=place.config.absolute(),
        program=_program(),
        user=None if for_user else run_as or _me(),
        for_user=for_user,
    )
    _write_new(target, unit.text())
    session.say(f"{target} is written. What to do next:")
    session.say_all(f"  {line}" for line in unit.next_steps(target))


def _write_new(target: Path, text: str) -> None:
    """Write a file that does not exist yet. Raises CommandError."""
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    except FileExistsError:
        raise CommandError("there is such a file, and it stays", where=str(target), mend="name another one") from None
    except OSError as error:
        raise CommandError(f"cannot be written ({error.strerror})", where=str(target)) from None
    with open(descriptor, "w", encoding="utf-8") as handle:
        handle.write(text)


def _program() -> tuple[str, ...]:
    """Return the command that runs this very pysched: the script beside its Python if there is one."""
    script = Path(sys.executable).parent / "pysched"
    return (str(script),) if os.access(script, os.X_OK) else (sys.executable, "-m", "pyscheduler.cli")


def _is_account(user: str) -> bool:
    """Whether systemd can run something as this user: a name or a uid that passwd knows."""
    import pwd

    try:
        pwd.getpwuid(int(user)) if user.isdecimal() else pwd.getpwnam(user)
    except (KeyError, OverflowError):
        return False
    return True


def _me() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def host_zone(session: Session) -> str:
    """Return this host's time zone as far as it has an IANA name, else UTC: the file says so either way."""
    from pyscheduler.timetable.zone import zone_names

    link = os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
    named = session.environ.get("TZ", "").lstrip(":") or link
    return named if named in zone_names() else "UTC"
