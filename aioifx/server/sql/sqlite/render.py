"""SQLite's SQL: the text of a tree. Never: reading a text. Nothing else in the package writes SQL from a tree."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias

from aioifx.server.sql.sqlite import tree
from aioifx.server.sql.sqlite.tree import Node, Reference, Value

Bound: TypeAlias = tuple[Value, ...] | dict[str, Value]
"""Values of parameters, as the sqlite3 module takes them."""


def identifier(name: str) -> str:
    """A name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def identifiers(names: Iterable[str]) -> str:
    """Names in double quotes, with commas between them."""
    return ", ".join(map(identifier, names))


def string(value: str) -> str:
    """A text literal. SQLite's parser stops at a NUL, so a text with a NUL is written as bytes."""
    if "\x00" in value:
        return f"CAST(X'{value.encode().hex()}' AS TEXT)"
    return "'" + value.replace("'", "''") + "'"


def collate(collation: str) -> str:
    """The clause COLLATE; empty without a collation."""
    return f" COLLATE {collation}" if collation else ""


def render(node: Node) -> str:
    """The text of a tree."""
    return "".join(map(_text_of, _pieces(node)))


def template(node: Node) -> tuple[str, ...]:
    """The text of a tree over the columns of one table, to be stored: text, column, text, .., text.

    A column can be renamed in it. `filled` makes it a text.
    """
    found = [""]
    for piece in _pieces(node):
        if isinstance(piece, tree.Column):
            found += (piece.name, "")
        else:
            found[-1] += _text_of(piece)
    return tuple(found)


def filled(parts: Sequence[str], row: str = "") -> str:
    """The text of a `template` whose columns are those of *row*, such as ``NEW``."""
    prefix = f"{row}." if row else ""
    return "".join(prefix + identifier(part) if number % 2 else part for number, part in enumerate(parts))


class Composed:
    """A tree with its text, to be run; the text is made when it is first read."""

    def __init__(self, node: Node) -> None:
        self.tree = node

    @cached_property
    def _pieces(self) -> list[_Piece]:
        return _pieces(self.tree)

    @cached_property
    def text(self) -> str:
        """The text."""
        return "".join(map(_named_text_of if NUMBERS_ARE_NAMES else _text_of, self._pieces))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Composed) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        raise TypeError(f"text of a statement without Composed.text: {self!r}")

    def __repr__(self) -> str:
        return f"Composed({self.text!r})"

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """The stored tables that it reads, each alias once; not the table that an UPDATE or DELETE changes."""
        return tuple(dict.fromkeys(each for each in self._pieces if isinstance(each, Reference)))

    @cached_property
    def _numbers(self) -> frozenset[int]:
        return frozenset(each.number for each in self._pieces if isinstance(each, tree.Parameter))

    @cached_property
    def _highest(self) -> int:
        return max(self._numbers, default=0)

    def bound(self, values: tuple[Value, ...]) -> Bound:
        """Those of *values* that SQLite expects: up to the highest ``?N``, or by name."""
        if NUMBERS_ARE_NAMES:
            return {f"p{number}": values[number - 1] for number in self._numbers}
        return values[: self._highest]


# --- Writing ----------------------------------------------------------------------------------------------------------

NUMBERS_ARE_NAMES: Final = (3, 12) <= sys.version_info[:3] < (3, 12, 4)
"""Whether the sqlite3 module treats ?1 as a name, and warns about a sequence of values (measured on 3.12.1)."""

_Piece: TypeAlias = str | tree.Column | tree.Parameter | Reference
_Put: TypeAlias = Callable[[_Piece], object]


def _pieces(node: Node) -> list[_Piece]:
    """A text in pieces; those that are read again are nodes."""
    pieces: list[_Piece] = []
    _write(node, pieces.append)
    return pieces


def _text_of(piece: _Piece) -> str:
    match piece:
        case str():
            return piece
        case tree.Column():
            name = identifier(piece.name) if piece.is_quoted else piece.name
            return f"{piece.alias}.{name}" if piece.alias else name
        case tree.Parameter():
            return f"?{piece.number}"
        case Reference():
            return f"{piece.source} AS {piece.alias}"


def _named_text_of(piece: _Piece) -> str:
    return f":p{piece.number}" if isinstance(piece, tree.Parameter) else _text_of(piece)


def _write(node: Node, put: _Put) -> None:
    _WRITERS[type(node)](node, put)


def _leaf(node: tree.Column | tree.Parameter | Reference, put: _Put) -> None:
    put(node)


def _literal(node: tree.Literal, put: _Put) -> None:
    value = node.value
    if value is None:
        put("NULL")
    elif isinstance(value, str):
        put(string(value))
    elif isinstance(value, bytes):
        put(f"x'{value.hex()}'")
    else:
        put(repr(value))


def _items(nodes: Iterable[Node], put: _Put, separator: str = ", ") -> None:
    is_first = True
    for node in nodes:
        if not is_first:
            put(separator)
        is_first = False
        _write(node, put)


def _call(node: tree.Call, put: _Put) -> None:
    put(f"{node.name}(")
    _items(node.arguments, put)
    put(")")


def _operation(node: tree.Operation, put: _Put) -> None:
    put("(")
    _write(node.left, put)
    put(f" {node.operator} ")
    _write(node.right, put)
    put(")")


def _collated(node: tree.Collated, put: _Put) -> None:
    _write(node.operand, put)
    put(f" COLLATE {node.collation}")


def _logic(node: tree.Logic, put: _Put) -> None:
    put("(")
    _items(node.operands, put, f" {node.operator} ")
    put(")")


def _not(node: tree.Not, put: _Put) -> None:
    put("(NOT ")
    _write(node.operand, put)
    put(")")


def _is(node: tree.Is, put: _Put) -> None:
    put("(")
    _write(node.operand, put)
    put(" IS NOT NULL)" if node.is_negated else " IS NULL)")


def _in(node: tree.In, put: _Put) -> None:
    put("(")
    _write(node.operand, put)
    put(" NOT IN (" if node.is_negated else " IN (")
    _items(node.items, put)
    put("))")


def _case(node: tree.Case, put: _Put) -> None:
    put("(CASE")
    for condition, result in node.branches:
        put(" WHEN ")
        _write(condition, put)
        put(" THEN ")
        _write(result, put)
    if node.otherwise is not None:
        put(" ELSE ")
        _write(node.otherwise, put)
    put(" END)")


def _text(node: tree.Text, put: _Put) -> None:
    for piece in node.pieces:
        if isinstance(piece, str):
            put(piece)
        else:
            _write(piece, put)


def _query(node: tree.Query, put: _Put) -> None:
    _write(node.body, put)


def _insert(node: tree.Insert, put: _Put) -> None:
    put(f"INSERT INTO {node.target} ({identifiers(node.columns)}) ")
    _write(node.rows, put)


_WRITERS: Final[dict[type[Node], Callable[[Any, _Put], None]]] = {
    tree.Literal: _literal,
    tree.Parameter: _leaf,
    tree.Column: _leaf,
    Reference: _leaf,
    tree.Call: _call,
    tree.Operation: _operation,
    tree.Collated: _collated,
    tree.Logic: _logic,
    tree.Not: _not,
    tree.Is: _is,
    tree.In: _in,
    tree.Case: _case,
    tree.Text: _text,
    tree.Query: _query,
    tree.Insert: _insert,
}
