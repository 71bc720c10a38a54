"""Errors as text for people, and the exit codes. Never: a traceback, what a verb does."""

from __future__ import annotations

import sys
from typing import Final

from aioifx.errors import ConnectError, ConnectionLost, DatabaseError, InterfaceError, visible

FAILED: Final = 1
"""The statement failed, or what was asked is not so."""
USAGE: Final = 2
"""The command line, an address or an option is wrong; as in argparse."""
CONNECTION: Final = 3
"""No connection was opened, or it was lost."""
INTERRUPTED: Final = 130
"""Ctrl-C, as in shells: 128 + SIGINT."""
PIPE: Final = 141
"""The reader of the output has ended, as in shells: 128 + SIGPIPE."""
TERMINATED: Final = 143
"""128 + SIGTERM, likewise."""


def report(error: BaseException) -> None:
    """Print an error to stderr: message, codes, the place in the SQL, and how to learn more."""
    lines = error_lines(error)
    lines[0] = f"aioifx: {lines[0]}"
    if isinstance(error, DatabaseError) and error.sqlcode:
        codes = f"{error.sqlcode} {error.isamcode}" if error.isamcode else str(error.sqlcode)
        lines.append(f"`aioifx explain {codes}` tells more")
    print("\n".join(lines), file=sys.stderr)


def error_lines(error: BaseException) -> list[str]:
    """The message of an error, and its notes, among them the place in the SQL."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    lines = [visible(text) or type(error).__name__]
    for note in getattr(error, "__notes__", ()):
        if getattr(error, "sql", None):
            from aioifx.cli.passwords import (
                note_without_secrets,  # here, because the other errors do not need it
            )

            note = note_without_secrets(error, note)
        lines += [visible(line) for line in str(note).splitlines()]
    return lines


def exit_code_of(error: BaseException) -> int:
    """The exit code of an error that ends a verb."""
    if isinstance(error, InterfaceError):
        return USAGE
    if isinstance(error, (ConnectError, ConnectionLost)):
        return CONNECTION
    return FAILED
