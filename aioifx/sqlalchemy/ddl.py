"""DDL: tables, types of columns, constraints, indexes. Never: queries."""

# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# SQLAlchemy's compilers are annotated in part.

from __future__ import annotations

from typing import Any

from sqlalchemy import types as sqltypes
from sqlalchemy.schema import Column
from sqlalchemy.sql import compiler

_MAX_LVARCHAR = 32739


class InformixDDLCompiler(compiler.DDLCompiler):
    """Compiles CREATE, ALTER and DROP."""

    def get_column_specification(self, column: Column[Any], **kwargs: Any) -> str:
        """A column in CREATE TABLE: name, type, default, NOT NULL."""
        text = self.preparer.format_column(column) + " "
        table = column.table
        if column is table.autoincrement_column and column.default is None:
            text += "BIGSERIAL" if isinstance(column.type, sqltypes.BigInteger) else "SERIAL"
        else:
            text += self.dialect.type_compiler_instance.process(column.type, type_expression=column)
            default = self.get_column_default_string(column)
            if default is not None:
                text += f" DEFAULT {default}"
        if not column.nullable:
            text += " NOT NULL"
        return text


class InformixTypeCompiler(compiler.GenericTypeCompiler):
    """Compiles types."""

    def visit_BOOLEAN(self, type_: Any, **kw: Any) -> str:
        return "BOOLEAN"

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:
        return "DATETIME YEAR TO FRACTION(5)"

    def visit_TIMESTAMP(self, type_: Any, **kw: Any) -> str:
        return "DATETIME YEAR TO FRACTION(5)"

    def visit_TIME(self, type_: Any, **kw: Any) -> str:
        return "DATETIME HOUR TO FRACTION(5)"

    def visit_VARCHAR(self, type_: Any, **kw: Any) -> str:
        length = type_.length or _MAX_LVARCHAR
        return f"VARCHAR({length})" if length < 256 else f"LVARCHAR({length})"

    def visit_large_binary(self, type_: Any, **kw: Any) -> str:
        return "BYTE"
