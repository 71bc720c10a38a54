"""The command line as a whole: verbs, interrupts, broken pipes, exit codes. Never: what a verb does.

Exit codes: 0 done; 1 failed; 2 the command line or an option is wrong; 3 no connection, or a lost one; 130 interrupted.
141: the reader of the output has ended, as `head` does. 143: SIGTERM.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from aioifx.cli.failures import FAILED, INTERRUPTED, PIPE, exit_code_of, report
from aioifx.cli.output import prepare_streams
from aioifx.cli.parsing import VERBS, Parser, did_you_mean, load_verbs, program_parser
from aioifx.errors import Error, visible


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line. An invalid one exits, as in argparse.

    Args:
        arguments: None for those of the process.

    Returns:
        The exit code.
    """
    prepare_streams()
    given = _parse(sys.argv[1:] if arguments is None else arguments)
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


def _parse(line: Sequence[str]) -> argparse.Namespace:
    """The arguments of the verb that a line begins with. Only the module of that verb is loaded."""
    if line and line[0] in VERBS:
        parser: Parser = load_verbs(program_parser(), line[:1]).choices[line[0]]
        given: argparse.Namespace = parser.parse_args(line[1:])
        return given
    program = program_parser()
    verbs = load_verbs(program, ())
    for name, what in VERBS.items():
        verbs.add_parser(name, help=what)
    if line and not line[0].startswith("-"):
        program.error(f"unknown command {visible(line[0]):.40}{did_you_mean(line[0], VERBS)}")
    options = [name for action in program.arguments() for name in action.option_strings]
    if line and not any(name.startswith(line[0]) for name in options):
        program.refuse(line)
    program.parse_args(line)  # exits: --help or --version, or it is wrong
    raise AssertionError("unreachable")


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
