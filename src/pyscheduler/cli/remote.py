"""Speaks with a scheduler at an address: the same routes and refusals as over its socket, with a token for a name.

By https the certificate must be one that this machine trusts, or that `--ca-file` signs for. No redirect is followed:
it would carry the token to wherever the answer says. Proxies of the environment are not used.
"""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyscheduler.cli.address import TOKEN_VARIABLE, Address
from pyscheduler.cli.client import HttpClient
from pyscheduler.cli.faults import CommandError, Refused, Unreachable, WrongUsage

if TYPE_CHECKING:
    import ssl


class RemoteClient(HttpClient):
    """A client of the scheduler at an address. `token` None: it has to know us in another way, or lets nobody in."""

    def __init__(self, address: Address, token: str | None, timeout_s: float) -> None:
        self._address, self._token, self._timeout_s = address, token, timeout_s
        self._base = address.base
        self._trust = _trust(address) if address.is_https else None

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._address.host, self._address.port
        if self._trust is None:
            return http.client.HTTPConnection(host, port, timeout=self._timeout_s)
        return http.client.HTTPSConnection(host, port, timeout=self._timeout_s, context=self._trust)

    def _more_headers(self, method: str) -> Mapping[str, str]:
        headers = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        return headers if method == "GET" else {**headers, "X-Pysched": "1"}  # no page of a browser sends this

    def _checked(self, answer: http.client.HTTPResponse, refusal: Refused | None) -> None:
        where = str(self._address)
        if 300 <= answer.status < 400:
            what = f"the answer points elsewhere ({answer.getheader('Location')}), and no redirect is followed"
            raise CommandError(what, where=where, mend="give the scheduler's own address")
        if answer.getheader("Content-Type", "").startswith("text/html"):
            what = (
                f"a page answered, with status {answer.status}: this is no scheduler's API, or something is before it"
            )
            raise CommandError(what, where=where, mend="give the scheduler's own address")
        if refusal is not None:
            raise self._explained(refusal)

    def _explained(self, refusal: Refused) -> Refused:
        """Say how to mend that nobody is known, or may not do this."""
        if refusal.status not in (401, 403):
            return refusal
        if refusal.status == 403 and refusal.mend:
            mend = refusal.mend
        elif self._token is None:
            mend = f"name a file with a token: --token-file FILE or {TOKEN_VARIABLE}"
        elif refusal.status == 401:
            mend = "the token is not one of the scheduler's api_tokens_file; after a change there, reload it"
        else:
            mend = "the token's role does not cover this: its line in api_tokens_file says which it has"
        return Refused(refusal.what, where=refusal.where or str(self._address), mend=mend, status=refusal.status)

    def _unreachable(self, error: Exception) -> Unreachable:
        where = str(self._address)
        if isinstance(error, TimeoutError):
            what = f"the scheduler did not answer within {self._timeout_s:g} s"
            return Unreachable(what, where=where, mend="is the machine up, and the port open between here and there?")
        if isinstance(error, http.client.HTTPException | ConnectionResetError | BrokenPipeError):
            what = "the scheduler broke off in the middle of its answer, or this is no HTTP"
            mend = "is it http or https there? It may be stopping, too: ask again in a moment"
            return Unreachable(what, where=where, mend=mend, broke_off=True)
        if isinstance(error, ConnectionRefusedError):
            mend = "is the scheduler up, and its `listen` this address? `pysched status` there says"
            return Unreachable("nothing listens there", where=where, mend=mend)
        if _is_of_tls(error):
            what = f"there is no safe connection ({getattr(error, 'verify_message', '') or error})"
            mend = "--ca-file names the authority that signed for it; is it https there at all?"
            return Unreachable(what, where=where, mend=mend)
        return Unreachable(f"the scheduler cannot be reached ({error})", where=where, mend="is the address right?")


def _trust(address: Address) -> ssl.SSLContext:
    """Return whom we trust. Raises WrongUsage for a file that holds no certificate."""
    import ssl  # a command that speaks over the socket does without

    try:
        return ssl.create_default_context(cafile=address.ca_file)
    except OSError as error:
        what = f"no certificates can be read from it ({error.strerror or error})"
        raise WrongUsage(what, where=str(address.ca_file), mend="--ca-file takes a PEM file") from None


def _is_of_tls(error: Exception) -> bool:
    import ssl

    return isinstance(error, ssl.SSLError)
