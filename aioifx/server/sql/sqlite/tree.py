"""The tree of SQLite's SQL that the translator makes. Never: its text.

A node has the shape of what is read again: which tables a query reads, which functions it calls, which values it
compares. Everything else of SQLite's grammar is a `Text`, which joins verbatim pieces and nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, Final, TypeAlias

from aioifx.server.sql.frozen import Frozen

Value: TypeAlias = int | float | str | bytes | None
"""A value as SQLite stores it."""


class Node(Frozen):
    """A part of SQLite's SQL. `render.render` writes it."""

    def __str__(self) -> str:
        raise TypeError(f"text of a node without render: {self!r}")


class Literal(Node):
    """A value written in the text; bytes are a BLOB."""

    value: Value


class Parameter(Node):
    """``?N``"""

    number: int


class Column(Node):
    """A column of the source with the alias, or, without an alias, of the only source."""

    alias: str
    name: str
    is_quoted: bool = True
    """False for names that the translator makes (``c1``), and for ROWID."""


class Reference(Node):
    """A stored table in FROM, whose rows other sessions can change."""

    catalog: str
    """The SQLite schema: main, or the alias of an attached database."""
    tabid: int
    alias: str
    """A text may repeat it for the sides of a FULL JOIN."""

    @property
    def number(self) -> int:
        """The number of its alias."""
        return int(self.alias[1:])

    @property
    def source(self) -> str:
        """The table without its alias, as SQLite names it."""
        return f'{self.catalog}."t{self.tabid}"'


class Call(Node):
    """A call of a function."""

    name: str
    arguments: tuple[Node, ...]


class Operation(Node):
    """A comparison, ``||``, or ``-`` between two values."""

    operator: str
    left: Node
    right: Node


class Collated(Node):
    """An operand with its collation."""

    operand: Node
    collation: str


class Logic(Node):
    """AND or OR."""

    operator: str
    operands: tuple[Node, ...]


class Not(Node):
    """NOT"""

    operand: Node


class Is(Node):
    """IS NULL, IS NOT NULL"""

    operand: Node
    is_negated: bool = False


class In(Node):
    """IN (..); the only item may be a query."""

    operand: Node
    items: tuple[Node, ...]
    is_negated: bool = False


class Case(Node):
    """CASE WHEN .. THEN .. ELSE .. END"""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None = None


class Text(Node):
    """Pieces of SQL, one after the other; a str is written as it is."""

    pieces: tuple[Node | str, ...]


class Query(Node):
    """A SELECT, VALUES or WITH, without parentheses."""

    body: Node


class Insert(Node):
    """An INSERT whose rows a query gives."""

    target: str
    columns: tuple[str, ...]
    rows: Node


NULL: Final = Literal(None)
Piece: TypeAlias = Node | str | int
"""An argument of `sql`: a node, or verbatim SQL."""

EMPTY: Final = Text(())
"""No text, for a clause that is not there."""


# --- Making -----------------------------------------------------------------------------------------------------------


def sql(template: str, *pieces: Piece) -> Text:
    """The template with a piece for each ``{}``."""
    first, *rest = _split(template)
    made: list[Node | str] = [first] if first else []
    for piece, text in zip(pieces, rest, strict=True):
        made.append(piece if isinstance(piece, Node) else str(piece))
        if text:
            made.append(text)
    return Text(tuple(made))


@lru_cache(maxsize=512)
def _split(template: str) -> list[str]:
    return template.split("{}")


def query_sql(template: str, *pieces: Piece) -> Query:
    """The same for a whole SELECT or VALUES."""
    return Query(sql(template, *pieces))


def call(name: str, *arguments: Node | int | str) -> Call:
    """A call; an int or str among the arguments is a literal."""
    return Call(name, tuple(each if isinstance(each, Node) else Literal(each) for each in arguments))


def unquoted(alias: str, name: str | int) -> Column:
    """A column with a name that the translator or SQLite has given; a number N means ``cN``."""
    return Column(alias, name if isinstance(name, str) else f"c{name}", is_quoted=False)


def listed(items: Iterable[Piece], separator: str = ", ") -> Text:
    """The items with the separator between them."""
    pieces: list[Node | str] = []
    for item in items:
        if pieces:
            pieces.append(separator)
        pieces.append(item if isinstance(item, Node) else str(item))
    return Text(tuple(pieces))


_BRANCHES: Final = 50
"""Operands per level of a tree: SQLite allows trees of 1,000 levels."""


def logic(operator: str, operands: Sequence[Node]) -> Node:
    """Operands joined by AND or OR, as a tree that stays shallow for many operands; a single operand as it is."""
    if len(operands) == 1:
        return operands[0]
    if len(operands) <= _BRANCHES:
        return Logic(operator, tuple(operands))
    size = -(-len(operands) // _BRANCHES)
    groups = (operands[start : start + size] for start in range(0, len(operands), size))
    return Logic(operator, tuple(logic(operator, group) for group in groups))


# --- Reading ----------------------------------------------------------------------------------------------------------


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below a node."""
    for name in _field_names(type(node)):
        yield from _nodes_in(getattr(node, name))


def _nodes_in(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _nodes_in(item)  # pyright: ignore[reportUnknownArgumentType]


_FIELD_NAMES: Final[dict[type[Node], tuple[str, ...]]] = {}


def _field_names(kind: type[Node]) -> tuple[str, ...]:
    names = _FIELD_NAMES.get(kind)
    if names is None:
        names = _FIELD_NAMES[kind] = tuple(field.name for field in fields(kind))
    return names


def walk(node: Node) -> Iterator[Node]:
    """A node and all nodes below it, in the order of the text."""
    yield node
    for child in children(node):
        yield from walk(child)


def transformed(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """The tree with what *change* returns in place of a node and all below it; None keeps the node."""
    changed = change(node)
    if changed is not None:
        return changed
    values = [getattr(node, name) for name in _field_names(type(node))]
    new = [_transformed(value, change) for value in values]
    if all(one is other for one, other in zip(values, new, strict=True)):
        return node
    return type(node)(*new)


def _transformed(value: Any, change: Callable[[Node], Node | None]) -> Any:
    if isinstance(value, Node):
        return transformed(value, change)
    if isinstance(value, tuple):
        items: tuple[Any, ...] = value  # pyright: ignore[reportUnknownVariableType]
        new = tuple(_transformed(item, change) for item in items)
        return items if all(one is other for one, other in zip(items, new, strict=True)) else new
    return value
