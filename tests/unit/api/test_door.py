"""Who sent a request, by whichever way it came."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from datetime import UTC, date, datetime
from ipaddress import ip_address
from typing import Any

import pytest

from pyscheduler.api.callers import Caller, Peer, Role, Via, user_name
from pyscheduler.api.door import LINK_PROOF, Door, is_navigation, proof_of, safe_next
from pyscheduler.api.loopback import Address, Wire
from pyscheduler.api.revocations import IsGone
from pyscheduler.api.session_book import LIFE
from pyscheduler.errors import Forbidden, Unauthorised, Unavailable
from pyscheduler.model.batch import Batch
from pyscheduler.model.person import Credentials, Token, User

NOON = datetime(2027, 5, 20, 12, tzinfo=UTC)
US, STRANGER = os.geteuid(), 54321
ANN = User(name="ann", password_hash="line", role=Role.OPERATOR, teams=frozenset({"ops"}))


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


CI = Token(name="ci", sha256=sha256("t0ken"), role=Role.VIEWER, expires=date(2027, 5, 20))
BOTH = Credentials(tokens=(CI,), users=(ANN,))
TOKENS, OPEN = Credentials(tokens=(CI,)), Credentials()


class Hall:
    """A door with a clock that is moved by hand."""

    def __init__(self, credentials: Credentials) -> None:
        self.now = NOON
        self.door = Door(credentials, save=self._save, now=lambda: self.now, monotonic=lambda: 0.0)
        self.door.sessions.load(())

    async def _save(self, batch: Batch) -> None:
        pass

    async def signed_in(self, user: User = ANN) -> str:
        header, _ = await self.door.sign_in(user.name, proof_of(user), address="", agent="")
        return header.partition(";")[0]

    async def by_link(self) -> str:
        header, _ = await self.door.sign_in("root", LINK_PROOF, address="", agent="")
        return header.partition(";")[0]

    async def who(self, path: str = "/api/runs", *, owner: int | None = STRANGER, **headers: str) -> Caller | None:
        return await self.door(asked(path, owner=owner, **headers))

    def close(self) -> None:
        self.door.close()


def asked(
    path: str = "/api/runs", *, method: str = "GET", owner: int | None = STRANGER, **headers: str
) -> dict[str, Any]:
    wire = Wire(Address(ip_address("127.0.0.1"), 8470), Address(ip_address("127.0.0.1"), 4000), owner, is_known=True)
    sent = {"host": "127.0.0.1:8470"} | headers
    pairs = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in sent.items()]
    return {"method": method, "path": path, "query_string": b"", "headers": pairs, "state": {"wire": wire}}


@pytest.fixture
def halls() -> Any:
    made: list[Hall] = []

    def make(credentials: Credentials) -> Hall:
        made.append(Hall(credentials))
        return made[-1]

    yield make
    for hall in made:
        hall.close()


# --------------------------------------------------------------------------- without credential files


@pytest.mark.parametrize("uid", [0, US])
async def test_our_own_user_and_root_come_in_by_loopback(halls: Any, uid: int) -> None:
    """As themselves, as admins, without a word."""
    caller = await halls(OPEN).who(owner=uid)
    assert (caller.name, caller.role, caller.via) == (user_name(uid), Role.ADMIN, Via.LOOPBACK)


@pytest.mark.parametrize("uid", [STRANGER, None])
async def test_nobody_else_does(halls: Any, uid: int | None) -> None:
    """Nor a connection of which nobody can tell whose it is. The refusal says what would help."""
    with pytest.raises(Forbidden) as refused:
        await halls(OPEN).who(owner=uid)
    assert "pysched open" in refused.value.mend


async def test_who_followed_a_link_comes_in_whoever_they_are(halls: Any) -> None:
    """As the service's own user, with a token that their pages must send back."""
    hall = halls(OPEN)
    caller = await hall.who(cookie=await hall.by_link())
    assert (caller.name, caller.role, caller.via) == ("root", Role.ADMIN, Via.LINK)
    assert caller.csrf


@pytest.mark.parametrize("path", ["/", "/api/health", "/static/x", "/login"])
async def test_a_host_that_is_not_this_machine_is_refused_for_every_path(halls: Any, path: str) -> None:
    """The public ones included: a foreign name that was led here learns nothing."""
    with pytest.raises(Forbidden, match="forbidden host"):
        await halls(OPEN).who(path, owner=US, host="evil.example")


