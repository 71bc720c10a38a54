"""Names of variables in a statement or expression of a routine -> `nodes.Variable`. Never: their values.

A name that is both a variable and a column means the variable, unless the table qualifies it (documented: DEFINE
statement, precedence of names). GROUP BY and ORDER BY name columns only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeAlias, TypeVar

from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
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
    if isinstance(value, nodes.Column):
        return _variable(value, find, names) or value
    if isinstance(value, nodes.OrderItem):
        return value
    if isinstance(value, nodes.Node):
        return _replaced(value, find, names)
    if isinstance(value, tuple):
        items: list[object] = [_value(item, find, names) for item in value]  # pyright: ignore
        return tuple(items) if any(a is not b for a, b in zip(items, value, strict=True)) else value  # pyright: ignore
    return value


def _variable(column: nodes.Column, find: FindType, names: dict[str, int]) -> nodes.Variable | None:
    name = column.name
    if column.table is not None:
        table = column.table
        if table.owner or table.database:
            return None
        name = f"{table.name}.{name}"
    type_ = find(name)
    if type_ is None:
        if column.table is not None and isinstance(find(column.table.name), ComplexType):
            raise SqlError(-999, token="FIELD OF A VARIABLE", offset=column.offset)
        return None
    return nodes.Variable(column.offset, names.setdefault(name, len(names)), name, type_)


def expression_with_variables(
    node: nodes.Expression, find: FindType, first: Sequence[str] = ()
) -> tuple[nodes.Expression, tuple[str, ...]]:
    """The same for an expression, which may itself be the name of a variable."""
    names = {name: index for index, name in enumerate(first)}
    if isinstance(node, nodes.Column):
        return _variable(node, find, names) or node, tuple(names)
    return _replaced(node, find, names), tuple(names)
