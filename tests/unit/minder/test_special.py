from __future__ import annotations

import os

import pytest

from pyscheduler.minder import special


def test_what_keeps_us_from_becoming_a_user_names_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator reads who it should have been, why not, and what to do; no bare errno."""
    refused = PermissionError(1, "Operation not permitted")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert special._no_way_to_be("root", refused) == (
        "cannot become user root: Operation not permitted; "
        "only a scheduler that runs as root can: run it as root, or leave user out"
    )
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert special._no_way_to_be("ann", ValueError("could not become ann")) == (
        "cannot become user ann: could not become ann"
    )
