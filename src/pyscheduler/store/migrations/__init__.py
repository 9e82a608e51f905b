"""Alembic's room: one file a revision under `versions/`, run by `upgrade.py` and never changed once released."""
