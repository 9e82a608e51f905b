"""The table as each database is told to make it. Spec: pipeline.md 13, SQL columns."""

from __future__ import annotations

import pytest
from sqlalchemy import make_url
from sqlalchemy.schema import CreateTable

from pypepper.scheduler.store.tables import scheduler_jobs

COLUMNS = """CREATE TABLE scheduler_jobs (
id VARCHAR(36) NOT NULL,
category VARCHAR(255),
channel_id VARCHAR(255) NOT NULL,
status VARCHAR(64) NOT NULL,
created VARCHAR(64) NOT NULL,
updated VARCHAR(64) NOT NULL,
workflow_count INTEGER NOT NULL,
version INTEGER NOT NULL,
payload LONG,
results LONG,
error LONG,
PRIMARY KEY (id)
)"""


def made(scheme: str) -> str:
    """Return the statement that makes the table where such an address leads, without its indents."""
    dialect = make_url(f"{scheme}://").get_dialect()()
    lines = str(CreateTable(scheduler_jobs).compile(dialect=dialect)).strip().splitlines()
    return "\n".join(line.strip() for line in lines if line.strip())


@pytest.mark.parametrize("scheme", ["sqlite", "postgresql+psycopg"])
def test_columns(scheme: str) -> None:
    """Names, lengths, the key, and what may be null; `results` and `error` are ours."""
    assert made(scheme) == COLUMNS.replace("LONG", "TEXT")


@pytest.mark.parametrize("scheme", ["mysql+pymysql", "mariadb+pymysql"])
def test_columns_of_mysql(scheme: str) -> None:
    """Long JSON passes the 64 KiB of its `text`, and texts are compared letter by letter, on both of the family."""
    told = made(scheme)
    columns, options = told[: told.rindex(")") + 1], told[told.rindex(")") + 1 :]
    assert columns == COLUMNS.replace("LONG", "LONGTEXT")
    assert options.replace("CHARACTER SET", "CHARSET").replace("CHARSET=", "CHARSET ").split() == [
        "CHARSET",
        "utf8mb4",
        "COLLATE",
        "utf8mb4_bin",
    ]
