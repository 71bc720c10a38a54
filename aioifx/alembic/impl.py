"""How Alembic's operations run on Informix, and how autogenerate compares. Never: the text of a statement."""

# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportIncompatibleMethodOverride=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeArgument=false, reportPrivateUsage=false
# Alembic's implementations are annotated in part.

from __future__ import annotations

import inspect as introspection
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from alembic.ddl.base import ColumnName
from alembic.ddl.impl import ComparisonResult, DefaultImpl
from alembic.util import CommandError, warn
from sqlalchemy import (
    Column,
    Constraint,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    inspect,
    text,
)
from sqlalchemy.engine.reflection import Inspector
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.schema import DefaultClause
from sqlalchemy.sql.elements import ClauseElement, False_, True_
from sqlalchemy.types import TypeEngine, to_instance

from aioifx.alembic import compare, constraints, ddl

if TYPE_CHECKING:
    from alembic.autogenerate.api import AutogenContext
from collections.abc import Callable
from typing import Final

from alembic.operations import ops

_TYPES = "aioifx.sqlalchemy"
_CONSTRAINT = "informix_constraint"
_NO_COMMENTS = "Informix has no comments on tables and columns; the comment is left out"


class InformixImpl(DefaultImpl):
    """Alembic's operations on Informix. DDL is part of transactions in databases with logging."""

    __dialect__ = "informix"
    transactional_ddl = True

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)
        self._own_tables: frozenset[str] | None = None
        self._references: list[Constraint] = []
        self._include_name = self.context_opts.get("include_name")
        self.context_opts["include_name"] = self._is_included
        self._include_object = self.context_opts.get("include_object")
        self.context_opts["include_object"] = self._is_compared
        option = "process_revision_directives"
        self.context_opts[option] = ordering(self.context_opts.get(option))

    def _is_included(self, name: str | None, kind: str, parents: Any) -> bool:
        """Leave out what cannot be compared, then ask the environment's `include_name`.

        Without an owner, Informix finds a table of any owner. With `include_schemas` the tables of other owners are
        compared under their owners only. A CHECK with a name that Informix generated has none in a model.
        """
        if kind == "check_constraint" and _is_generated(name):
            return False
        if (
            kind == "table"
            and self.context_opts.get("include_schemas")
            and parents.get("schema_name") is None
        ):
            if name not in self._tables_of_the_user():
                return False
        return self._include_name is None or bool(self._include_name(name, kind, parents))

    def _is_compared(self, item: Any, name: str | None, kind: str, is_reflected: bool, other: Any) -> bool:
        """Leave out a CHECK of a model with a name that Informix generated, as models made by reflection have it."""
        if kind == "check_constraint" and _is_generated(name):
            return False
        return self._include_object is None or bool(
            self._include_object(item, name, kind, is_reflected, other)
        )

    def _tables_of_the_user(self) -> frozenset[str]:
        if self._own_tables is None:
            assert self.connection is not None, "autogenerate has one"
            owner = self.dialect.default_schema_name or ""
            inspector = inspect(self.connection)
            # An ANSI database may store the user as the owner in upper case (documented: ANSIOWNER).
            names = inspector.get_table_names(owner) or inspector.get_table_names(owner.upper())
            self._own_tables = frozenset(names)
        return self._own_tables

    # --- columns --------------------------------------------------------------------------------------------------

    def alter_column(
        self,
        table_name: str,
        column_name: str,
        *,
        nullable: bool | None = None,
        server_default: Any = False,
        name: str | None = None,
        type_: TypeEngine[Any] | None = None,
        schema: str | None = None,
        autoincrement: bool | None = None,
        comment: Any = False,
        existing_comment: str | None = None,
        existing_type: TypeEngine[Any] | None = None,
        existing_server_default: Any = None,
        existing_nullable: bool | None = None,
        existing_autoincrement: bool | None = None,
        **kw: Any,
    ) -> None:
        """One MODIFY with everything that the column has then, and RENAME COLUMN.

        What is not given is read from the catalog. So are the constraints that MODIFY drops; they are added again.

        Raises:
            alembic.util.CommandError: without a connection: existing_type or existing_nullable is missing.
        """
        if comment is not False:
            warn(_NO_COMMENTS)
        if nullable is not None or server_default is not False or type_ is not None:
            serial = existing_autoincrement if autoincrement is None else autoincrement
            known: dict[str, Any] = {
                "type": type_ if type_ is not None else existing_type,
                "nullable": nullable if nullable is not None else existing_nullable,
                "default": server_default if server_default is not False else existing_server_default,
                "autoincrement": serial,
            }
            inspector = None if self.connection is None or self.as_sql else inspect(self.connection)
            column = _column(inspector, table_name, column_name, schema, known)
            target = self.context_opts.get("target_metadata")
            metadata = MetaData(naming_convention=getattr(target, "naming_convention", None))
            Table(table_name, metadata, column, schema=schema)
            self._modify(inspector, table_name, column, schema)
        if name is not None:
            self._exec(ColumnName(table_name, column_name, name, schema=schema))

    def _modify(
        self, inspector: Inspector | None, table: str, column: Column[Any], schema: str | None
    ) -> None:
        modify = ddl.ModifyColumn(table, column, schema)
        if inspector is None:
            self.static_output(
                "-- MODIFY drops the column's own constraints, and foreign keys that reference it"
            )
            self._exec(modify)
            return
        before = constraints.constraints_of(inspector, table, column.name, schema)
        for constraint in column.table.constraints:  # of the new type, which Alembic adds after this
            if constraint.name is not None:
                before.pop(str(self.dialect.identifier_preparer.format_constraint(constraint)), None)
        self._exec(modify)
        if before:
            inspector.clear_cache()
            after = constraints.constraints_of(inspector, table, column.name, schema)
            for name, constraint in before.items():
                if name not in after:
                    self.add_constraint(constraint)

    # --- indexes --------------------------------------------------------------------------------------------------

    def create_index(self, index: Index, **kw: Any) -> None:
        """CREATE INDEX, or a unique constraint for a unique index on the columns of a foreign key.

        Informix indexes these columns by itself and refuses a second index on them (-350).
        """
        if index.unique and index.table is not None and self._has_foreign_key(index):
            index.dialect_kwargs[_CONSTRAINT] = True
        super().create_index(index, **kw)

    def drop_index(self, index: Index, **kw: Any) -> None:
        """DROP INDEX, or DROP CONSTRAINT of the unique constraint that `create_index` made of it."""
        if index.table is not None and self._is_constraint(index):
            index.dialect_kwargs[_CONSTRAINT] = True
            kw.pop("if_exists", None)
        super().drop_index(index, **kw)

    def _has_foreign_key(self, index: Index) -> bool:
        """Whether the catalog has a foreign key on the columns of an index; False without a connection."""
        names = [getattr(key, "name", None) for key in index.expressions]
        return any(
            key["constrained_columns"] == names for key in self._described(index, Inspector.get_foreign_keys)
        )

    def _is_constraint(self, index: Index) -> bool:
        """Whether the catalog has a unique constraint with the name of an index; False without a connection."""
        uniques = self._described(index, Inspector.get_unique_constraints)
        if index.name not in {each["name"] for each in uniques}:
            return False
        return index.name not in {each["name"] for each in self._described(index, Inspector.get_indexes)}

    def _described(self, index: Index, read: Any) -> list[Any]:
        if self.connection is None or self.as_sql:
            return []
        table = cast(Table, index.table)
        try:
            return list(read(inspect(self.connection), table.name, table.schema))
        except NoSuchTableError:
            return []

    # --- what Informix lacks --------------------------------------------------------------------------------------

    def create_table_comment(self, table: Table) -> None:
        """Leave the comment out, with a warning."""
        warn(_NO_COMMENTS)

    def drop_table_comment(self, table: Table) -> None:
        """Leave the comment as it is: there is none."""

    def create_column_comment(self, column: Column[Any]) -> None:
        """Leave the comment out, with a warning."""
        warn(_NO_COMMENTS)

    # --- batches and offline scripts ------------------------------------------------------------------------------

    def prep_table_for_batch(self, batch_impl: Any, table: Table) -> None:
        """Drop the constraints whose names the new table takes: names are unique in the database.

        The foreign keys of other tables that reference this one are dropped with it, and added to the new one.
        """
        self._references = [] if self.as_sql else constraints.references_to(self._inspector(), table)
        for constraint in table.constraints:
            if constraint.name is not None and constraint.name in batch_impl.named_constraints:
                self.drop_constraint(constraint)

    def rename_table(self, old_table_name: str, new_table_name: str, schema: str | None = None) -> None:
        """RENAME TABLE; the end of a batch adds the foreign keys that it dropped."""
        super().rename_table(old_table_name, new_table_name, schema)
        references, self._references = self._references, []
        for reference in references:
            self.add_constraint(reference)

    def _inspector(self) -> Inspector:
        assert self.connection is not None, "there is one unless a script is written"
        return inspect(self.connection)

    def emit_begin(self) -> None:
        """BEGIN WORK in a script."""
        self.static_output("BEGIN WORK" + self.command_terminator)

    def emit_commit(self) -> None:
        """COMMIT WORK in a script."""
        self.static_output("COMMIT WORK" + self.command_terminator)

    def static_output(self, text: str) -> None:
        """Write a statement, unless it is empty: an index that a constraint has is not created."""
        if text != self.command_terminator:
            super().static_output(text)

    # --- autogenerate ---------------------------------------------------------------------------------------------

    def correct_for_autogen_constraints(
        self,
        conn_uniques: set[UniqueConstraint],
        conn_indexes: set[Index],
        metadata_unique_constraints: set[UniqueConstraint],
        metadata_indexes: set[Index],
    ) -> None:
        """Leave out indexes that only one side has and that a constraint on the same columns implies.

        Informix indexes the columns of each key by itself, and refuses a second index on them (-350). A unique index
        on the columns of a foreign key is a unique constraint of that name there. A unique constraint without a name
        there is that of the model with the same columns.
        """
        constraints = {(each.name, *each.columns.keys()): each for each in conn_uniques}
        for index in [each for each in metadata_indexes if each.unique]:
            constraint = constraints.get((index.name, *index.columns.keys()))
            if constraint is not None:
                conn_uniques.discard(constraint)
                metadata_indexes.discard(index)
            elif _is_on_foreign_key(index):
                index.dialect_kwargs[_CONSTRAINT] = True  # the script needs it if it runs offline
        unnamed = {tuple(each.columns.keys()): each for each in conn_uniques if _is_generated(each.name)}
        for unique in list(metadata_unique_constraints):
            constraint = unnamed.get(tuple(unique.columns.keys()))
            if constraint is not None:
                conn_uniques.discard(constraint)
                metadata_unique_constraints.discard(unique)
        existing, wanted = ({index.name for index in indexes} for indexes in (conn_indexes, metadata_indexes))
        for indexes, others, uniques in (
            (metadata_indexes, existing, metadata_unique_constraints),
            (conn_indexes, wanted, conn_uniques),
        ):
            for index in [each for each in indexes if each.name not in others]:
                if _is_implied(index, uniques):
                    indexes.discard(index)

    def compare_type(self, inspector_column: Column[Any], metadata_column: Column[Any]) -> bool:
        """Whether the types differ, by the text that each has in DDL."""
        compiler = self.dialect.type_compiler_instance
        found, wanted = (
            compare.canonical_type(compiler.process(column.type, type_expression=column))
            for column in (inspector_column, metadata_column)
        )
        return found != wanted and compare.without_owners(found) != wanted

    def compare_server_default(
        self,
        inspector_column: Column[Any],
        metadata_column: Column[Any],
        rendered_metadata_default: str | None,
        rendered_inspector_default: str | None,
    ) -> bool:
        """Whether the defaults differ, as values of the column: a model's has the text that it has in DDL."""
        ddl_compiler = self.dialect.ddl_compiler(self.dialect, cast(Any, None))  # of no statement
        wanted = ddl_compiler.get_column_default_string(metadata_column)
        forms = [
            compare.canonical_default(sql, metadata_column.type)
            for sql in (rendered_inspector_default, wanted)
        ]
        return forms[0] != forms[1]

    def compare_indexes(self, metadata_index: Index, reflected_index: Index) -> ComparisonResult:
        """Whether two indexes differ: uniqueness, columns, functions and directions."""
        different = self._compare_index_unique(metadata_index, reflected_index)
        if different:
            return ComparisonResult.Different(different)
        wanted, found = (self._keys(index) for index in (metadata_index, reflected_index))
        if wanted != found:
            return ComparisonResult.Different(f"keys ({', '.join(found)}) to ({', '.join(wanted)})")
        return ComparisonResult.Equal()

    def _keys(self, index: Index) -> list[str]:
        """What an index has in its parentheses, each in one form."""
        texts = [self.render_ddl_sql_expr(cast(Any, each)) for each in index.expressions]
        return [re.sub(r" ASC$", "", " ".join(text.split()), flags=re.I).replace('"', "") for text in texts]

    def render_ddl_sql_expr(self, expr: ClauseElement, is_server_default: bool = False, **kw: Any) -> str:
        """A default as text that DDL accepts, or another expression.

        The current time has no qualifier in it: the column's is added in DDL.
        """
        if is_server_default and isinstance(expr, (True_, False_)):
            return "'t'" if isinstance(expr, True_) else "'f'"
        if is_server_default and getattr(expr, "name", None) in (
            "now",
            "current_timestamp",
            "localtimestamp",
        ):
            return "CURRENT_TIMESTAMP"
        return super().render_ddl_sql_expr(expr, is_server_default, **kw)

    def render_type(self, type_obj: TypeEngine[Any], autogen_context: AutogenContext) -> str | Literal[False]:
        """A type of the dialect in a script, and the import that it needs; False for others."""
        if not type(type_obj).__module__.startswith(_TYPES):
            return False
        autogen_context.imports.add(f"import {_TYPES} as informix")
        return f"informix.{type(type_obj).__name__}({', '.join(_arguments(type_obj, autogen_context))})"


