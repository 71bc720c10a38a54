"""Where to connect, from a command line."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from aioifx.cli import address
from aioifx.cli.address import add_connection, destination
from aioifx.cli.parsing import Parser
from aioifx.client.config.password import Secret
from aioifx.errors import InterfaceError

DSN = "informix://app@db1:9088/shop?server=ol_shop"
WITH_PASSWORD = "informix://app:hidden@db1:9088/shop?server=ol_shop"
NAMED = {"application_name": "aioifx"}


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variables of the environment, and no terminal."""
    for name in ("AIOIFX_DSN", "AIOIFX_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(address, "_has_terminal", lambda: False)


def parse(*line: str) -> Namespace:
    parser = Parser()
    add_connection(parser)
    return parser.parse_args(line)


def password_of(arguments: Namespace) -> str:
    password = destination(arguments).options.get("password")
    assert isinstance(password, Secret)
    return password.reveal()


def test_an_address_alone() -> None:
    assert destination(parse(DSN)) == (DSN, NAMED, False)


def test_options_are_those_of_connect() -> None:
    line = "--user u --ssl --ssl-ca ca.pem --db-locale en_US.utf8 --client-locale de_DE.utf8"
    found = destination(parse(DSN, *line.split(), "--connect-timeout", "3", "--timeout", "1.5"))
    assert found.options == NAMED | {
        "user": "u", "ssl": True, "ssl_ca": "ca.pem", "db_locale": "en_US.utf8", "client_locale": "de_DE.utf8",
        "connect_timeout": 3.0, "command_timeout": 1.5,
    }  # fmt: skip


def test_an_application_name_in_the_address_remains() -> None:
    assert destination(parse(f"{DSN}&application_name=mine")).options == {}


@pytest.mark.parametrize(
    "given",
    [
        WITH_PASSWORD,
        "informix://app@db1/shop?server=s&password=hidden",
        "jdbc:informix-sqli://db1:9088/shop:INFORMIXSERVER=s;user=app;password=hidden",
        "HOST=db1;SERVER=s;UID=app;PWD={hidden}",
    ],
)
def test_a_password_on_the_command_line_is_used_with_a_warning(
    given: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address, "_has_terminal", lambda: True)
    assert destination(parse(given)) == (given, NAMED, False)
    err = capsys.readouterr().err
    assert err.startswith("aioifx: warning: every user of this machine can read the password in ADDRESS")
    assert "AIOIFX_PASSWORD" in err and "hidden" not in err


def test_the_address_may_come_from_the_environment_or_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AIOIFX_DSN", WITH_PASSWORD)
    assert destination(parse()) == (WITH_PASSWORD, NAMED, False)
    file = tmp_path / "address"
    file.write_bytes(b"\xef\xbb\xbf" + f"{WITH_PASSWORD}\r\nmore".encode())
    assert destination(parse(f"@{file}")) == (WITH_PASSWORD, NAMED, False)
    assert destination(parse(DSN)) == (DSN, NAMED, False)


def test_a_missing_address_names_the_variable() -> None:
    with pytest.raises(InterfaceError, match="ADDRESS: missing, and the environment variable AIOIFX_DSN"):
        destination(parse())


def test_an_invalid_address_is_left_to_connect() -> None:
    assert destination(parse("nonsense")) == ("nonsense", NAMED, False)


def test_passwords_and_their_precedence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert not destination(parse(DSN)).may_ask
    monkeypatch.setattr(address, "_has_terminal", lambda: True)
    assert destination(parse(DSN)) == (DSN, NAMED, True)
    assert not destination(parse(DSN, "--no-password")).may_ask
    monkeypatch.setenv("AIOIFX_PASSWORD", "variable")
    assert password_of(parse(DSN)) == "variable"
    monkeypatch.setenv("AIOIFX_DSN", WITH_PASSWORD)
    assert "password" not in destination(parse()).options
    file = tmp_path / "password"
    file.write_text("in file\nmore", "utf-8")
    file.chmod(0o600)
    assert password_of(parse("--password-file", str(file))) == "in file"
    assert not destination(parse(DSN, "--password-file", str(file))).may_ask


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_password_file_that_everyone_can_read_is_used_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "password"
    file.write_text("hidden\n", "utf-8")
    for mode, warns in ((0o600, False), (0o640, False), (0o644, True)):
        file.chmod(mode)
        assert password_of(parse(DSN, "--password-file", str(file))) == "hidden"
        err = capsys.readouterr().err
        assert ("every user of this machine can read" in err) is warns
        assert "hidden" not in err


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_so_is_a_file_of_an_address_with_a_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "address"
    for dsn, mode, warns in (
        (WITH_PASSWORD, 0o600, False),
        (WITH_PASSWORD, 0o644, True),
        (DSN, 0o644, False),
    ):
        file.write_text(dsn, "utf-8")
        file.chmod(mode)
        assert destination(parse(f"@{file}")).dsn == dsn
        assert ("every user of this machine can read" in capsys.readouterr().err) is warns


def test_the_prompt_names_user_and_server(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return "typed"

    monkeypatch.setattr(address, "getpass", ask)
    found = destination(parse(DSN, "--user", "me\x1b[2J")).ask()
    assert isinstance(password := found.options.get("password"), Secret)
    assert (password.reveal(), found.may_ask) == ("typed", False)
    assert asked == [r"Password for me\x1b[2J at db1:9088: "]


def test_a_prompt_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr(address, "getpass", ask)
    with pytest.raises(InterfaceError, match=r"^password: missing"):
        destination(parse(DSN)).ask()


@pytest.mark.skipif(os.name != "posix", reason="file descriptors as paths")
def test_a_password_may_come_through_a_pipe() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"piped\n")
    os.close(writer)
    try:
        assert password_of(parse(DSN, "--password-file", f"/dev/fd/{reader}")) == "piped"
    finally:
        os.close(reader)


@pytest.mark.parametrize(
    ("content", "message"), [(None, "No such file"), (b"", "is empty"), (b"\xff", "not UTF-8 at byte 0")]
)
def test_a_file_that_cannot_be_read_is_named(content: bytes | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InterfaceError, match=rf"^--password-file: .*{message}"):
        destination(parse(DSN, "--password-file", str(file)))
    with pytest.raises(InterfaceError, match=rf"^ADDRESS: .*{message}"):
        destination(parse(f"@{file}"))


def test_a_terminal_is_looked_for_without_an_error() -> None:
    assert isinstance(real_has_terminal(), bool)


real_has_terminal: Any = address._has_terminal
