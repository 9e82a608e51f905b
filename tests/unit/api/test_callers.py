"""Who may act: root and our own user, by the kernel's word."""

from __future__ import annotations

import os
import pwd

import pytest

from pyscheduler.api.callers import Peer, peer_caller, user_name
from pyscheduler.errors import Forbidden

US = os.geteuid()


def scope(uid: int) -> dict[str, object]:
    return {"state": {"peer": Peer(4711, uid, 0)}}


@pytest.mark.parametrize("uid", [0, US])
def test_root_and_our_own_user_get_in_by_name(uid: int) -> None:
    """The actor is the login name."""
    assert peer_caller(scope(uid)).name == pwd.getpwuid(uid).pw_name


@pytest.mark.parametrize("uid", [US + 1, US + 2, 4_000_000_000])
def test_nobody_else_does(uid: int) -> None:
    """Whatever the modes of the socket are; a number without a name is shown as one."""
    with pytest.raises(Forbidden, match="may not speak to this scheduler"):
        peer_caller(scope(uid))
    assert user_name(4_000_000_000) == "uid 4000000000"


@pytest.mark.parametrize("state", [{}, {"peer": None}])
def test_whom_the_kernel_does_not_name_is_nobody(state: dict[str, object]) -> None:
    """A connection without a peer is never let in."""
    with pytest.raises(Forbidden, match="nobody can tell who you are"):
        peer_caller({"state": state})
