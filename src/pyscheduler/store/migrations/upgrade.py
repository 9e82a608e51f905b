"""Running the revisions, all in one transaction. Works from an installed wheel: no ini file, no command line."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from pyscheduler.store.driver import Connection, sqlite
from pyscheduler.store.transaction import transact


def upgrade_to_head(connection: Connection, path: Path) -> None:
    """Run every revision that the database has not seen, all or nothing. Raises StoreError."""
    engine = create_engine(
        "sqlite://", creator=lambda: connection, poolclass=StaticPool, pool_reset_on_return=None, module=sqlite()
    )
    # SQLAlchemy's first connection ends whatever transaction it finds, so it comes before ours begins; AUTOCOMMIT and
    # no reset keep it from ending ours.
    core = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    config = alembic_config()
    config.attributes["connection"] = core
    transact(connection, lambda _: command.upgrade(config, "head"), path)


def alembic_config() -> Config:
    """Return Alembic's configuration, which names this folder."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config
