"""The system catalog, read by a connection of SQLAlchemy. Never: which tables it has, SQLAlchemy's form of them.

Source: documented: Guide to SQL Reference, System Catalog Tables; observed: JDBC names the tables as
``database:informix.systables``
"""

# pyright: reportUnknownMemberType=false
# SQLAlchemy's `Connection.exec_driver_sql` is annotated in part.

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import exc
from sqlalchemy.engine import Connection

from aioifx.catalog.tables import (
    OWN_IN_ANSI,
    CatalogRow,
    ColumnEntry,
    ConstraintEntry,
    Fetch,
    IndexEntry,
    TableEntry,
    Tables,
)
from aioifx.catalog.texts import Place
from aioifx.errors import UndefinedColumn

_T = TypeVar("_T")


class Catalog:
    """`aioifx.catalog.tables.Tables`, whose queries are executed by SQLAlchemy.

    Args:
        names: None for all tables that users have created.
    """

    def __init__(self, place: Place, names: Collection[str] | None, *, is_ansi: bool) -> None:
        self._tables = Tables(place, names, is_ansi=is_ansi)

    def has_read(self, names: Collection[str]) -> bool:
        return self._tables.has_read(names)

    def tables(self, connection: Connection) -> Mapping[str, TableEntry]:
        return _result(connection, self._tables.tables)

    def columns(self, connection: Connection) -> Mapping[int, Sequence[ColumnEntry]]:
        return _result(connection, self._tables.columns)

    def constraints(self, connection: Connection) -> Mapping[int, Sequence[ConstraintEntry]]:
        return _result(connection, self._tables.constraints)

    def indexes(self, connection: Connection) -> Mapping[int, Sequence[IndexEntry]]:
        return _result(connection, self._tables.indexes)

    def checks(self, connection: Connection) -> Mapping[int, str]:
        return _result(connection, self._tables.checks)

    def views(self, connection: Connection) -> Mapping[int, str]:
        return _result(connection, self._tables.views)


def _result(connection: Connection, read: Callable[[Fetch], Coroutine[Any, Any, _T]]) -> _T:
    """What a method reads. It awaits nothing but its queries, and these do not suspend here."""

    async def fetch(sql: str, params: Sequence[Any]) -> Sequence[CatalogRow]:
        return _rows(connection, sql, params)

    reading = read(fetch)
    try:
        reading.send(None)
    except StopIteration as end:
        found: _T = end.value
        return found
    raise AssertionError("the reading of the catalog has suspended")  # pragma: no cover


def database_is_ansi(connection: Connection, place: Place) -> bool:
    """Whether a database is an ANSI database."""
    name, _, server = place.database.rstrip(":").partition("@")
    sysmaster = f"sysmaster@{server}" if server else "sysmaster"
    sql = f"SELECT is_ansi FROM {sysmaster}:informix.sysdatabases WHERE name = "
    rows = _rows(connection, sql + "?", [name]) if name else _rows(connection, sql + "DBINFO('dbname')", ())
    return bool(rows and rows[0][0])


def owners(connection: Connection) -> list[str]:
    """The owners of tables, views, synonyms and sequences."""
    rows = _rows(connection, "SELECT DISTINCT owner FROM informix.systables", ())
    return sorted(owner for (value,) in rows if (owner := value.rstrip(" ")))


def sequence_names(connection: Connection, place: Place, *, is_ansi: bool) -> list[str]:
    """The sequences of a place; without an owner, those of the user in an ANSI database."""
    sql = f"SELECT t.tabname FROM {place.catalog}systables t WHERE t.tabtype = 'Q'"
    if place.owner is None:
        rows = _rows(connection, f"{sql} AND ({OWN_IN_ANSI})" if is_ansi else sql, ())
    else:
        rows = _rows(connection, f"{sql} AND t.owner = ?", [place.owner])
    return sorted(name for (name,) in rows)


def temp_table_names(connection: Connection) -> list[str]:
    """The temporary tables of the session, which only sysmaster shows.

    Source: documented: sysptnhdr, with a query for temporary tables by the flag 0x20 and the session's number; assumed:
    old servers lack its column sid, so nothing is found there
    """
    sql = (
        "SELECT n.tabname FROM sysmaster:informix.systabnames n, sysmaster:informix.sysptnhdr h"
        " WHERE h.partnum = n.partnum AND h.sid = DBINFO('sessionid') AND BITAND(h.flags, 32) <> 0"
    )
    try:
        return sorted(name for (name,) in _rows(connection, sql, ()))
    except exc.DBAPIError as error:
        if isinstance(error.orig, UndefinedColumn):
            return []
        raise


def described_columns(connection: Connection, name: str) -> list[ColumnEntry]:
    """The columns of a table that the catalog lacks, from the description of a query; *name* is quoted if needed."""
    cursor: Any = connection.exec_driver_sql(f"SELECT * FROM {name} WHERE 1 = 0").cursor
    return [
        ColumnEntry(number, column[0], column[1], column[6] is not False, "", "")
        for number, column in enumerate(cursor.description, start=1)
    ]


def _rows(connection: Connection, sql: str, params: Sequence[Any]) -> Sequence[CatalogRow]:
    return connection.exec_driver_sql(sql, tuple(params)).fetchall()
