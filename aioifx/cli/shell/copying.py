"""The command copy: files into tables and rows into files, as `aioifx load` and `aioifx unload` do. Never: formats."""

from __future__ import annotations

import argparse
import re
from typing import Any, Final, NoReturn

from aioifx.cli import load, unload
from aioifx.cli.parsing import Parser
from aioifx.cli.shell.state import words
from aioifx.client.api.connection import Connection
from aioifx.client.sql.scanner import TOKEN
from aioifx.errors import InterfaceError

USAGE: Final = "TABLE [(COLUMNS)] from FILE | {TABLE [(COLUMNS)] | (QUERY)} to FILE [OPTIONS]"
_TARGET: Final = re.compile(
    r"""(?P<table>(?:"[^"]*"|[^\s("])+)\s*(?:\((?P<columns>[^)]*)\)\s*|\s)(?=from\b|to\b)""", re.IGNORECASE
)
_FILE: Final = re.compile(r"\s*(?P<way>from|to)\s+(?P<rest>\S.*)", re.IGNORECASE)


async def copy(conn: Connection[Any], text: str) -> None:
    """Copy as *text* says: the arguments of ``\\copy``.

    Raises:
        InterfaceError: it is not of the form `USAGE`, or an option is wrong.
    """
    query = _query(text)
    found = None if query else _TARGET.match(text)
    end = len(query) if query else found.end() if found else 0
    file = _FILE.fullmatch(text, end)
    if file is None or (query and file["way"].lower() == "from"):
        raise InterfaceError(f"\\copy: expected {USAGE}")
    columns = ",".join(map(str.strip, (found["columns"] or "").split(","))) if found else ""
    given = words("\\copy", file["rest"])
    if file["way"].lower() == "from":
        assert found is not None
        if given[0] == "-":
            raise InterfaceError("\\copy: expected the name of a file, got '-'; `aioifx load` reads stdin")
        if columns:
            given += ["--columns", columns]
        await load.load_by(conn, _arguments(load, [found["table"], *given]))
    else:
        sql = query[1:-1] if query else f"SELECT {columns or '*'} FROM {found['table'] if found else ''}"
        await unload.unload_by(conn, _arguments(unload, [sql, *given]))


def _query(text: str) -> str:
    """The query in parentheses that *text* begins with, with them; empty if there is none."""
    depth = 0
    for token in TOKEN.finditer(text):
        depth += (token[0] == "(") - (token[0] == ")")
        if depth == 0:
            return text[: token.end()] if token[0] == ")" else ""
    return ""


def _arguments(verb: Any, given: list[str]) -> argparse.Namespace:
    """The arguments of a verb; the address, which comes first, is not used."""
    parser = _Parser()
    verb.add_parser(parser.add_subparsers(parser_class=_Parser))
    return parser.parse_args([verb.__name__.rpartition(".")[2], "-", *given])


class _Parser(Parser):
    """A parser whose errors do not end the shell."""

    def error(self, message: str) -> NoReturn:
        raise InterfaceError(f"\\copy: {message}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise InterfaceError(f"\\copy: expected {USAGE}")  # after --help
