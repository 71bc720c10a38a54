"""Forms of SQLite texts whose stored tables test locks, and how texts reach these tables. Never: running a statement.

A stored table of a text, ``main."t101" AS s3``, becomes a subquery with a condition on each row. SQLite merges the
subquery into the query around it and uses the same index. So the condition is computed only for rows that the index
finds (measured on 3.40). The texts call functions that the engine registers on each connection:

- ``ifx_locktest(alias, rowid)``: whether a row of the table with the number of its alias is read
- ``ifx_before(alias, seq)``: whether a row of ``ifx_undo`` is the last committed version of a row of that table
- ``ifx_image(image, column)``: one value of a row's version in ``ifx_undo``
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.translate.sqlite_ddl import physical_index
from aioifx.server.sql.translate.sqlite_text import collated, identifier

_REFERENCE: Final = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|"
    r"(?<!UPDATE )(?<!DELETE FROM )\b(?P<catalog>main|ifx_other_\d+)\.\"t(?P<tabid>\d+)\" AS s(?P<alias>\d+)\b"
)
"""A stored table in FROM; quoted texts are skipped."""


class Reference(NamedTuple):
    """A stored table in a FROM clause of a text."""

    catalog: str
    """The SQLite schema: main, or the alias of an attached database."""
    tabid: int
    alias: int
    """The number of its alias; a text may repeat it for the sides of a FULL JOIN."""

    @property
    def source(self) -> str:
        """SQLite text of the table."""
        return f'{self.catalog}."t{self.tabid}"'


@lru_cache(maxsize=1024)
def references(sql: str) -> tuple[Reference, ...]:
    """The stored tables in a text, each alias once; not the table that an UPDATE or DELETE changes."""
    found = (_reference(match) for match in _REFERENCE.finditer(sql) if match["alias"])
    return tuple(dict.fromkeys(found))


def _reference(match: re.Match[str]) -> Reference:
    return Reference(match["catalog"], int(match["tabid"]), int(match["alias"]))


def with_tests(sql: str) -> str:
    """The text with a test of each row that it visits."""
    return _replaced(sql, lambda each: f"SELECT rowid AS rowid, * FROM {each.source} WHERE {_test(each)}")


def with_versions(sql: str, columns: Callable[[Reference], Table | None]) -> str:
    """The text on the last committed versions of the rows.

    Args:
        columns: the table of a reference; None to leave the reference as it is.
    """

    def versions(each: Reference) -> str | None:
        table = columns(each)
        if table is None:
            return None
        names = ", ".join(identifier(column.name) for column in table.stored_columns)
        values = ", ".join(
            f"{collated(f'ifx_image(u.image, {number})', column.type)} AS {identifier(column.name)}"
            for number, column in enumerate(table.stored_columns)
        )
        return (
            f"SELECT rowid AS rowid, {names} FROM {each.source} WHERE {_test(each)}"
            f' UNION ALL SELECT u.row AS rowid, {values} FROM {each.catalog}."ifx_undo" AS u'
            f" WHERE u.tabid = {each.tabid} AND ifx_before({each.alias}, u.seq)"
        )

    return _replaced(sql, versions)


def _test(reference: Reference) -> str:
    return f"ifx_locktest({reference.alias}, rowid)"


def _replaced(sql: str, rows_of: Callable[[Reference], str | None]) -> str:
    def replacement(match: re.Match[str]) -> str:
        rows = rows_of(_reference(match)) if match["alias"] else None
        return match[0] if rows is None else f"({rows}) AS s{match['alias']}"

    return _REFERENCE.sub(replacement, sql)


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
    sql: str,
    bound: tuple[Stored, ...],
    table_of: Callable[[int], Table | None],
) -> dict[int, Path]:
    """The accesses of SQLite's plan, by the numbers of aliases; a table that is accessed twice has the wider one.

    Args:
        table_of: the table with an alias.
    """
    found: dict[int, Path] = {}
    for *_, detail in connection.execute(f"EXPLAIN QUERY PLAN {sql}", bound).fetchall():
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
