"""Running the revisions, all in one transaction. Works from an installed wheel: no ini file, no command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from pyscheduler.store.driver import Connection, sqlite
from pyscheduler.store.transaction import transact


def upgrade_to_head(connection: Connection, path: Path) -> None:
    """Run every revision that the database has not seen, all or nothing. Raises StoreError."""
    with revisions_on(connection, "sqlite://", module=sqlite()) as run:
        transact(connection, lambda _: run(), path)


@contextmanager
def revisions_on(connection: Any, url: str, **more: Any) -> Iterator[Callable[[], None]]:
    """Give what runs the revisions on a driver's connection, in the transaction that is open by then.

    What it raises is the driver's own error. `url` names the database and driver alone.
    """
    engine = create_engine(url, creator=lambda: connection, poolclass=StaticPool, pool_reset_on_return=None, **more)
    # SQLAlchemy's first connection ends whatever transaction it finds, so it comes before ours begins. Its own `begin`
    # tells Alembic that somebody else commits; to a connection of ours it does nothing.
    with engine.connect() as core:
        core.begin()
        config = alembic_config()
        config.attributes["connection"] = core
        yield lambda: _run(config)


def _run(config: Config) -> None:
    try:
        command.upgrade(config, "head")
    except DBAPIError as error:
        # the driver's own error, which transact knows what to do about
        raise error.orig or error from None


def alembic_config() -> Config:
    """Return Alembic's configuration, which names this folder."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config
