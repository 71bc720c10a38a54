"""INSERT, UPDATE and DELETE of the elements of a collection variable in SPL. Never: their meaning, other tables.

Source: documented (Guide to SQL: Syntax, "Collection-Derived Table"; Guide to SQL: Tutorial, "Update a collection
element", "Delete a collection element"). They have no WHERE clause but that of a cursor.
"""

from __future__ import annotations

from typing import Final

from aioifx.server.sql.syntax.nodes import Name
from aioifx.server.sql.syntax.spl_nodes import ChangeElements
from aioifx.server.sql.syntax.token_stream import TokenStream

_FORMS: Final = (
    ("insert", "into", "table", "("),
    ("insert", "at"),
    ("update", "table", "("),
    ("delete", "from", "table", "("),
)


def at_elements(s: TokenStream) -> bool:
    """Whether the next statement changes elements of a variable."""
    return any(s.at(*form) for form in _FORMS)


def parse_elements(s: TokenStream) -> ChangeElements:
    """Read a change of elements."""
    offset = s.token.offset
    if s.accept("insert"):
        position = s.grammar.value(s) if s.accept("at") else None
        s.expect("into")
        variable = _variable(s)
        s.expect("values", "(")
        value = s.grammar.value(s)
        s.expect(")")
        found = ChangeElements(offset, "insert", variable, value, position)
    elif s.accept("update"):
        variable = _variable(s)
        column = s.names_enclosed()
        s.expect("set")
        name = s.name()
        if [name.text] != [each.text for each in column]:
            raise s.refusal()
        s.expect("=")
        found = ChangeElements(offset, "update", variable, s.grammar.value(s), None, _cursor(s))
    else:
        s.expect("delete", "from")
        found = ChangeElements(offset, "delete", _variable(s), None, None, _cursor(s))
    s.expect(";")
    return found


def _variable(s: TokenStream) -> Name:
    s.expect("table", "(")
    name = s.name()
    s.expect(")")
    return name


def _cursor(s: TokenStream) -> Name | None:
    if not s.accept("where"):
        return None
    s.expect("current", "of")
    return s.name()
