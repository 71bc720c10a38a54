"""aioifx shell: SQL and commands typed in a terminal. Never: what a command does; prompt_toolkit is loaded on use."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import Any

from aioifx.cli.address import add_connection, destination
from aioifx.cli.output import is_terminal
from aioifx.cli.parsing import Verbs, add_verb, examples
from aioifx.cli.session import asking, run_until_signal
from aioifx.cli.statement import text_of
from aioifx.errors import InterfaceError


def add_parser(verbs: Verbs) -> None:
    """Add the verb."""
    parser = add_verb(
        verbs,
        "shell",
        run,
        description="Type statements and commands in a terminal. \\? lists the commands, \\q ends.\n"
        "It needs aioifx[cli]. If stdin is not a terminal, it is run as a script, which needs nothing.",
        epilog=examples(
            "aioifx shell 'informix://app@db1:9088/shop?server=ol_shop'",
            "aioifx shell @dsn.txt < report.sql",
        ),
    )
    add_connection(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    if not is_terminal(sys.stdin):
        from aioifx.cli.shell.script import run_script

        text = text_of("-", "stdin")
        return asking(destination(arguments), lambda where: run_until_signal(run_script(where, text)))
    if not is_terminal(sys.stdout):
        raise InterfaceError("stdout: expected a terminal; use `aioifx query`, or \\o FILE in the shell")
    terminal = _terminal()
    return asking(destination(arguments), lambda where: run_until_signal(terminal.run(where)))


def _terminal() -> Any:
    """The module that reads from a terminal.

    Raises:
        InterfaceError: prompt_toolkit or pygments is not installed.
    """
    try:
        import_module("prompt_toolkit")
        import_module("pygments")
    except ImportError:
        raise InterfaceError(
            "the shell needs prompt_toolkit and pygments: pip install 'aioifx[cli]'; without them,"
            " `aioifx query` runs a statement, and `aioifx shell < FILE` a script"
        ) from None
    return import_module("aioifx.cli.shell.terminal")
