"""Reflection: tables, columns, constraints and indexes from the catalog. Never: DDL."""

# pyright: reportUnknownMemberType=false, reportUntypedFunctionDecorator=false
# SQLAlchemy's decorator `reflection.cache` has no annotations.

from __future__ import annotations

from typing import Any

from sqlalchemy import text
from sqlalchemy.engine import Connection, reflection
from sqlalchemy.engine.default import DefaultDialect


class InformixReflection(DefaultDialect):
    """The part of the dialect that reads the catalog."""

    @reflection.cache
    def get_table_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        """Names of the tables of one owner; of every owner without *schema*."""
        return self._names(connection, "T", schema)

    @reflection.cache
    def get_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:
        """Names of the views of one owner; of every owner without *schema*."""
        return self._names(connection, "V", schema)

    @reflection.cache
    def has_table(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        return any(table_name in self._names(connection, tabtype, schema) for tabtype in "TV")

    def _names(self, connection: Connection, tabtype: str, schema: str | None) -> list[str]:
        sql = "SELECT tabname FROM informix.systables WHERE tabid >= 100 AND tabtype = :tabtype"
        parameters = {"tabtype": tabtype}
        if schema is not None:
            sql += " AND owner = :owner"
            parameters["owner"] = schema
        return [name.rstrip() for name in connection.scalars(text(sql + " ORDER BY tabname"), parameters)]
