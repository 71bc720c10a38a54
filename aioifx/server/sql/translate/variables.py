"""Names of variables in a statement or expression of a routine -> `nodes.Variable`. Never: their values.

A name that is both a variable and a column means the variable, unless the table qualifies it (documented: DEFINE
statement, precedence of names). ``variable.field`` comes before ``column.field`` and ``table.column`` (documented:
Guide to SQL: Tutorial, Handle row-type data). GROUP BY and ORDER BY name columns only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeAlias, TypeVar

from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.syntax import nodes
from aioifx.sqltypes import SqlType

FindType: TypeAlias = Callable[[str], SqlType | None]
"""The type of a variable; None if there is no such one. A value of a trigger's row is named ``new.column``."""

Tree = TypeVar("Tree", bound=nodes.Node)


def with_variables(tree: Tree, find: FindType, first: Sequence[str] = ()) -> tuple[Tree, tuple[str, ...]]:
    """The tree with a `nodes.Variable` in place of each name that *find* knows, and their names by index.

    Args:
        first: names that have the first indexes, whether the tree has them or not.
    """
    names = {name: index for index, name in enumerate(first)}
    return _replaced(tree, find, names), tuple(names)


def _replaced(node: Tree, find: FindType, names: dict[str, int]) -> Tree:
    changes: dict[str, Any] = {}
    for field in fields(node):
        if field.name == "group_by":
            continue
        value: object = getattr(node, field.name)
        new = _value(value, find, names)
        if new is not value:
            changes[field.name] = new
    return replace(node, **changes) if changes else node


def _value(value: object, find: FindType, names: dict[str, int]) -> object:
    if isinstance(value, nodes.Column | nodes.FieldAccess):
        return _variable(value, find, names) or value
    if isinstance(value, nodes.OrderItem):
        return value
    if isinstance(value, nodes.Node):
        return _replaced(value, find, names)
    if isinstance(value, tuple):
        items: list[object] = [_value(item, find, names) for item in value]  # pyright: ignore
        return tuple(items) if any(a is not b for a, b in zip(items, value, strict=True)) else value  # pyright: ignore
    return value


def _variable(
    node: nodes.Column | nodes.FieldAccess, find: FindType, names: dict[str, int]
) -> nodes.Variable | None:
    path = path_of(node)
    for size in range(min(len(path), 2), 0, -1):
        name = ".".join(path[:size])
        type_ = find(name)
        followed = None if type_ is None else field_of(type_, path[size:])
        if followed is not None:
            indexes, type_ = followed
            return nodes.Variable(node.offset, names.setdefault(name, len(names)), name, type_, indexes)
    return None


def path_of(node: nodes.Column | nodes.FieldAccess) -> tuple[str, ...]:
    """The names of a path; none for what no variable has, such as a database."""
    if isinstance(node, nodes.FieldAccess):
        return (*path_of(node.operand), *node.fields)
    table = node.table
    if table is None:
        return (node.name,)
    if table.database:
        return ()
    return (table.owner, table.name, node.name) if table.owner else (table.name, node.name)


def field_of(type_: SqlType, names: Sequence[str]) -> tuple[tuple[int, ...], SqlType] | None:
    """The indexes that lead to a field of a ROW, and its type; None if there is no such field."""
    indexes: list[int] = []
    for name in names:
        index = type_.field(name) if isinstance(type_, ComplexType) else None
        if index is None:
            return None
        assert isinstance(type_, ComplexType)
        indexes.append(index)
        type_ = type_.parts[index]
    return tuple(indexes), type_


def expression_with_variables(
    node: nodes.Expression, find: FindType, first: Sequence[str] = ()
) -> tuple[nodes.Expression, tuple[str, ...]]:
    """The same for an expression, which may itself be the name of a variable."""
    names = {name: index for index, name in enumerate(first)}
    if isinstance(node, nodes.Column | nodes.FieldAccess):
        return _variable(node, find, names) or node, tuple(names)
    return _replaced(node, find, names), tuple(names)
