"""Parsers of the command line, and types of arguments that verbs share. Never: a connection."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, Final, NoReturn, TypeAlias

from aioifx.errors import visible

Verbs: TypeAlias = "argparse._SubParsersAction[Parser]"  # pyright: ignore[reportPrivateUsage] - it has no public name
"""What the verbs add their parsers to."""

Run: TypeAlias = Callable[[argparse.Namespace], int]
"""Runs a verb, and returns the exit code."""


VERBS: Final = {
    "changes": "print the committed changes of tables, as they happen",
    "check": "say which statements of a script the embedded server accepts",
    "completion": "print a script that completes command lines in bash, zsh or fish",
    "describe": "describe a table, view, synonym or sequence",
    "doctor": "find out step by step why a connection fails, and what a working one can do",
    "explain": "what error codes mean, and what to do",
    "load": "insert the rows of a file into a table: CSV, UNLOAD, Arrow, Parquet",
    "ping": "measure round trips to a server",
    "query": "run a statement, and print its rows",
    "run": "run the statements of scripts",
    "schema": "write the DDL of a database: SQL, JSON or SQLAlchemy models",
    "serve": "start an embedded server for tests",
    "shell": "type statements and commands in a terminal",
    "tables": "list the tables, views, synonyms and sequences of a database",
    "trace": "show a trace of the protocol as a conversation",
    "unload": "write the rows of a query into a file: CSV, UNLOAD, Arrow, Parquet",
    "verify": "try at a server what aioifx assumes of servers",
}
"""What each verb does, in a line. The module of its name in aioifx.cli is loaded on use."""
_INNER: Final = {"shell": "shell.shell"}
"""Modules of verbs in packages of their own."""


class Parser(argparse.ArgumentParser):
    """A parser in which options may stand between positional arguments, some of which may be missing.

    argparse's own would take SQL for the missing ADDRESS in ``query ADDRESS --limit 5 SQL``. Messages show no arguments
    that are not known, because one may be an address with a password.
    """

    _is_intermixed = False

    def parse_known_args(self, args: Any = None, namespace: Any = None, **options: Any) -> Any:
        if self._is_intermixed or self._subparsers is not None:
            return super().parse_known_args(args, namespace, **options)
        self._is_intermixed = True
        self.usage = self.usage or f"{self.prog} [OPTION ...] {self.positionals()}".rstrip()
        try:
            given, surplus = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_intermixed = False
        self.refuse(surplus)
        return given, surplus

    def refuse(self, surplus: Sequence[str]) -> None:
        """Exit because of arguments that are not known, if there are any."""
        option = next((one for one in surplus if one.startswith("-") and one != "-"), None)
        if option is not None:
            name = option.partition("=")[0]
            self.error(f"unknown option {visible(name):.40}{did_you_mean(name, self._option_string_actions)}")
        if surplus:
            self.error(f"too many arguments: expected {self.positionals()}")

    def arguments(self) -> list[argparse.Action]:
        """All of them, options as well."""
        return list(self._actions)

    def positionals(self) -> str:
        """The arguments that are not options, as in the usage."""
        names: list[str] = []
        for action in self._get_positional_actions():
            name = action.metavar if isinstance(action.metavar, str) else action.dest
            names.append(
                {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ..."}.get(str(action.nargs), name)
            )
        return " ".join(names)


def program_parser() -> Parser:
    """The parser of the program, without verbs."""
    parser = Parser(
        prog="aioifx",
        usage="aioifx COMMAND ...",
        description="An asyncio-native client for IBM Informix.",
        epilog="`aioifx COMMAND --help` shows examples and the options of each.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    return parser


def load_verbs(program: Parser, names: Iterable[str]) -> Verbs:
    """What the verbs add their parsers to, with the parsers of *names*."""
    verbs: Verbs = program.add_subparsers(
        prog="aioifx", required=True, metavar="COMMAND", parser_class=Parser
    )
    for name in names:
        import_module(f"aioifx.cli.{_INNER.get(name, name)}").add_parser(verbs)
    return verbs


class _Version(argparse.Action):
    """--version. To find the version out takes as long as all the rest of the program's start."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print("aioifx", version("aioifx"))
        except PackageNotFoundError:  # run from its source, not installed
            print("aioifx (not installed)")
        parser.exit()


def add_verb(verbs: Verbs, name: str, run: Run, *, description: str, epilog: str = "") -> Parser:
    """A parser for the verb *name*, which *run* runs.

    Args:
        epilog: shown as it is, before the options: examples.
    """
    parser = verbs.add_parser(
        name,
        help=VERBS.get(name),
        description=f"{description}\n\n{epilog}".rstrip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of a message about an unknown *name*: a suggestion from *names*, if one is similar."""
    from difflib import get_close_matches  # imported here because it is rarely needed

    close = get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]}?" if close else ""


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
