"""A statement and its parameters from a command line. Never: a connection, results.

Parameters are text. If the server describes the type of a placeholder, the text is read as LOAD reads it. Numbers have
a decimal point, dates are 2026-01-31, BYTE and BLOB are hexadecimal. Text in another form is sent unchanged, and the
server converts or rejects it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from aioifx.cli.parsing import Parser
from aioifx.client.sql.placeholders import ByName, named_statement
from aioifx.codecs.large_objects import is_character_object, is_smart_object
from aioifx.codecs.value_text import parser_for
from aioifx.errors import DataError, InterfaceError, NotSupportedError
from aioifx.sqltypes import SqlType, Value

_SQL: Final = "one SQL statement; @FILE: from a file; -: from stdin"


class Parameters(NamedTuple):
    """A statement with placeholders, and the texts of its parameters; None for NULL."""

    sql: str
    texts: Sequence[str | None]

    def values(self, types: Sequence[SqlType | None]) -> tuple[Value, ...]:
        """The values of the parameters, if the server describes them as *types*."""
        if len(types) != len(self.texts):
            return tuple(self.texts)  # refused by the call
        values = tuple(
            None if text is None else _value(text, sql_type)
            for text, sql_type in zip(self.texts, types, strict=True)
        )
        if isinstance(self.texts, ByName):
            by_name = ByName(values)
            by_name.names = self.texts.names
            return by_name
        return values


def add_statement(parser: Parser, name: str = "sql", help: str = _SQL) -> None:
    """Add SQL and the options for its parameters.

    Args:
        name: of the argument.
    """
    parser.add_argument(name, metavar=name.upper(), help=help)
    group = parser.add_argument_group(
        "parameters",
        "A value is written as text, and its parameter's type decides how: 1.50, 2026-01-31,\n"
        "'2026-01-31 10:00:00', t or f; BYTE and BLOB in hexadecimal.",
    )
    group.add_argument(
        "--param",
        metavar="TEXT",
        action="append",
        dest="params",
        help="value of the next ?; --param=-x for a text with a leading minus",
    )
    group.add_argument(
        "--param-null", action="append_const", const=None, dest="params", help="NULL for the next ?"
    )
    group.add_argument(
        "--named", metavar="NAME=TEXT", action="append", type=_named, help="value of :NAME, or of :1"
    )
    group.add_argument(
        "--named-null",
        metavar="NAME",
        action="append",
        type=lambda name: (name, None),
        dest="named",
        help="NULL for :NAME",
    )


def _named(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"expected NAME=TEXT, got {text!r:.40}")
    return name, value


def statement_of(arguments: argparse.Namespace, sql: str) -> Parameters:
    """The statement of the arguments of `add_statement`.

    Args:
        sql: the argument itself.

    Raises:
        OSError: a file cannot be read.
        InterfaceError: a file is not UTF-8, or values and placeholders do not match.
    """
    text = _sql_of(sql)
    params: list[str | None] = arguments.params or []
    named: list[tuple[str, str | None]] = arguments.named or []
    if not named:
        return Parameters(text, params)
    if params:
        raise InterfaceError("--named: cannot be combined with --param")
    by_name = dict(named)
    if len(by_name) < len(named):
        raise InterfaceError("--named: a name is given twice")
    statement = named_statement(text)
    return Parameters(statement.sql, statement.values(by_name))


def _sql_of(given: str) -> str:
    text = text_of(given.removeprefix("@"), "SQL") if given == "-" or given.startswith("@") else given
    # A semicolon ends a statement in scripts, but does not belong to its SQL.
    return text.rstrip().removesuffix(";")


def text_of(path: str, what: str) -> str:
    """The text of a file in UTF-8; of stdin for ``-``.

    Args:
        what: the argument, for messages.

    Raises:
        OSError: the file cannot be read.
        InterfaceError: it is not UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        source = "stdin" if path == "-" else path
        raise InterfaceError(f"{what}: {source} is not UTF-8 at byte {error.start}") from None


def _value(text: str, sql_type: SqlType | None) -> Value:
    if sql_type is None:
        return text
    if is_smart_object(sql_type) and not is_character_object(sql_type):
        parse: Callable[[str], Any] = bytes.fromhex
    else:
        try:
            parse = parser_for(sql_type)
        except NotSupportedError:
            return text
    try:
        return parse(text)
    except (DataError, ValueError):
        return text
