"""What is said of a store on a server wherever its copies are spoken of."""

from __future__ import annotations

from typing import Final

NO_BACKUP: Final = (
    "use the server's own tools: pg_dump --format=custom --file=FILE, and pg_restore into an empty database"
)
