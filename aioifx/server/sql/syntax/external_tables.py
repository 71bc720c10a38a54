"""CREATE EXTERNAL TABLE. Never: the contents of a file, whether the server may open it.

Source: the grammar is documented (Guide to SQL: Syntax, CREATE EXTERNAL TABLE).
"""

from __future__ import annotations

from typing import Any, Final

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.tables import parse_column, parse_if_not_exists
from aioifx.server.sql.syntax.token_stream import TokenStream, parse_qualified_name

_NEWLINES: Final = ("\n", "\\n", "\\012", "")
_OCTAL: Final = 4
"""Characters of an octal number such as ``\\006``."""


def parse_create_external_table(s: TokenStream, offset: int) -> nodes.CreateExternalTable:
    """Read a CREATE EXTERNAL TABLE from the word EXTERNAL."""
    s.expect("external", "table")
    if_not_exists = parse_if_not_exists(s)
    table = parse_qualified_name(s)
    same_as = parse_qualified_name(s) if s.accept("sameas") else None
    columns = s.enclosed(_column) if same_as is None else ()
    s.expect("using")
    options = dict(s.enclosed(_option))
    if "datafiles" not in options:
        raise s.refusal()
    external = nodes.External(
        tuple(options["datafiles"]),
        str(options.get("delimiter", "|")),
        options.get("maxerrors"),
        str(options.get("rejectfile", "")),
    )
    return nodes.CreateExternalTable(offset, table, columns, same_as, external, if_not_exists)


def _column(s: TokenStream) -> nodes.ColumnDef:
    column = parse_column(s)
    if s.at_any("external", "null"):
        raise s.unsupported("FORMAT FIXED")
    if column.constraints:
        raise s.unsupported("CONSTRAINT of an external table")
    return column


def _option(s: TokenStream) -> tuple[str, Any]:
    """Read one option; returns its name and value."""
    start = s.token
    word = s.expect_any(*_OPTIONS).text
    match word:
        case "datafiles":
            return word, s.enclosed(_file)
        case "format":
            name = s.string().lower()
            if name not in ("delimited", "fixed", "informix"):
                raise s.refusal(start)
            if name != "delimited":
                raise s.unsupported(f"FORMAT {name.upper()}", start)
            return word, name
        case "delimiter":
            return word, _delimiter(s)
        case "recordend":
            if s.string() not in _NEWLINES:
                raise s.unsupported("RECORDEND", start)
            return word, None
        case "rejectfile":
            return word, s.string()
        case "maxerrors" | "size" | "numrows":
            return word, s.integer()
        case "escape":
            if s.expect_any("on", "off").text == "off":
                raise s.unsupported("ESCAPE OFF", start)
            return word, None
        case "dbdate" | "dbmoney" | "codeset":
            raise s.unsupported(word.upper(), start)
        case _:
            return word, None


_OPTIONS: Final = (
    "datafiles", "format", "delimiter", "recordend", "rejectfile", "maxerrors", "size", "numrows", "escape",
    "dbdate", "dbmoney", "codeset", "default", "express", "deluxe",
)  # fmt: skip


def _file(s: TokenStream) -> str:
    """Read ``'DISK:path'``; returns the path."""
    token = s.token
    kind, colon, path = s.string().partition(":")
    if not colon or kind.strip().lower() not in ("disk", "pipe"):
        raise s.refusal(token)
    if kind.strip().lower() == "pipe":
        raise s.unsupported("PIPE", token)
    if ";" in path:
        raise s.unsupported("BLOBDIR and CLOBDIR", token)
    if "%r" in path:
        raise s.unsupported("%r in a path", token)
    return path.strip()


def _delimiter(s: TokenStream) -> str:
    token = s.token
    text = s.string()
    if len(text) == _OCTAL and text.startswith("\\") and set(text[1:]) <= set("01234567"):
        text = chr(int(text[1:], 8))
    if len(text) != 1 or text in "\\\n\r " or text in "0123456789abcdefABCDEF":
        raise s.refusal(token)
    return text
