"""Credentials: the secret is shown once or never, the hash is what a file keeps."""

from __future__ import annotations

import getpass
import hashlib
import warnings

import pytest
import yaml
from argon2 import PasswordHasher

from tests.unit.cli.prompt import Prompt


def test_a_token_and_its_hash_belong_together(pysched: Prompt) -> None:
    """32 random bytes, URL-safe; the hash is its SHA-256 in hex (spec: jobs.md 13.2)."""
    found = pysched("hash-token", "--json").json
    assert len(found["token"]) == 43
    assert hashlib.sha256(found["token"].encode()).hexdigest() == found["token_sha256"]
    first, second = pysched("hash-token").out.splitlines()
    assert first.startswith("token: ")
    assert second.startswith("token_sha256: ")


def test_two_tokens_differ(pysched: Prompt) -> None:
    """They are random."""
    assert pysched("hash-token").out != pysched("hash-token").out


def typing(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    left = list(words)
    monkeypatch.setattr("click.termui.hidden_prompt_func", lambda _prompt: left.pop(0))


def test_a_password_is_asked_for_twice_and_never_shown(pysched: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its hash comes out, and the hash checks."""
    typing(monkeypatch, "correct horse", "correct horse")
    said = pysched("hash-password")
    assert said.code == 0
    entry = yaml.safe_load(f"{{name: ann, {said.out.strip()}, role: admin}}")  # as the guide writes users down
    hashed = entry["password_hash"]
    assert hashed.startswith("$argon2id$")
    assert PasswordHasher().verify(hashed, "correct horse")
    assert "correct horse" not in said.out + said.err


def test_a_short_or_mistyped_password_is_asked_for_again(pysched: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until two long enough ones are alike."""
    typing(monkeypatch, "short", "long enough", "long  enough", "long enough", "long enough")
    said = pysched("hash-password", "--json")
    assert PasswordHasher().verify(said.json["password_hash"], "long enough")
    assert "8 is the least" in said.err


def test_an_input_that_ends_is_told(pysched: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    """In our words, not in Python's."""

    def ended(_prompt: str) -> str:
        warnings.warn("Can not control echo on the terminal.", getpass.GetPassWarning, stacklevel=1)
        raise EOFError

    monkeypatch.setattr("click.termui.hidden_prompt_func", ended)
    said = pysched("hash-password")
    assert (said.code, said.out) == (1, "")
    assert "error: the input ended before a password was typed twice" in said.err
    assert "GetPassWarning" not in said.err