async def test_a_stale_cookie_does_not_keep_our_own_user_out(halls: Any) -> None:
    """Two schedulers of one machine share their cookies: ports do not keep them apart."""
    assert (await halls(OPEN).who(owner=US, cookie="pysched_session=" + "x" * 43)).via is Via.LOOPBACK


async def test_a_bearer_is_refused_where_there_are_no_tokens(halls: Any) -> None:
    """Whoever shows one believes that it counts."""
    with pytest.raises(Unauthorised):
        await halls(OPEN).who(owner=US, authorization="Bearer t0ken")


# --------------------------------------------------------------------------- with credential files


async def test_loopback_is_nobody_where_there_are_credential_files(halls: Any) -> None:
    """The kernel's word counts only where nothing else does: a proxy on this machine would bring in the world."""
    for credentials in (BOTH, TOKENS, Credentials(users=()), Credentials(tokens=())):
        assert await halls(credentials).who(owner=US) is None


async def test_a_token_is_its_program(halls: Any) -> None:
    """On its last day too, in any case of the word; from any host."""
    for word in ("Bearer t0ken", "bearer t0ken", "BEARER   t0ken "):
        caller = await halls(BOTH).who(authorization=word, host="sched.example")
        assert (caller.name, caller.role, caller.via, caller.address) == ("ci", Role.VIEWER, Via.TOKEN, "127.0.0.1")


@pytest.mark.parametrize(
    "value", ["Bearer wrong", "Bearer ", "Bearer t0ken x", "Bearer " + "x" * 9000, f"Bearer {CI.sha256}"]
)
async def test_a_bad_token_is_refused_even_with_a_good_cookie(halls: Any, value: str) -> None:
    """The hash is not the token."""
    hall = halls(BOTH)
    with pytest.raises(Unauthorised):
        await hall.who(authorization=value, cookie=await hall.signed_in())


async def test_two_tokens_are_none(halls: Any) -> None:
    """Nobody knows which is meant."""
    scope = asked(authorization="Bearer t0ken")
    scope["headers"].append((b"authorization", b"Bearer t0ken"))
    with pytest.raises(Unauthorised):
        await halls(BOTH).door(scope)


async def test_a_token_is_over_after_its_last_day(halls: Any) -> None:
    """The refusal says so: who has the token may know."""
    hall = halls(BOTH)
    hall.now = datetime(2027, 5, 21, tzinfo=UTC)
    with pytest.raises(Unauthorised) as refused:
        await hall.who(authorization="Bearer t0ken")
    assert refused.value.mend == "the token of ci expired on 2027-05-20"


async def test_a_session_is_the_user_who_signed_in(halls: Any) -> None:
    """With the role and the teams that the file gives now."""
    hall = halls(BOTH)
    cookie = await hall.signed_in()
    caller = await hall.who(cookie=f"other=1; {cookie}", host="sched.example")
    assert (caller.name, caller.role, caller.via, caller.teams) == ("ann", Role.OPERATOR, Via.SESSION, ANN.teams)
    hall.door.swap(Credentials(users=(replace(ANN, role=Role.VIEWER),)))
    assert (await hall.who(cookie=cookie)).role is Role.VIEWER


@pytest.mark.parametrize("users", [(), (replace(ANN, password_hash="another"),), (replace(ANN, name="bob"),)])
async def test_a_session_is_over_when_what_it_rests_on_is_gone(halls: Any, users: tuple[User, ...]) -> None:
    """The user removed, another password set; and no other user of the same password takes it over."""
    hall = halls(BOTH)
    cookie = await hall.signed_in()
    hall.door.swap(Credentials(users=users))
    assert await hall.who(cookie=cookie) is None
    await hall.door.tidy()
    hall.door.swap(BOTH)
    assert await hall.who(cookie=cookie) is None, "it was revoked meanwhile"


async def test_a_session_ends_after_eight_hours(halls: Any) -> None:
    """However often it is used."""
    hall = halls(BOTH)
    cookie = await hall.signed_in()
    hall.now = NOON + LIFE
    assert await hall.who(cookie=cookie) is None


async def test_headers_of_proxies_make_nobody_anybody(halls: Any) -> None:
    """Whatever they say."""
    claims = {
        "x_forwarded_for": "127.0.0.1",
        "x_forwarded_user": "root",
        "x_real_ip": "127.0.0.1",
        "forwarded": "for=::1",
    }
    assert await halls(BOTH).who(**claims) is None


