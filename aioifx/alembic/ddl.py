"""ALTER TABLE and RENAME of Informix; the operation `op.rename_index`. Never: the catalog, when a statement is needed.

Source: documented: ALTER TABLE, RENAME COLUMN, RENAME INDEX and RENAME TABLE statements.
"""

# pyright: reportUnknownMemberType=false, reportUntypedFunctionDecorator=false, reportUnknownVariableType=false
# SQLAlchemy's compilers and `compiles` are annotated in part.

from __future__ import annotations

from typing import Any

from alembic.ddl.base import AddColumn, AlterTable, ColumnName, DropColumn, RenameTable
from alembic.operations import MigrateOperation, Operations
from sqlalchemy import exc
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import Column, ForeignKey
from sqlalchemy.sql.compiler import DDLCompiler
from sqlalchemy.sql.ddl import DDLElement


class ModifyColumn(AlterTable):
    """A column's whole new definition: what it does not repeat is dropped.

    Args:
        column: a column of a table.
    """

    inherit_cache = False

    def __init__(self, table_name: str, column: Column[Any], schema: str | None = None) -> None:
        super().__init__(table_name, schema)
        self.column = column


class RenameIndex(DDLElement):
    """A new name for an index."""

    inherit_cache = False

    def __init__(self, old_name: str, new_name: str, schema: str | None = None) -> None:
        self.old_name = old_name
        self.new_name = new_name
        self.schema = schema


def _qualified(compiler: DDLCompiler, name: str, schema: str | None) -> str:
    quoted = compiler.preparer.quote(name)
    return f"{compiler.preparer.quote_schema(schema)}.{quoted}" if schema else quoted


@compiles(ModifyColumn, "informix")
def modify_column(element: ModifyColumn, compiler: DDLCompiler, **kw: Any) -> str:
    """ALTER TABLE .. MODIFY."""
    table = _qualified(compiler, element.table_name, element.schema)
    return f"ALTER TABLE {table} MODIFY ({compiler.get_column_specification(element.column)})"


@compiles(AddColumn, "informix")
def add_column(element: AddColumn, compiler: DDLCompiler, **kw: Any) -> str:
    """ALTER TABLE .. ADD with a column.

    Raises:
        CompileError: IF NOT EXISTS, which Informix lacks here.
    """
    if element.if_not_exists:
        raise exc.CompileError("add_column: Informix has no IF NOT EXISTS for columns")
    column = element.column
    text = compiler.get_column_specification(column)
    if element.inline_primary_key and column.primary_key:
        text += " PRIMARY KEY"
    keys = list(column.foreign_keys) if element.inline_references else []
    if len(keys) == 1:
        text += _inline_reference(compiler, keys[0])
    for constraint in column.constraints:
        text += f" {compiler.process(constraint)}"
    return f"ALTER TABLE {_qualified(compiler, element.table_name, element.schema)} ADD ({text})"


def _inline_reference(compiler: DDLCompiler, key: ForeignKey) -> str:
    constraint = key.constraint
    if constraint is None or len(constraint.columns) != 1:
        return ""
    parent = key.column.table
    table = _qualified(compiler, str(parent.name), parent.schema)
    text = f" REFERENCES {table} ({compiler.preparer.quote(key.column.name)})"
    return text + compiler.define_constraint_cascades(constraint)


@compiles(DropColumn, "informix")
def drop_column(element: DropColumn, compiler: DDLCompiler, **kw: Any) -> str:
    """ALTER TABLE .. DROP with a column.

    Raises:
        CompileError: IF EXISTS, which Informix lacks here.
    """
    if element.if_exists:
        raise exc.CompileError("drop_column: Informix has no IF EXISTS for columns")
    table = _qualified(compiler, element.table_name, element.schema)
    return f"ALTER TABLE {table} DROP ({compiler.preparer.quote(element.column.name)})"


@compiles(ColumnName, "informix")
def rename_column(element: ColumnName, compiler: DDLCompiler, **kw: Any) -> str:
    """RENAME COLUMN."""
    table = _qualified(compiler, element.table_name, element.schema)
    quote = compiler.preparer.quote
    return f"RENAME COLUMN {table}.{quote(element.column_name)} TO {quote(element.newname)}"


@compiles(RenameTable, "informix")
def rename_table(element: RenameTable, compiler: DDLCompiler, **kw: Any) -> str:
    """RENAME TABLE; the new name has no owner, who stays the same."""
    table = _qualified(compiler, element.table_name, element.schema)
    return f"RENAME TABLE {table} TO {compiler.preparer.quote(element.new_table_name)}"


@compiles(RenameIndex, "informix")
def rename_index(element: RenameIndex, compiler: DDLCompiler, **kw: Any) -> str:
    """RENAME INDEX."""
    index = _qualified(compiler, element.old_name, element.schema)
    return f"RENAME INDEX {index} TO {compiler.preparer.quote(element.new_name)}"


@Operations.register_operation("rename_index")
class RenameIndexOp(MigrateOperation):
    """A new name for an index."""

    def __init__(self, old_name: str, new_name: str, schema: str | None = None) -> None:
        self.old_name = old_name
        self.new_name = new_name
        self.schema = schema

    @classmethod
    def rename_index(
        cls, operations: Operations, old_name: str, new_name: str, *, schema: str | None = None
    ) -> None:
        """Rename an index.

        Args:
            schema: its owner.
        """
        operations.invoke(cls(old_name, new_name, schema))

    def reverse(self) -> RenameIndexOp:
        return RenameIndexOp(self.new_name, self.old_name, self.schema)


@Operations.implementation_for(RenameIndexOp)
def run_rename_index(operations: Operations, operation: RenameIndexOp) -> None:
    """Run the operation."""
    operations.migration_context.impl.execute(
        RenameIndex(operation.old_name, operation.new_name, operation.schema)
    )
