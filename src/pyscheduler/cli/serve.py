"""`serve`: the scheduler itself, in the foreground. The work is the service's. Spec: jobs.md 14.1, 14.2."""

from __future__ import annotations

from pathlib import Path

import click

from pyscheduler.cli.at_home import announced
from pyscheduler.cli.options import file_argument, only_here, verb
from pyscheduler.cli.session import Session, pass_session

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@only_here
@verb(
    "serve",
    "pysched serve",
    "pysched serve /etc/pysched.yaml --log-file /var/log/pysched.log",
    "pysched init --systemd   # to have it run for good",
)
@file_argument
@click.option("--log-level", type=click.Choice(LEVELS, case_sensitive=False), default="INFO", show_default=True)
@click.option("--log-file", type=click.Path(), metavar="PATH", help="Where its own log goes. Default: standard error.")
@click.option("--exit-on-failure", is_flag=True, help="End when the engine fails, instead of opening the store again.")
@click.option("--allow-inactive", is_flag=True, help="Serve jobs that need a part which is not active yet, blocked.")
@click.option("--standby", is_flag=True, help="Wait for the scheduler that has the state folder, and take over.")
@pass_session
def serve(
    session: Session,
    log_level: str,
    log_file: str | None,
    exit_on_failure: bool,
    allow_inactive: bool,
    standby: bool,
) -> int:
    """Run the scheduler.

    Stays in the foreground and writes its own log, a line for each change of a run, to standard error. SIGTERM and
    Ctrl-C stop it, a second one makes it hurry; SIGHUP reloads the configuration. Running jobs are never touched: they
    go on while it is stopped, and the next start finds them.

    Exits with 1 where the store cannot be used or another scheduler has it, with 2 where the configuration is wrong.
    """
    path = session.config_path
    with announced(path):
        from pyscheduler.service import Options, run
        from pyscheduler.service.logs import logging_to

        options = Options(exit_on_failure=exit_on_failure, allow_inactive=allow_inactive, standby=standby)
        with logging_to(None if log_file is None else Path(log_file), log_level.upper()):
            return run(path, options)