def _is_generated(name: object) -> bool:
    """Whether Informix generated the name of a constraint, from a letter, the table's number and its own."""
    return isinstance(name, str) and re.fullmatch(r"[a-z]\d+_\d+", name) is not None


def _is_on_foreign_key(index: Index) -> bool:
    """Whether a model has a foreign key on the columns of an index."""
    names = [getattr(key, "name", None) for key in index.expressions]
    constraints = () if index.table is None else index.table.foreign_key_constraints
    return any([column.name for column in each.columns] == names for each in constraints)


def _is_implied(index: Index, uniques: set[UniqueConstraint]) -> bool:
    """Whether a primary key, unique constraint or foreign key has an index on the same columns."""
    if not all(isinstance(each, Column) for each in index.expressions):
        return False
    for constraint in (*uniques, *(index.table.constraints if index.table is not None else ())):
        is_key = isinstance(constraint, (PrimaryKeyConstraint, UniqueConstraint))
        if not is_key and (index.unique or not isinstance(constraint, ForeignKeyConstraint)):
            continue
        if [each.name for each in index.columns] == [each.name for each in constraint.columns]:
            return True
    return False


def _column(
    inspector: Inspector | None, table: str, name: str, schema: str | None, known: Mapping[str, Any]
) -> Column[Any]:
    """The column as it is to be, from what is known and else from the catalog.

    Raises:
        alembic.util.CommandError: the table has no such column, or something is unknown without a catalog.
    """
    found: Mapping[str, Any] = {}
    if inspector is not None:
        columns = inspector.get_columns(table, schema)
        if not (same := [column for column in columns if column["name"] == name]):
            raise CommandError(f"alter_column {table}.{name}: no such column")
        found = same[0]
    missing = [f"existing_{key}" for key in ("type", "nullable") if known[key] is None and key not in found]
    if missing:
        options = ", ".join(missing)
        raise CommandError(f"alter_column {table}.{name}: {options}: expected, as MODIFY repeats the column")
    type_ = to_instance(known["type"] if known["type"] is not None else found["type"])
    nullable = known["nullable"] if known["nullable"] is not None else found["nullable"]
    default = _argument(known["default"])
    if default is False and isinstance(sql := found.get("default"), str):
        default = text(sql)
    serial = known["autoincrement"]
    if serial is None:
        serial = found.get("autoincrement") is True
    if serial and type_._type_affinity is Integer:
        # Only the key of a table is numbered, so it is one here: DDL of a column has no PRIMARY KEY.
        column: Column[Any] = Column(name, type_, primary_key=True, autoincrement=True)
    else:
        column = Column(name, type_, nullable=nullable, server_default=None if default is False else default)
    return column


