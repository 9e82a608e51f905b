"""The credential files."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from pyscheduler.config.credentials import read_credentials
from pyscheduler.errors import ConfigError
from pyscheduler.model.job import Settings
from pyscheduler.model.person import Credentials, Role, Token, User
from pyscheduler.model.problem import Severity

A, B = "0a" * 32, "0b" * 32
LINE = f"pbkdf2_sha256$1000${'ab' * 16}${'cd' * 32}"


class Files:
    """Two files of one folder, read together."""

    def __init__(self, folder: Path) -> None:
        self.tokens, self.users = folder / "tokens.yaml", folder / "users.yaml"
        self.folder = folder

    def read(self, tokens: str | None = None, users: str | None = None, mode: int = 0o600) -> Credentials:
        for path, text in ((self.tokens, tokens), (self.users, users)):
            if text is not None:
                path.write_text(text)
                path.chmod(mode)
        settings = Settings(
            state_dir=self.folder,
            log_dir=self.folder,
            api_tokens_file=None if tokens is None else self.tokens,
            users_file=None if users is None else self.users,
        )
        found, self.warnings = read_credentials(settings)
        return found

    def problems(self, tokens: str | None = None, users: str | None = None, mode: int = 0o600) -> list[str]:
        with pytest.raises(ConfigError) as refused:
            self.read(tokens, users, mode)
        return [str(problem).replace(f"{self.folder}/", "") for problem in refused.value.problems]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_every_field_arrives(files: Files) -> None:
    """Teams and the last day may be left out."""
    found = files.read(
        f"- {{name: ci, token_sha256: {A}, role: operator, teams: [finance, ops], expires: 2027-05-20}}\n"
        f"- {{name: wall, token_sha256: {B}, role: viewer}}\n",
        f"- name: ann\n  password_hash: {LINE}\n  role: admin\n  teams: [ops]\n",
    )
    assert found.tokens == (
        Token(name="ci", sha256=A, role=Role.OPERATOR, teams=frozenset({"finance", "ops"}), expires=date(2027, 5, 20)),
        Token(name="wall", sha256=B, role=Role.VIEWER),
    )
    assert found.users == (User(name="ann", password_hash=LINE, role=Role.ADMIN, teams=frozenset({"ops"})),)
    assert found.user("ann") == found.users[0]
    assert found.user("bob") is None
    assert files.warnings == ()


def test_no_file_is_not_an_empty_file(files: Files) -> None:
    """An empty list lets nobody in; none leaves it to the kernel's word."""
    assert files.read().is_open
    assert not files.read("[]\n").is_open
    assert files.read("[]\n").tokens == ()


@pytest.mark.parametrize("text", ["", "\n", "# nobody yet\n"])
def test_a_file_without_a_list_is_refused(files: Files, text: str) -> None:
    """An editor that was interrupted must not sign everybody out."""
    assert files.problems(text) == ["tokens.yaml:1:1: the file is empty; write [] if nobody may come in by it"]


def test_a_dollar_is_a_dollar(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password line has many, and nothing of the environment comes in here."""
    monkeypatch.setenv("v", "x")
    line = "$argon2id$v=19$m=65536,t=3,p=4$De8GTLFb2jScIK1vDOxJVQ$w07RkQRy0DxB1JHfOd1b0yMODzwXKgwfFPr78Qlx8YI"
    found = files.read(users=f"- {{name: ann, password_hash: '{line}', role: viewer}}\n")
    assert found.user("ann") == User(name="ann", password_hash=line, role=Role.VIEWER)


def test_all_faults_of_both_files_are_said_at_once_and_at_their_places(files: Files) -> None:
    """With what is wrong and how to mend it."""
    problems = files.problems(
        f"- {{name: ci, token_sha256: {A}, role: boss}}\n"
        f"- {{name: 'a b', token_sha256: {A}, role: viewer}}\n"
        f"- {{name: ok, token: {A}, role: viewer}}\n",
        "- {name: ann, password_hash: hunter2, role: viewer}\n- ann\n",
    )
    assert problems == [
        'tokens.yaml:1:100: role: "boss" is none of viewer, operator, admin',
        'tokens.yaml:2:10: name: "a b" is no name; use 1 to 64 letters (a to z), digits, _ and -',
        "tokens.yaml:3:3: token_sha256: is missing",
        'tokens.yaml:3:14: unknown key "token"',
        "users.yaml:1:30: password_hash: is no password hash of Argon2 or PBKDF2; `pysched hash-password` makes one",
        "users.yaml:2:3: must be a mapping; write KEY: VALUE lines, indented below it",
    ]


def test_no_hash_and_no_password_is_ever_shown(files: Files) -> None:
    """Whoever writes the password itself by mistake must not find it in the log."""
    text = "\n".join(
        files.problems(
            "- {name: ci, token_sha256: my-very-own-token, role: viewer}\n",
            "- {name: ann, password_hash: [hunter2], role: viewer}\n",
        )
    )
    assert "my-very-own-token" not in text
    assert "hunter2" not in text


def test_a_name_or_hash_that_comes_twice_is_refused(files: Files) -> None:
    """Nobody could tell the two apart; the same name in both files is no fault."""
    problems = files.problems(
        f"- {{name: ci, token_sha256: {A}, role: viewer}}\n- {{name: ci, token_sha256: {A}, role: viewer}}\n",
        f"- {{name: ci, password_hash: {LINE}, role: viewer}}\n",
    )
    assert problems == [
        'tokens.yaml:2:10: name: "ci" stands here twice, first in line 1; remove one',
        "tokens.yaml:2:28: token_sha256: this hash stands here twice, first in line 1; remove one",
    ]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("name: ci\n", "must be a list of at most 10,000 entries"),
        ("- [\n", "cannot be read"),
        ("\0", "has no place in a text file"),
    ],
)
def test_what_is_no_list_is_refused(files: Files, text: str, what: str) -> None:
    """In words, at its place."""
    (problem,) = files.problems(text)
    assert what in problem or "tokens.yaml:" in problem


def test_a_file_that_is_missing_is_a_fault(files: Files) -> None:
    """Otherwise a slip of the pen would open the door."""
    settings = Settings(state_dir=files.folder, log_dir=files.folder, users_file=files.folder / "nowhere.yaml")
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: cannot be read"):
        read_credentials(settings)


def test_a_file_that_others_may_write_is_refused_and_one_they_may_read_is_warned_of(files: Files) -> None:
    """Who can write it lets themselves in; who can read it can try passwords at home."""
    (problem,) = files.problems("[]\n", mode=0o666)
    assert problem == "tokens.yaml: anybody may write this file and let themselves in (mode 0666); chmod 600 it"
    files.read("[]\n", mode=0o644)
    (warning,) = files.warnings
    assert (warning.severity, warning.mend) == (Severity.WARNING, "chmod 600 it")
