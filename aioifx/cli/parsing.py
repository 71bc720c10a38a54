"""Parsers of the command line, and types of arguments that verbs share. Never: a connection."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, TypeAlias

Verbs: TypeAlias = "argparse._SubParsersAction[Parser]"  # pyright: ignore[reportPrivateUsage] - it has no public name
"""What the verbs add their parsers to."""

Run: TypeAlias = Callable[[argparse.Namespace], int]
"""Runs a verb, and returns the exit code."""


class Parser(argparse.ArgumentParser):
    """A parser in which options may stand between positional arguments, some of which may be missing.

    argparse's own would take SQL for the missing ADDRESS in ``query ADDRESS --limit 5 SQL``.
    """

    _is_intermixed = False

    def parse_known_args(self, args: Any = None, namespace: Any = None, **options: Any) -> Any:
        if self._is_intermixed or self._subparsers is not None:
            return super().parse_known_args(args, namespace, **options)
        self._is_intermixed = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_intermixed = False


def add_verb(verbs: Verbs, name: str, run: Run, *, help: str, description: str, epilog: str = "") -> Parser:
    """A parser for the verb *name*, which *run* runs.

    Args:
        epilog: shown after the options as it is: examples.
    """
    parser = verbs.add_parser(
        name,
        help=help,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def seconds(text: str) -> float:
    """The type of an argument in seconds: above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got {text!r}")
    return number


def whole(text: str) -> int:
    """The type of an argument that counts: 1 or more."""
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, got {text!r}")
    return int(text)


def examples(*lines: str) -> str:
    """The epilog with these command lines."""
    return "\n".join(["examples:", *(f"  {line}" for line in lines)])
