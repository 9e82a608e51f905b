"""Addresses of databases from their parts. Spec: pipeline.md 13.

User and password are percent-encoded, a space as `%20`: drivers read `+` as a plus, so a form's encoding would change
the password (a fault of 0.7 that is not kept). Host, database and options are put in as they are.
"""

from __future__ import annotations

from urllib.parse import quote


def build_postgres_uri(
    *, username: str, password: str, host: str, port: int | str, db: str, sslmode: str | None = None
) -> str:
    """Return `postgresql+psycopg://U:P@H:PORT/DB`, with `?sslmode=…` where one is given."""
    return f"postgresql+psycopg://{_place(username, password, host, port)}/{db}" + (
        f"?sslmode={sslmode}" if sslmode else ""
    )


def build_mysql_uri(
    *, username: str, password: str, host: str, port: int | str, db: str, charset: str = "utf8mb4"
) -> str:
    """Return `mysql+pymysql://U:P@H:PORT/DB?charset=…`."""
    return f"mysql+pymysql://{_place(username, password, host, port)}/{db}?charset={charset}"


def build_mongodb_uri(
    *, username: str, password: str, host: str, port: int | str, db: str, auth_source: str = "admin"
) -> str:
    """Return `mongodb://U:P@H:PORT/DB?authSource=…`; a database's name is encoded, as drivers of MongoDB expect."""
    return f"mongodb://{_place(username, password, host, port)}/{quote(db, safe='')}?authSource={quote(auth_source)}"


def _place(username: str, password: str, host: str, port: int | str) -> str:
    bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{quote(username, safe='')}:{quote(password, safe='')}@{bracketed}:{port}"
