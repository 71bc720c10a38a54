"""Forms of queries whose stored tables test locks, and how queries reach these tables. Never: running a statement.

A stored table of a query becomes a subquery with a condition on each row. SQLite merges the
subquery into the query around it and uses the same index. So the condition is computed only for rows that the index
finds (measured on 3.40). The queries call functions that the engine registers on each connection:

- ``ifx_locktest(alias, rowid)``: whether a row of the table with the number of its alias is read
- ``ifx_before(alias, seq)``: whether a row of ``ifx_undo`` is the last committed version of a row of that table
- ``ifx_image(image, column)``: one value of a row's version in ``ifx_undo``
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.sqlite.render import Bound, Composed, identifier, identifiers
from aioifx.server.sql.sqlite.tree import Node, Reference, call, listed, sql, transformed, unquoted
from aioifx.server.sql.translate.sqlite_ddl import collated, physical_index


def with_tests(composed: Composed) -> Composed:
    """The query with a test of each row that it visits."""
    return _replaced(
        composed, lambda each: sql("SELECT rowid AS rowid, * FROM {} WHERE {}", each.source, _test(each))
    )


def with_versions(composed: Composed, columns: Callable[[Reference], Table | None]) -> Composed:
    """The query, or change, on the last committed versions of the rows.

    Args:
        columns: the table of a reference; None to leave the reference as it is.
    """

    def versions(each: Reference) -> Node | None:
        table = columns(each)
        if table is None:
            return None
        values = listed(
            sql(
                "{} AS {}",
                collated(sql("ifx_image(u.image, {})", number), column.type),
                identifier(column.name),
            )
            for number, column in enumerate(table.stored_columns)
        )
        names = identifiers(column.name for column in table.stored_columns)
        present = sql("SELECT rowid AS rowid, {} FROM {} WHERE {}", names, each.source, _test(each))
        before = sql(
            'SELECT u.row AS rowid, {} FROM {}."ifx_undo" AS u WHERE u.tabid = {} AND ifx_before({}, u.seq)',
            values,
            each.catalog,
            each.tabid,
            each.number,
        )
        return sql("{} UNION ALL {}", present, before)

    return _replaced(composed, versions)


def _test(reference: Reference) -> Node:
    return call("ifx_locktest", reference.number, unquoted("", "rowid"))


def _replaced(composed: Composed, rows_of: Callable[[Reference], Node | None]) -> Composed:
    def change(node: Node) -> Node | None:
        if not isinstance(node, Reference):
            return None
        rows = rows_of(node)
        return None if rows is None else sql("({}) AS {}", rows, node.alias)

    return Composed(transformed(composed.tree, change))


# -- access paths ------------------------------------------------------------------------------------------------------


class Access(Enum):
    """How a query reaches the rows of one of its tables; the values are the SQLCODEs of a failed read."""

    SCAN = -244
    """In physical order (documented)."""
    KEY = -243
    """Through equal values of an index or by ROWID, then by position (documented; assumed: for equal values)."""
    RANGE = -246
    """Through an index, from one key to the next (documented)."""


class Path(NamedTuple):
    """The access to one of a query's tables."""

    access: Access = Access.SCAN
    is_unique: bool = False
    """Whether all columns of a unique index, or the ROWID, have one value."""
    is_whole: bool = False
    """Whether it reads all rows."""


_STEP: Final = re.compile(r"(?P<verb>SCAN|SEARCH) s(?P<alias>\d+)\b(?P<rest>.*)")
_KEYS: Final = re.compile(r"\((?P<keys>[^()]*)\)(?: LEFT-JOIN)?$")


def paths(
    connection: sqlite3.Connection,
    query: Composed,
    bound: Bound,
    table_of: Callable[[int], Table | None],
) -> dict[int, Path]:
    """The accesses of SQLite's plan, by the numbers of aliases; a table that is accessed twice has the wider one.

    Args:
        table_of: the table with an alias.
    """
    found: dict[int, Path] = {}
    for *_, detail in connection.execute(f"EXPLAIN QUERY PLAN {query.text}", bound).fetchall():
        step = _STEP.match(detail)
        if step is None:
            continue
        alias = int(step["alias"])
        path = _path(step["verb"], step["rest"], table_of(alias))
        if alias not in found or _WIDTHS.index(path.access) > _WIDTHS.index(found[alias].access):
            found[alias] = path
    return found


_WIDTHS: Final = (Access.KEY, Access.RANGE, Access.SCAN)


def _path(verb: str, rest: str, table: Table | None) -> Path:
    if verb == "SCAN":
        return Path(is_whole=True)
    keys = _KEYS.search(rest)
    parts = keys["keys"].split(" AND ") if keys else []
    if not parts or not all(part.endswith("=?") for part in parts):
        return Path(Access.RANGE)
    if "INTEGER PRIMARY KEY" in rest:
        return Path(Access.KEY, is_unique=True)
    return Path(Access.KEY, is_unique=table is not None and _covers(table, rest, len(parts)))


def _covers(table: Table, rest: str, count: int) -> bool:
    return any(
        index.is_unique and len(index.parts) == count and f"INDEX {physical_index(table, index)} (" in rest
        for index in table.indexes
    )
