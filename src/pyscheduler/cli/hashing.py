"""`hash-token` and `hash-password`: what the credential files hold, made here so that no secret is ever stored.

A token is random and long, so a plain SHA-256 is enough to keep; a password is neither, so it gets Argon2id. The
secret itself is shown once (the token) or never (the password), and never comes in as an argument, where every user of
the machine could read it. Spec: jobs.md 13.2, 14.1; DESIGN 1 (P8).
"""

from __future__ import annotations

import getpass
import hashlib
import secrets
import warnings
from typing import Final

import click

from pyscheduler.cli.faults import CommandError
from pyscheduler.cli.options import json_option, only_here, verb
from pyscheduler.cli.session import Session, pass_session

TOKEN_BYTES: Final = 32
SHORTEST_PASSWORD: Final = 8


@only_here
@verb("hash-token", "pysched hash-token", "pysched hash-token --json")
@json_option
@pass_session
def hash_token(session: Session, as_json: bool) -> None:
    """Make an API token, and its hash for the tokens file.

    The token is shown this once: give it to the program that will use it. The tokens file gets the hash alone, with a
    name and a role.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    made = {"token": token, "token_sha256": hashlib.sha256(token.encode()).hexdigest()}
    if as_json:
        session.print_json(made)
    else:
        session.say_all(f"{name}: {value}" for name, value in made.items())


@only_here
@verb("hash-password", "pysched hash-password")
@json_option
@pass_session
def hash_password(session: Session, as_json: bool) -> None:
    """Make the hash of a password for the users file.

    Asks for the password twice, without showing it; at least eight characters. The hash is Argon2id, with a salt of its
    own, so the same password makes another hash each time.
    """
    from argon2 import PasswordHasher

    hashed = PasswordHasher().hash(_ask())
    if as_json:
        session.print_json({"password_hash": hashed})
    else:
        session.say(f'password_hash: "{hashed}"')  # quoted: a hash has commas, which end a word in `{...}`


def _ask() -> str:
    """Return a password typed twice alike."""

    def checked(text: str) -> str:
        if len(text) < SHORTEST_PASSWORD:
            raise click.BadParameter(f"it has {len(text)} characters, and {SHORTEST_PASSWORD} is the least")
        return text

    with warnings.catch_warnings():
        # Where no terminal can be kept from showing it there is nobody at one: a program writes it into a pipe.
        warnings.simplefilter("ignore", getpass.GetPassWarning)
        try:
            typed: str = click.prompt(
                "Password", hide_input=True, confirmation_prompt="Once more", value_proc=checked, err=True
            )
        except click.Abort as error:
            if isinstance(error.__cause__, KeyboardInterrupt):
                raise
            what = "the input ended before a password was typed twice"
            raise CommandError(
                what, mend="type it at a terminal, or write it into standard input on two lines"
            ) from error
    return typed
