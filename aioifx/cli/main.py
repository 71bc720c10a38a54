"""The command line as a whole: verbs, interrupts, broken pipes, exit codes. Never: what a verb does.

Exit codes: 0 done; 1 failed; 2 the command line or an option is wrong; 3 no connection, or a lost one; 130 interrupted.
141: the reader of the output has ended, as `head` does. 143: SIGTERM.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Final, TextIO

from aioifx.cli import check, doctor, explain, load, ping, query, trace, unload, verify
from aioifx.cli.failures import FAILED, INTERRUPTED, PIPE, exit_code_of, report
from aioifx.cli.output import prepare_streams
from aioifx.cli.parsing import Parser
from aioifx.errors import Error

_VERBS: Final = (check, doctor, explain, load, ping, query, trace, unload, verify)
"""Modules of verbs, each with a function ``add_parser(verbs)``."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line. An invalid one exits, as in argparse.

    Args:
        arguments: None for those of the process.

    Returns:
        The exit code.
    """
    prepare_streams()
    given = _parser().parse_args(arguments)
    try:
        code: int = given.run(given)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Error as error:
        report(error)
        return exit_code_of(error)
    except OSError as error:
        if _is_broken_pipe(error):
            _discard(sys.stdout)
            return PIPE
        report(error)
        return FAILED


def _parser() -> Parser:
    parser = Parser(prog="aioifx", description="An asyncio-native client for IBM Informix.")
    parser.add_argument("--version", action="version", version=f"aioifx {_version()}")
    verbs = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for verb in _VERBS:
        verb.add_parser(verbs)
    return parser


def _version() -> str:
    try:
        return version("aioifx")
    except PackageNotFoundError:  # run from its source, not installed
        return "(not installed)"


def _is_broken_pipe(error: OSError) -> bool:
    # Windows reports EINVAL.
    return isinstance(error, BrokenPipeError) or (sys.platform == "win32" and error.errno == errno.EINVAL)


def _discard(file: TextIO) -> None:
    """Send the rest of *file* nowhere, or Python would complain about it at exit.

    Source: documented: Python's library reference, "Note on SIGPIPE"
    """
    try:
        descriptor = file.fileno()
    except (OSError, ValueError):  # not a file of the operating system
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
