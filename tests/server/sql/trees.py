"""Nodes of SQLite's tree from texts, for tests."""

from __future__ import annotations

from decimal import Decimal

from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.sqlite.tree import Text
from aioifx.server.sql.translate.typed import Typed
from aioifx.sqltypes import SqlType


def typed(
    text: str,
    type_: SqlType,
    is_nullable: bool = True,
    constant: int | Decimal | str | None = None,
    is_parameter: bool = False,
) -> Typed:
    """An expression with this text."""
    return Typed(Text((text,)), type_, is_nullable, constant, is_parameter)


def composed(text: str) -> Composed:
    """A statement with this text."""
    return Composed(Text((text,)))
