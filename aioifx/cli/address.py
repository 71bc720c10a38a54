"""Where to connect, from a command line: ADDRESS, user, password, TLS, locales. Never: a socket.

Invariants:
1. No option takes a password, because every user of the machine can read command lines. For one in ADDRESS there is a
   warning.
2. Precedence of passwords: --password-file, the address, AIOIFX_PASSWORD, a prompt. The prompt comes when the server
   has refused the login without a password.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from getpass import getpass
from pathlib import Path
from typing import Final, NamedTuple

from aioifx.cli.parsing import Parser, seconds
from aioifx.client.config.dsn import Parts, split_dsn
from aioifx.client.config.options import OptionFields
from aioifx.client.config.password import Secret
from aioifx.client.config.resolve import resolve
from aioifx.errors import InterfaceError, visible

ADDRESS: Final = "AIOIFX_DSN"
"""The environment variable with the address, if the command line has none."""
PASSWORD: Final = "AIOIFX_PASSWORD"
"""The environment variable with the password."""

_MAX_FILE: Final = 65_536
"""Bytes that are read of a file with an address or a password."""


class Destination(NamedTuple):
    """The arguments of `aioifx.connect`."""

    dsn: str
    options: OptionFields
    may_ask: bool = False
    """Whether there is no password, and it may be asked for."""

    def ask(self) -> Destination:
        """The same with the password that the user types.

        Raises:
            InterfaceError: the prompt got no answer.
        """
        found = resolve(self.dsn, {**self.options, "row_factory": None})
        try:
            password = getpass(f"Password for {visible(found.user)} at {visible(found.destination)}: ")
        except EOFError:
            raise InterfaceError("password: missing; the prompt got no answer") from None
        return Destination(self.dsn, {**self.options, "password": Secret(password)})


def add_connection(parser: Parser, *, timeout: float | None = None) -> None:
    """Add ADDRESS and the options of a connection. ADDRESS comes before other positional arguments.

    Args:
        timeout: default of --timeout, the time limit in seconds for a call.
    """
    parser.add_argument(
        "address",
        nargs="?",
        metavar="ADDRESS",
        help="informix://user@host:port/database?server=name, a JDBC URL or an ODBC connection string; @FILE: the first"
        f" line of a file; left out: the environment variable {ADDRESS}",
    )
    group = parser.add_argument_group("connection")
    group.add_argument("--user", metavar="NAME", help="user, instead of the address's")
    password = group.add_mutually_exclusive_group()
    password.add_argument(
        "--password-file",
        metavar="FILE",
        type=Path,
        help=f"file whose first line is the password; without it: the address's, the environment variable's"
        f" {PASSWORD}, or the answer to a prompt, if the server wants one",
    )
    password.add_argument("--no-password", action="store_true", help="never ask for a password")
    group.add_argument("--ssl", action="store_true", default=None, help="use TLS, and verify the certificate")
    group.add_argument("--ssl-ca", metavar="FILE", help="PEM file of trusted authorities; turns TLS on")
    group.add_argument("--db-locale", metavar="LOCALE", help="locale of the database, such as en_US.utf8")
    group.add_argument("--client-locale", metavar="LOCALE", help="locale of the client")
    group.add_argument(
        "--connect-timeout", metavar="SECONDS", type=seconds, help="time limit for connecting (default 20)"
    )
    group.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        default=timeout,
        help=f"time limit for each call and each block of rows (default {timeout or 'none'})",
    )
    group.add_argument(
        "--trace",
        metavar="FILE",
        type=Path,
        help="append the messages of the protocol to FILE, without values",
    )


def destination(arguments: argparse.Namespace) -> Destination:
    """Where to connect, by the arguments of `add_connection`.

    Raises:
        InterfaceError: there is no address, or a file cannot be read.
    """
    dsn = _address(arguments.address)
    options: OptionFields = {"application_name": "aioifx"}
    for name in ("user", "ssl", "ssl_ca", "db_locale", "client_locale", "connect_timeout", "trace"):
        if (value := getattr(arguments, name)) is not None:
            options[name] = value
    if arguments.timeout is not None:
        options["command_timeout"] = arguments.timeout
    parts = _parts_of(dsn)
    if "application_name" in parts.options:
        del options["application_name"]
    if (password := _password(arguments, parts)) is not None:
        options["password"] = Secret(password)
    has_password = password is not None or "password" in parts.options
    return Destination(dsn, options, not (has_password or arguments.no_password) and _has_terminal())


def take_operands(arguments: argparse.Namespace, name: str) -> list[str]:
    """The arguments after ADDRESS, of which the first was taken for ADDRESS if that is left out.

    Args:
        name: of the argument in *arguments*, a list.
    """
    operands: list[str] = [*getattr(arguments, name)]
    if arguments.address is not None and not _is_address(arguments.address):
        operands.insert(0, arguments.address)
        arguments.address = None
    return operands


def _is_address(text: str) -> bool:
    """Whether a text has the form of an address: a file of one, a URL or an ODBC connection string."""
    return text.startswith("@") or "://" in text or text[:5].lower() == "jdbc:" or "=" in text


def _address(given: str | None) -> str:
    if given is None:
        if not (found := os.environ.get(ADDRESS)):
            raise InterfaceError(f"ADDRESS: missing, and the environment variable {ADDRESS} is not set")
        return found
    if given.startswith("@"):
        path = Path(given[1:])
        found = first_line("ADDRESS", path)
        if "password" in _parts_of(found).options:
            _warn_of_readers(path)
        return found
    if "password" in _parts_of(given).options:
        _warn(
            "every user of this machine can read the password in ADDRESS in the list of processes; "
            f"set {PASSWORD}, use --password-file, or put the address into {ADDRESS} or a file (@FILE)"
        )
    return given


def _parts_of(dsn: str) -> Parts:
    """The parts of an address; none if it is invalid, which `connect` reports."""
    try:
        return split_dsn(dsn)
    except InterfaceError:
        return Parts({}, {})


def _password(arguments: argparse.Namespace, parts: Parts) -> str | None:
    if arguments.password_file is not None:
        password = first_line("--password-file", arguments.password_file)
        _warn_of_readers(arguments.password_file)
        return password
    if "password" in parts.options:
        return None
    return os.environ.get(PASSWORD)


def _warn_of_readers(path: Path) -> None:
    """Warn if every user of this machine can read a file with a password.

    It is used nevertheless: the secrets of containers often have such permissions.
    """
    try:
        mode = path.stat().st_mode
    except OSError:  # such as a file descriptor that has been closed meanwhile
        return
    if os.name == "posix" and stat.S_ISREG(mode) and mode & stat.S_IROTH:
        _warn(f"every user of this machine can read {path}; chmod 600 it")


def _warn(text: str) -> None:
    print(f"aioifx: warning: {text}", file=sys.stderr)


def first_line(option: str, path: Path) -> str:
    """The first line of a file in UTF-8.

    Args:
        option: what the file was given for, for messages.

    Raises:
        InterfaceError: it cannot be read, or the line is empty.
    """
    try:
        with path.open("rb") as file:
            line = file.read(_MAX_FILE).decode("utf-8-sig").partition("\n")[0].rstrip("\r")
    except OSError as error:
        raise InterfaceError(f"{option}: {error.strerror}: {path}") from None
    except UnicodeDecodeError as error:  # its own message would show bytes of the file
        raise InterfaceError(f"{option}: {path} is not UTF-8 at byte {error.start}") from None
    if not line:
        raise InterfaceError(f"{option}: the first line of {path} is empty")
    return line


def _has_terminal() -> bool:
    """Whether a password can be asked for. A redirected stdin does not matter, where there is a terminal."""
    if os.name != "posix":
        return sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
