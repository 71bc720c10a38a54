"""Dynamic SQL in a routine: PREPARE, DECLARE, OPEN, FETCH, CLOSE, FREE. Never: the text of a prepared statement.

Source: the grammar is documented (Guide to SQL: Syntax, the statements of these names, in SPL).
"""

from __future__ import annotations

from typing import Final

from aioifx.server.sql.syntax.spl_nodes import (
    DeclareCursor,
    Dynamic,
    EndCursor,
    FetchCursor,
    OpenCursor,
    Prepare,
)
from aioifx.server.sql.syntax.token_stream import TokenStream

DYNAMIC: Final = ("prepare", "declare", "open", "fetch", "close", "free")
"""The first words of the statements."""


def parse_dynamic(s: TokenStream) -> Dynamic:
    """Read a statement that begins with one of `DYNAMIC`."""
    statement = _statement(s)
    s.expect(";")
    return statement


def _statement(s: TokenStream) -> Dynamic:
    verb = s.expect_any(*DYNAMIC)
    name = s.name()
    match verb.text:
        case "prepare":
            s.expect("from")
            return Prepare(verb.offset, name, s.grammar.value(s))
        case "declare":
            s.expect("cursor")
            hold = s.accept("with", "hold") is not None
            s.expect("for")
            return DeclareCursor(verb.offset, name, s.name(), hold)
        case "open":
            return OpenCursor(verb.offset, name, s.listed(TokenStream.name) if s.accept("using") else ())
        case "fetch":
            s.expect("into")
            return FetchCursor(verb.offset, name, s.listed(TokenStream.target))
        case _:
            return EndCursor(verb.offset, "close" if verb.text == "close" else "free", name)
