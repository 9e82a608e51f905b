"""The systemd unit under which restarts are free: the text of the file, pure. DESIGN 1 (P4), 11; systemd.service(5).

What the lines are for stands beside them in the unit itself, because that is where somebody will wonder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Final

_TEMPLATE: Final = """\
# Written by `pysched init --systemd`.

[Unit]
Description=PyScheduler: {name}
After=network.target local-fs.target time-sync.target
# Start it again for as long as it takes: a scheduler that has given up is worse than one that keeps trying.
StartLimitIntervalSec=0

[Service]
# The scheduler says itself when it is ready, reloading, stopping, and that it is alive.
Type=notify
NotifyAccess=main
{user}WorkingDirectory={folder}
# Values for the variables that the configuration reads as ${{NAME}}, one NAME=value a line. May be missing.
EnvironmentFile=-{environment}
ExecStart={command} serve {config}
# Fails, and says why in the journal, where the configuration has an error; the old one then stays in force.
ExecReload={command} reload -c {config}
# Running jobs belong to their minders, not to the scheduler: stopping, restarting or upgrading it leaves them alone.
KillMode=process
# A job that runs out of memory must not take the scheduler and all other jobs with it.
OOMPolicy=continue
TasksMax=infinity
Restart=always
RestartSec=1
WatchdogSec=60
# A start may have to read back a long history, or wait for room on a full disk: it then says so and gets more time.
TimeoutStartSec=60
TimeoutStopSec=60

[Install]
WantedBy={target}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One unit. `program` is the command `pysched` in parts, absolute; `user` None leaves it to systemd."""

    name: str
    config: Path
    program: tuple[str, ...]
    user: str | None
    for_user: bool = False

    def text(self) -> str:
        """Return the unit file."""
        return _TEMPLATE.format(
            name=_plain(self.name),
            user=f"User={self.user}\n" if self.user else "",
            folder=_path(self.config.parent),
            environment=_path(self.config.with_suffix(".env")),
            command=" ".join(map(_argument, self.program)),
            config=_argument(str(self.config)),
            target="default.target" if self.for_user else "multi-user.target",
        )

    def next_steps(self, written: Path) -> tuple[str, ...]:
        """Return the commands that install the unit."""
        if self.for_user:
            home = "~/.config/systemd/user/"
            return (
                f"mkdir -p {home} && cp {quote(str(written))} {home}",
                "systemctl --user daemon-reload && systemctl --user enable --now " + written.name,
                "loginctl enable-linger   # it goes on when you log out",
            )
        return (
            f"sudo cp {quote(str(written))} /etc/systemd/system/",
            f"sudo systemctl daemon-reload && sudo systemctl enable --now {written.name}",
            f"systemctl status {written.name}; pysched status -c {quote(str(self.config))}",
        )


def _plain(text: str) -> str:
    """Return text for a description: on one line, and nothing that systemd would expand."""
    return " ".join(text.split()).replace("%", "%%")


def _path(path: Path) -> str:
    """Return a path as a setting takes it: with its blanks, but without specifiers."""
    return str(path).replace("%", "%%")


def _argument(text: str) -> str:
    """Return one argument of a command line: quoted where it must be, nothing of it expanded."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if any(each in escaped for each in " \t\"';\\") else escaped