def _argument(default: Any) -> Any:
    """What to give as `server_default` to a column, for a default that another column has."""
    return default.arg if isinstance(default, DefaultClause) else default


def _arguments(type_obj: TypeEngine[Any], autogen_context: AutogenContext) -> list[str]:
    """The arguments that construct a type, as Python."""
    found: list[str] = []
    for parameter in list(introspection.signature(type(type_obj).__init__).parameters.values())[1:]:
        value = getattr(type_obj, parameter.name, None)
        if parameter.kind is parameter.VAR_KEYWORD or value is None or value == parameter.default:
            continue
        found.append(f"{parameter.name}={_python(value, autogen_context)}")
    return found


def _python(value: Any, autogen_context: AutogenContext) -> str:
    # Alembic is not complete when this module is loaded.
    from alembic.autogenerate.render import _repr_type as repr_type

    if isinstance(value, TypeEngine):
        return str(repr_type(value, autogen_context))
    if isinstance(value, tuple):
        items = "".join(f"{_python(item, autogen_context)}, " for item in value)
        return f"({items})"
    return repr(value)


Hook = Callable[[Any, Any, list[ops.MigrationScript]], None]
"""The option `process_revision_directives` of an environment."""

_DROPPED_FIRST: Final = 0
_CREATED_LAST: Final = 2


def ordering(hook: Hook | None) -> Hook:
    """A hook that orders the operations of scripts that autogenerate writes, and then calls another hook.

    A foreign key has an index on its columns, and Informix refuses another one on them (-350). So keys are dropped
    before indexes are created, and created after indexes are dropped.
    """

    def ordered(context: Any, revision: Any, scripts: list[ops.MigrationScript]) -> None:
        for script in scripts:
            for operations in (*script.upgrade_ops_list, *script.downgrade_ops_list):
                for each in operations.ops:
                    if isinstance(each, ops.ModifyTableOps):
                        each.ops = sorted(each.ops, key=_place)
        if hook is not None:
            hook(context, revision, scripts)

    return ordered


def _place(operation: ops.MigrateOperation) -> int:
    if isinstance(operation, ops.DropConstraintOp) and operation.constraint_type == "foreignkey":
        return _DROPPED_FIRST
    return _CREATED_LAST if isinstance(operation, ops.CreateForeignKeyOp) else 1