async def test_what_is_public_is_refused_to_nobody(halls: Any) -> None:
    """Not even to who shows a bad token or comes as a stranger; but they are nobody there."""
    assert await halls(OPEN).who("/api/health") is None
    assert await halls(BOTH).who("/login", authorization="Bearer wrong") is None


async def test_before_the_sessions_are_read_nobody_is_sent_to_sign_in_again(halls: Any) -> None:
    """A cookie cannot be judged yet: ask again."""
    hall = halls(BOTH)
    hall.door.sessions.is_loaded = False
    with pytest.raises(Unavailable):
        await hall.who(cookie="pysched_session=" + "x" * 43)


async def test_the_peer_of_the_unix_socket_is_who_the_kernel_says(halls: Any) -> None:
    """A token or a cookie there is nothing."""
    scope = asked(authorization="Bearer wrong") | {"state": {"peer": Peer(1, US, US)}}
    caller = await halls(BOTH).door(scope)
    assert (caller.name, caller.via) == (user_name(US), Via.SOCKET)


# --------------------------------------------------------------------------- who is nobody, and who is gone


def test_a_browser_is_sent_to_the_sign_in_with_where_it_wanted_to_go(halls: Any) -> None:
    """A program gets 401 and is told how to show who it is."""
    door = halls(BOTH).door
    scope = asked("/graph", accept="text/html,*/*") | {"query_string": b"tag=a&q=%22"}
    answer = door.turn_away(scope)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=/graph%3Ftag%3Da%26q%3D%2522")
    assert door.turn_away(asked("/", accept="text/html")).headers["location"] == "/login"
    for asking in (
        asked("/graph"),
        asked("/api/runs", accept="text/html"),
        asked("/x", method="POST", accept="text/html"),
    ):
        refused = door.turn_away(asking)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")


def test_without_a_users_file_a_browser_is_told_that_it_needs_one(halls: Any) -> None:
    """403: there is nothing to sign in with."""
    answer = halls(TOKENS).door.turn_away(asked("/", accept="text/html"))
    assert answer.status_code == 403
    assert b"users_file" in answer.body


async def test_streams_end_for_who_lost_something_and_go_on_for_the_others(halls: Any) -> None:
    """A token or a user taken away, another role, a session revoked or over."""
    hall = halls(BOTH)
    cookie = await hall.signed_in()
    ann, ci = await hall.who(cookie=cookie), await hall.who(authorization="Bearer t0ken")
    peer = Caller("root")
    questions: list[IsGone] = []
    hall.door.revocations.subscribe(questions.append)
    assert not hall.door.swap(BOTH)
    assert questions == []
    hall.door.swap(Credentials(tokens=(), users=(ANN,)))
    assert [questions[-1](each) for each in (ann, ci, peer)] == [False, True, False]
    hall.door.swap(Credentials(tokens=(CI,), users=(replace(ANN, teams=frozenset()),)))
    assert [questions[-1](each) for each in (ann, ci, peer)] == [True, False, False]
    hall.door.swap(BOTH)
    await hall.door.end_sessions(lambda each: each.user == "ann", "root")
    assert [questions[-1](each) for each in (ann, ci, peer)] == [True, False, False]
    hall.now = datetime(2027, 5, 21, tzinfo=UTC)
    await hall.door.tidy()
    assert questions[-1](ci)


@pytest.mark.parametrize("text", ["/", "/graph?tag=a&q=%22", "/jobs/a", "/runs/a.2027-05-20.1#log"])
def test_a_path_of_this_site_may_come_next(text: str) -> None:
    """With its parameters."""
    assert safe_next(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "graph",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil",
            "https://evil.example",
            "/\n/evil",
        ),
        *(
            "/ /evil",
            "/\t/evil",
            "javascript:alert(1)",
            "/login?next=/",
            "/enter/x",
            "/logout",
            "/" + "x" * 2000,
            "/\u20ac",
        ),
    ],
)
def test_nothing_else_does(text: str) -> None:
    """No other site, no circle."""
    assert safe_next(text) == "/"


def test_a_navigation_is_a_browser_opening_a_page() -> None:
    """Not a script asking for JSON, nor whatever is sent."""
    assert is_navigation(asked("/", accept="text/html"))
    assert not is_navigation(asked("/", accept="application/json"))
    assert not is_navigation(asked("/", method="POST", accept="text/html"))
    assert not is_navigation(asked("/api/runs", accept="text/html"))
