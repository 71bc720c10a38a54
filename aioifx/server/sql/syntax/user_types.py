"""CREATE ROW TYPE, CREATE DISTINCT TYPE, DROP TYPE. Never: whether a type exists.

Source: the grammar is documented (Guide to SQL: Syntax, the statements of these names).
"""

from __future__ import annotations

from aioifx.server.sql.complex_types import row_of
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax.nodes import CreateDistinctType, CreateRowType, DropType, Statement
from aioifx.server.sql.syntax.token_stream import TokenStream, parse_qualified_name
from aioifx.server.sql.syntax.types import parse_row_fields, parse_type


def parse_create_type(s: TokenStream, offset: int) -> Statement:
    """Read CREATE ROW TYPE or CREATE DISTINCT TYPE from the word after CREATE."""
    is_row = s.advance().text == "row"
    s.expect("type")
    if_not_exists = s.accept("if", "not", "exists") is not None
    name = parse_qualified_name(s)
    if not is_row:
        s.expect("as")
        return CreateDistinctType(offset, name, parse_type(s), if_not_exists)
    fields = parse_row_fields(s) if s.at("(") else ()
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        raise SqlError(-328, token=max(names, key=names.count), offset=offset)
    row = (
        row_of(names, [field.type for field in fields], [field.is_required for field in fields])
        if fields
        else None
    )
    supertype = parse_type(s) if s.accept("under") else None
    if row is None and supertype is None:
        raise s.refusal()
    return CreateRowType(offset, name, row, supertype, if_not_exists)


def parse_drop_type(s: TokenStream, offset: int) -> Statement:
    """Read DROP ROW TYPE or DROP TYPE from the word after DROP; RESTRICT is required (documented)."""
    is_row = s.accept("row") is not None
    s.expect("type")
    if_exists = s.accept("if", "exists") is not None
    name = parse_qualified_name(s)
    s.expect("restrict")
    return DropType(offset, name, is_row, if_exists)
