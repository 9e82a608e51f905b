"""Which scheduler a command speaks with where it is not the one of a file here: an address, a token, how far both go.

The address is the one given with `--url`; else, where no `-c` names a file, that of PYSCHED_URL. A token is read from
the file that `--token-file` or PYSCHED_TOKEN_FILE names and is nowhere else: what stands in arguments or the
environment is seen by others. By plain http nothing is sent to another machine, unless `--insecure-http` says so:
whoever is on the way could read the token and change the answers. Issue: the console, "the CLI works against a remote
scheduler"; promise P8.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from pyscheduler.cli.faults import WrongUsage

URL_VARIABLE: Final = "PYSCHED_URL"
TOKEN_VARIABLE: Final = "PYSCHED_TOKEN_FILE"
LONGEST_TOKEN: Final = 4096
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a scheduler answers. `base` comes before every path, without a slash at its end."""

    is_https: bool
    host: str
    port: int
    base: str = ""
    ca_file: Path | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "https" if self.is_https else "http"
        port = "" if self.port == _PORTS[scheme] else f":{self.port}"
        return f"{scheme}://{host}{port}{self.base}"


@dataclass(slots=True)
class Elsewhere:
    """What options say about a scheduler elsewhere, as typed."""

    url: str | None = None
    token_file: str | None = None
    ca_file: str | None = None
    insecure_http: bool = False
    noted: list[str] = field(default_factory=list)

    def address(self, environ: Mapping[str, str], *, is_file_given: bool) -> Address | None:
        """Return the address that is meant, None where a file's scheduler is. Raises WrongUsage."""
        if self.url is not None and is_file_given:
            raise WrongUsage("--url and a file name two schedulers", mend="leave one of them out")
        text = self.url if self.url is not None or is_file_given else environ.get(URL_VARIABLE) or None
        if text is None:
            self._refuse_what_is_for_a_url(is_file_given=is_file_given)
            return None
        where = "--url" if self.url is not None else URL_VARIABLE
        return read_address(text, where, insecure_http=self.insecure_http, ca_file=self.ca_file)

    def token(self, environ: Mapping[str, str]) -> str | None:
        """Return the token to send, None where none was named. What is odd about its file is in `noted`."""
        named = self.token_file if self.token_file is not None else environ.get(TOKEN_VARIABLE) or None
        return None if named is None else read_token(Path(named), self.noted)

    def _refuse_what_is_for_a_url(self, *, is_file_given: bool) -> None:
        given = {"--token-file": self.token_file, "--ca-file": self.ca_file, "--insecure-http": self.insecure_http}
        for option, value in given.items():
            if value:
                mend = "leave -c out" if is_file_given else f"name the scheduler with --url or {URL_VARIABLE}"
                raise WrongUsage(f"{option} is for a scheduler with an address, and none is given", mend=mend)


def read_address(text: str, where: str, *, insecure_http: bool = False, ca_file: str | None = None) -> Address:
    """Return the address that a text is. Raises WrongUsage."""
    parts, port = _split(text, where)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        what = "the address holds a name, a password, a query or a fragment"
        raise WrongUsage(what, where=where, mend="a token goes in a file: --token-file FILE")
    is_https, host = parts.scheme == "https", parts.hostname or ""
    if not is_https and not is_loopback(host) and not insecure_http:
        what = f"{host} is another machine, and whoever is on the way reads and changes what plain http carries"
        mend = "use https://, or a tunnel (ssh -L) and its loopback address; --insecure-http does it all the same"
        raise WrongUsage(what, where=where, mend=mend)
    if ca_file is not None and not is_https:
        raise WrongUsage("--ca-file is for https", where=where, mend="leave it out")
    return Address(is_https, host, port, parts.path.rstrip("/"), None if ca_file is None else Path(ca_file))


def _split(text: str, where: str) -> tuple[SplitResult, int]:
    try:
        parts = urlsplit(text)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        parts, port = SplitResult("", "", "", "", ""), 0
    is_plain = text.isascii() and text.isprintable() and " " not in text
    if not parts.hostname or not is_plain:
        mend = "write it like https://scheduler.example:8470"
        raise WrongUsage("this is no address of a scheduler", where=where, mend=mend)
    return parts, port


def is_loopback(host: str) -> bool:
    """Whether a host is this very machine, by its name or number alone: no resolver is asked."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() in ("localhost", "localhost.localdomain")


def read_token(file: Path, noted: list[str]) -> str:
    """Return the token in a file, its only line. Raises WrongUsage; what is odd about the file is added to `noted`."""
    try:
        with file.open("rb") as handle:
            mode = os.fstat(handle.fileno()).st_mode
            data = handle.read(LONGEST_TOKEN + 1)
    except OSError as error:
        what = f"the token cannot be read ({error.strerror})"
        raise WrongUsage(what, where=str(file), mend="`pysched hash-token` makes one") from None
    lines = data.split()
    token = lines[0].decode("ascii", "replace") if len(lines) == 1 else ""
    if not token or len(data) > LONGEST_TOKEN or not (token.isascii() and token.isprintable()):
        what = "the file holds no token: one line of printable ASCII is expected"
        raise WrongUsage(
            what, where=str(file), mend="put the line `token: …` of `pysched hash-token` there, without `token: `"
        )
    if stat.S_ISREG(mode) and mode & 0o077:
        noted.append(f"remark: {file} has mode {stat.S_IMODE(mode):04o}: others can read the token; chmod 600 it")
    return token
