"""What Alembic runs. The connection comes from `upgrade.py`, already in the one transaction of the whole upgrade."""

from alembic import context

from pyscheduler.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
