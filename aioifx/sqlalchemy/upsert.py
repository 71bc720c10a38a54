"""INSERT that updates or keeps the rows that exist already, as MERGE. Never: the text of SQL.

    from aioifx.sqlalchemy import insert

    statement = insert(stock).values(item=7, count=3)
    statement = statement.on_conflict_do_update(set_={"count": stock.c.count + statement.excluded.count})

MERGE has no way to name a constraint: the columns that identify a row are given, and default to the primary key.
"""

# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportPrivateUsage=false
# SQLAlchemy's statements are annotated in part.

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sqlalchemy import Column, exc
from sqlalchemy.sql import coercions, dml, elements, roles
from sqlalchemy.sql.base import ReadOnlyColumnCollection, _generative
from sqlalchemy.sql.expression import alias
from sqlalchemy.sql.visitors import InternalTraversal
from sqlalchemy.util import memoized_property

SOURCE: Final = "excluded"
"""The name of the row to insert, in MERGE."""


class Merging(elements.ClauseElement):
    """What an upsert does besides the insert."""

    __visit_name__ = "informix_merging"
    stringify_dialect = "informix"

    _traverse_internals: Any = [  # noqa: RUF012 - as in the base class
        ("keys", InternalTraversal.dp_string_list),
        ("updates", InternalTraversal.dp_boolean),
        ("names", InternalTraversal.dp_string_list),
        ("values", InternalTraversal.dp_clauseelement_list),
    ]

    def __init__(
        self, keys: list[str], *, updates: bool, names: list[str] | None, values: list[Any] | None
    ) -> None:
        self.keys = keys
        self.updates = updates
        self.names = names
        self.values = values


class Insert(dml.Insert):
    """INSERT with `on_conflict_do_update` and `on_conflict_do_nothing`."""

    stringify_dialect = "informix"
    inherit_cache = True

    @memoized_property
    def excluded(self) -> ReadOnlyColumnCollection[str, Any]:
        """The values of the row to insert, as columns."""
        return alias(self.table, name=SOURCE).columns

    @_generative
    def on_conflict_do_update(
        self,
        index_elements: Iterable[str | Column[Any]] | None = None,
        set_: Mapping[Any, Any] | None = None,
    ) -> Insert:
        """Update the row that has the same values in *index_elements*, if one exists; else insert.

        Args:
            index_elements: The columns that identify a row, by name or as columns; default: the primary key.
            set_: What the update stores, by column; `excluded` has the row's values. Default: every value of the
                row except the *index_elements*.
        """
        names = values = None
        if set_ is not None:
            pairs = [(self._column_of(key), value) for key, value in set_.items()]
            names = [column.name for column, _ in pairs]
            values = [
                coercions.expect(roles.ExpressionElementRole, value, type_=column.type)
                for column, value in pairs
            ]
        self._set_merging(Merging(self._keys_of(index_elements), updates=True, names=names, values=values))
        return self

    @_generative
    def on_conflict_do_nothing(self, index_elements: Iterable[str | Column[Any]] | None = None) -> Insert:
        """Insert unless a row has the same values in *index_elements*; default: the primary key."""
        self._set_merging(Merging(self._keys_of(index_elements), updates=False, names=None, values=None))
        return self

    def _set_merging(self, merging: Merging) -> None:
        if self._post_values_clause is not None:
            raise exc.InvalidRequestError("on_conflict: expected one call, got a second one")
        self._post_values_clause = merging

    def _keys_of(self, index_elements: Iterable[str | Column[Any]] | None) -> list[str]:
        keys = self.table.primary_key if index_elements is None else index_elements
        names = [self._column_of(key).name for key in keys]
        if not names:
            raise exc.ArgumentError(
                "index_elements: expected at least one column; the table has no primary key"
            )
        return names

    def _column_of(self, key: Any) -> Any:
        if not isinstance(key, str):
            return coercions.expect(roles.DMLColumnRole, key)
        if key in self.table.c:
            return self.table.c[key]
        raise exc.ArgumentError(f"column: expected one of {self.table.name}, got {key!r}")


def insert(table: Any) -> Insert:
    """An INSERT that can become an upsert.

    Args:
        table: A table, or a mapped class.
    """
    return Insert(table)
