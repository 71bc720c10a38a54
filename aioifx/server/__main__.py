"""python -m aioifx.server: options, signals, a line of output once it listens. Never: a session."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from aioifx.errors import Error, InterfaceError
from aioifx.server.host.descriptors import allow_descriptors
from aioifx.server.host.options import ServerOptions
from aioifx.server.host.server import serve
from aioifx.server.sqlite.databases import DEFAULT_LOCALE, LogMode

_DEFAULTS: Final = ServerOptions()

PASSWORD: Final = "AIOIFX_SERVER_PASSWORD"
"""The environment variable that holds the password when no option gives it."""


DESCRIPTION: Final = "An Informix server for tests: speaks SQLI, stores its data in SQLite files."


def parse_arguments(arguments: Sequence[str] | None = None) -> ServerOptions:
    """Parse a command line; an invalid option exits the program, as with argparse."""
    parser = argparse.ArgumentParser(prog="python -m aioifx.server", description=DESCRIPTION)
    add_options(parser)
    return options_of(parser, parser.parse_args(arguments))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a server."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    parser.add_argument("--port", type=int, default=9088, help="0 for any free port (default %(default)s)")
    parser.add_argument(
        "--database",
        action="append",
        metavar="NAME[:LOCALE]",
        help="created if it does not exist; repeatable; sysmaster always exists (default demo)",
    )
    parser.add_argument("--user", help="the only user that may log in (default: any)")
    parser.add_argument("--password", action=_Refused, help=argparse.SUPPRESS)
    parser.add_argument(
        "--password-file",
        type=Path,
        metavar="FILE",
        help=f"file whose first line is that user's password (default: environment variable {PASSWORD}, or any)",
    )
    parser.add_argument("--server-name", help="the only DBSERVERNAME that is accepted (default: any)")
    parser.add_argument(
        "--log-mode",
        type=LogMode,
        choices=list(LogMode),
        default=LogMode.LOGGED,
        help="log mode of databases that are created (default %(default)s)",
    )
    parser.add_argument(
        "--db-locale",
        default=DEFAULT_LOCALE,
        help="locale of databases created without LOCALE, and of clients without DB_LOCALE (default %(default)s)",
    )
    parser.add_argument(
        "--directory", type=Path, metavar="DIR", help="directory of the databases (default: a temporary one)"
    )
    parser.add_argument(
        "--read-only",
        action="store_true",
        help="look at a copy of the directory: nothing in it changes, and changes by clients are refused",
    )
    parser.add_argument(
        "--seed", type=Path, metavar="SCRIPT.sql", help="SQL script to run in the first database at startup"
    )
    parser.add_argument(
        "--login-timeout",
        type=float,
        default=_DEFAULTS.login_timeout,
        metavar="SECONDS",
        help="time limit for a client's TLS handshake, and for its login (default %(default)g)",
    )
    parser.add_argument(
        "--busy-timeout",
        type=float,
        default=_DEFAULTS.busy_timeout,
        metavar="SECONDS",
        help="time that a statement waits while another session writes to the file (default %(default)g)",
    )
    parser.add_argument(
        "--max-sessions",
        type=int,
        default=_DEFAULTS.max_sessions,
        metavar="N",
        help="maximum number of concurrent sessions (default %(default)s)",
    )
    parser.add_argument(
        "--sort-memory",
        type=int,
        default=_DEFAULTS.sort_memory,
        metavar="BYTES",
        help="memory of a session for sorting, and for pages of its database (default %(default)s)",
    )
    parser.add_argument(
        "--quirks",
        nargs="+",
        default=(),
        metavar="NAME",
        help="differences of other servers; see aioifx.server.Quirk",
    )
    parser.add_argument("--verbose", action="store_true", help="log sessions")


def options_of(parser: argparse.ArgumentParser, given: argparse.Namespace) -> ServerOptions:
    """The options of a server; an invalid one exits the program, as with argparse."""
    logging.basicConfig(level=logging.INFO if given.verbose else logging.WARNING)
    seed = _text_of(parser, "--seed", given.seed)
    password = os.environ.get(PASSWORD)
    if given.password_file is not None:
        password = (_text_of(parser, "--password-file", given.password_file) or "").partition("\n")[0]
    try:
        return _options(given, seed, password)
    except InterfaceError as error:
        option, _, what = str(error).partition(":")
        parser.error(f"--{option.replace('_', '-')}:{what}")


class _Refused(argparse.Action):
    """--password: every user of the machine could read it in the list of processes."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        parser.error(f"--password: expected --password-file FILE, or the environment variable {PASSWORD}")


def _text_of(parser: argparse.ArgumentParser, option: str, path: Path | None) -> str | None:
    try:
        return None if path is None else path.read_text(encoding="utf-8-sig")
    except OSError as error:
        parser.error(f"{option}: {error}")
    except UnicodeDecodeError as error:  # its own message would show bytes of the file
        parser.error(f"{option}: {path} is not UTF-8 at byte {error.start}")


def _options(given: argparse.Namespace, seed: str | None, password: str | None) -> ServerOptions:
    return ServerOptions(
        databases=tuple(given.database or (() if given.read_only else ("demo",))),
        host=given.host,
        port=given.port,
        user=given.user,
        password=password,
        server_name=given.server_name,
        log_mode=given.log_mode,
        directory=given.directory,
        read_only=given.read_only,
        seed=seed,
        db_locale=given.db_locale,
        login_timeout=given.login_timeout,
        busy_timeout=given.busy_timeout,
        max_sessions=given.max_sessions,
        sort_memory=given.sort_memory,
        quirks=given.quirks,
    )


async def main(options: ServerOptions) -> None:
    """Serve until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError):  # Windows; there SIGINT is a KeyboardInterrupt
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
    async with serve(options) as server:
        if server.max_sessions < options.max_sessions:
            print(
                f"max_sessions: {server.max_sessions}, by the limit of open files",
                file=sys.stderr,
                flush=True,
            )
        print(f"aioifx.server is ready: {server.printable_dsn}", flush=True)
        await stop.wait()


def run(options: ServerOptions) -> str | None:
    """Serve until SIGINT or SIGTERM.

    Returns:
        Why the server cannot start; None after the end.
    """
    try:
        allow_descriptors()
        asyncio.run(main(options))
    except KeyboardInterrupt:
        pass
    except (Error, OSError, ValueError) as error:
        return "\n".join([f"aioifx.server cannot start: {error}", *getattr(error, "__notes__", ())])
    return None


if __name__ == "__main__":
    sys.exit(run(parse_arguments()))
