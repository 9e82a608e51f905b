"""Addresses from their parts. Spec: pipeline.md 1.2 and 13."""

from __future__ import annotations

from typing import Any

from pymongo.uri_parser import parse_uri
from sqlalchemy import make_url

from pypepper.helper.db.uri import build_mongodb_uri, build_mysql_uri, build_postgres_uri

ODD = "a b@c/d%20+e:f?g#h~ü"
GIVEN: dict[str, Any] = {"username": "me@home", "password": ODD, "host": "h", "port": 1, "db": "d"}


def test_postgres() -> None:
    """pipeline.md 13: `postgresql+psycopg://U:P@H:PORT/DB`, plus `?sslmode=…` if set."""
    plain: dict[str, Any] = {"username": "u", "password": "p", "host": "h", "port": 5432, "db": "d"}
    assert build_postgres_uri(**plain) == "postgresql+psycopg://u:p@h:5432/d"
    assert build_postgres_uri(**plain, sslmode="require") == "postgresql+psycopg://u:p@h:5432/d?sslmode=require"


def test_mysql() -> None:
    """pipeline.md 13: `mysql+pymysql://U:P@H:PORT/DB?charset=…`."""
    plain: dict[str, Any] = {"username": "u", "password": "p", "host": "h", "port": 3306, "db": "d"}
    assert build_mysql_uri(**plain) == "mysql+pymysql://u:p@h:3306/d?charset=utf8mb4"
    assert build_mysql_uri(**plain, charset="latin1") == "mysql+pymysql://u:p@h:3306/d?charset=latin1"


def test_drivers_read_back_every_letter() -> None:
    """A space, @, /, %, + in a password reach the server as they were given (0.7 turned a space into a plus)."""
    for uri in (build_postgres_uri(**GIVEN), build_mysql_uri(**GIVEN)):
        url = make_url(uri)
        assert (url.username, url.password, url.host, url.port, url.database) == ("me@home", ODD, "h", 1, "d")
    read = parse_uri(build_mongodb_uri(**GIVEN))
    assert (read["username"], read["password"], read["nodelist"]) == ("me@home", ODD, [("h", 1)])
    assert (read["database"], read["options"]["authSource"]) == ("d", "admin")


def test_an_address_of_ipv6_gets_its_brackets() -> None:
    """A port cannot be told apart without them."""
    uri = build_postgres_uri(username="u", password="p", host="::1", port=1, db="d")
    assert uri == "postgresql+psycopg://u:p@[::1]:1/d"
    assert build_postgres_uri(username="u", password="p", host="[::1]", port=1, db="d") == uri
