"""Queries and DML as Informix's SQL. Never: DDL."""

# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# SQLAlchemy's compilers are annotated in part.

from __future__ import annotations

from typing import Any

from sqlalchemy.sql import compiler


class InformixCompiler(compiler.SQLCompiler):
    """Compiles SELECT, INSERT, UPDATE and DELETE."""

    def default_from(self) -> str:
        """What follows a SELECT without FROM."""
        return " FROM sysmaster:sysdual"

    def visit_true(self, expr: Any, **kw: Any) -> str:
        return "'t'::boolean"

    def visit_false(self, expr: Any, **kw: Any) -> str:
        return "'f'::boolean"

    def get_select_precolumns(self, select: Any, **kw: Any) -> str:
        """SKIP and FIRST, which come before the columns."""
        text = ""
        if select._offset_clause is not None:
            text += f"SKIP {self.process(select._offset_clause, **kw)} "
        limit = select._limit_clause if select._fetch_clause is None else select._fetch_clause
        if limit is not None:
            text += f"FIRST {self.process(limit, **kw)} "
        return text + super().get_select_precolumns(select, **kw)

    def limit_clause(self, select: Any, **kw: Any) -> str:
        return ""

    def fetch_clause(self, select: Any, *args: Any, **kw: Any) -> str:
        return ""
