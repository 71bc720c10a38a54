"""CREATE, ALTER and DROP of tables, columns, constraints, indexes, views and sequences. Never: queries, types.

Source: the grammar is documented (Guide to SQL: Syntax, the statements of these names): a constraint's name follows it,
ON DELETE has CASCADE only, defaults are literals and a few words, there are no comments in the catalog.
"""

# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportUnknownArgumentType=false
# pyright: reportMissingParameterType=false, reportUnknownVariableType=false, reportIncompatibleMethodOverride=false
# pyright: reportPrivateUsage=false
# SQLAlchemy's compilers are annotated in part.

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

from sqlalchemy import exc, schema
from sqlalchemy.sql import compiler, elements, functions, sqltypes

from aioifx.sqlalchemy.type_compiler import InformixTypeCompiler, space_name
from aioifx.sqlalchemy.types import datetime_literal, zone_of

__all__ = ["CONSTRUCT_ARGUMENTS", "InformixDDLCompiler", "InformixTypeCompiler"]

Options: TypeAlias = Mapping[str, Any]

CONSTRUCT_ARGUMENTS: Final[list[tuple[type[Any], Mapping[str, Any]]]] = [
    (
        schema.Table,
        {
            "no_log": False,
            "with": (),
            "in": None,
            "fragment_by": None,
            "put": None,
            "extent_size": None,
            "next_size": None,
            "compressed": False,
            "lock_mode": None,
        },
    ),
    (
        schema.Index,
        {
            "cluster": False,
            "using": None,
            "fillfactor": None,
            "in": None,
            "fragment_by": None,
            "online": False,
            "constraint": False,
        },
    ),
]
"""Names and defaults of the options of tables and indexes, which have the prefix ``informix_`` in their keywords."""

_SERIALS: Final = {"INTEGER": "SERIAL", "BIGINT": "BIGSERIAL", "INT8": "SERIAL8"}
_SHADOW_COLUMNS: Final = ("audit", "crcols", "erkey", "replcheck", "rowids", "vercols")
_LOCK_MODES: Final = ("page", "row")

_NOW: Final = ("now", "current_timestamp", "localtimestamp", "sysdate")
_NOW_TEXTS: Final = ("current", "current_timestamp", "now()")
_TRUTHS: Final = {"t": "'t'", "true": "'t'", "1": "'t'", "f": "'f'", "false": "'f'", "0": "'f'"}


class InformixDDLCompiler(compiler.DDLCompiler):
    """Compiles CREATE, ALTER and DROP. What Informix lacks is a CompileError."""

    # -- tables -------------------------------------------------------------------------------------------------------

    def visit_create_table(self, create: Any, **kw: Any) -> str:
        """CREATE TABLE. Informix spells TEMPORARY as TEMP."""
        text: str = super().visit_create_table(create, **kw)  # type: ignore[no-untyped-call]
        return text.replace("CREATE TEMPORARY TABLE ", "CREATE TEMP TABLE ", 1)

    def post_create_table(self, table: schema.Table) -> str:
        """The clauses after the columns."""
        options: Options = table.dialect_options["informix"]
        text = " WITH NO LOG" if options["no_log"] else ""
        words = options["with"]
        for word in (words,) if isinstance(words, str) else words:
            text += f" WITH {_word('with', word, _SHADOW_COLUMNS)}"
        text += self._storage(options)
        if options["put"]:
            text += f" PUT {', '.join(self._put(*item) for item in options['put'].items())}"
        for name in ("extent_size", "next_size"):
            if options[name] is not None:
                text += f" {name.upper().replace('_', ' ')} {int(options[name])}"
        if options["compressed"]:
            text += " COMPRESSED"
        if options["lock_mode"]:
            text += f" LOCK MODE {_word('lock_mode', options['lock_mode'], _LOCK_MODES)}"
        return text

    def _storage(self, options: Options) -> str:
        """IN or FRAGMENT BY, of a table or an index."""
        if options["in"] and options["fragment_by"]:
            raise exc.CompileError("informix_in and informix_fragment_by: expected one of them")
        if options["fragment_by"]:
            return f" FRAGMENT BY {options['fragment_by']}"
        return f" IN {space_name(options['in'])}" if options["in"] else ""

    def _put(self, column: str, spaces: Any) -> str:
        """Where the values of a BLOB or CLOB column are stored."""
        names = (spaces,) if isinstance(spaces, str) else spaces
        return f"{self.preparer.quote(column)} IN ({', '.join(map(space_name, names))})"

    # -- columns ------------------------------------------------------------------------------------------------------

    def get_column_specification(self, column: schema.Column[Any], **kwargs: Any) -> str:
        """A column in CREATE TABLE: name, type, default, NOT NULL."""
        if column.computed is not None:
            raise exc.CompileError("Computed: Informix has no computed columns")
        text = f"{self.preparer.format_column(column)} {self.column_type(column)}"
        default = self.get_column_default_string(column)
        if default is not None:
            text += f" DEFAULT {default}"
        return text if column.nullable else f"{text} NOT NULL"

    def column_type(self, column: schema.Column[Any]) -> str:
        """The text of a column's type; SERIAL, BIGSERIAL or SERIAL8 for a column that the server numbers.

        A SMALLINT key stays as it is: Informix has no serial of this type, and foreign keys need the same type.
        """
        text = self.dialect.type_compiler_instance.process(column.type, type_expression=column)
        if column.identity is not None:
            return _identity(column.identity, text)
        return _SERIALS.get(text, text) if _is_numbered(column) else text

    def get_column_default_string(self, column: schema.Column[Any]) -> str | None:
        """What follows DEFAULT: a literal of the column's type or one of Informix's words.

        `func.now()` is CURRENT with the column's qualifier, which Informix requires.
        """
        default = column.server_default
        if not isinstance(default, schema.DefaultClause):
            return None
        impl, value = column.type.dialect_impl(self.dialect), default.arg
        if isinstance(value, elements.BindParameter):
            return self._literal_default(value.value, impl)
        if isinstance(value, (elements.True_, elements.False_)):
            return "'t'" if isinstance(value, elements.True_) else "'f'"
        if isinstance(value, str):
            return self._text_default(value, impl)
        return _word_default(value, impl) or self.render_default_string(value)

    def _literal_default(self, value: Any, impl: Any) -> str:
        """A default from `literal()`."""
        if isinstance(impl, sqltypes.Boolean):
            return "'t'" if value else "'f'"
        process = impl.literal_processor(self.dialect)
        if process is None or isinstance(impl, (sqltypes.Date, sqltypes.JSON)):
            hint = "; pass its text, in the form of DBDATE" if isinstance(impl, sqltypes.Date) else ""
            raise exc.CompileError(f"DEFAULT: {impl!r} has no literal there{hint}")
        text: str = process(value)
        return text

    def _text_default(self, value: str, impl: Any) -> str:
        """A default from a str, which Informix wants without quotes for numbers and as a literal for datetimes."""
        if isinstance(impl, (sqltypes.Integer, sqltypes.Numeric, sqltypes.Float)) and _is_number(value):
            return value.strip()
        if isinstance(impl, sqltypes.Boolean):
            return _TRUTHS.get(value.strip("' ").lower(), self.render_default_string(value))
        if isinstance(impl, sqltypes.DateTime):
            try:
                return datetime_literal(
                    dt.datetime.fromisoformat(value), _qualifier_of(impl), zone_of(self.dialect)
                )
            except ValueError:
                pass
        return self.render_default_string(value)

    # -- constraints --------------------------------------------------------------------------------------------------

    # SQLAlchemy writes the name first; a method for that alone exists since 2.1 only.

    def visit_primary_key_constraint(self, constraint: Any, **kw: Any) -> str:
        return self._named_last(constraint, super().visit_primary_key_constraint(constraint, **kw))

    def visit_unique_constraint(self, constraint: Any, **kw: Any) -> str:
        return self._named_last(constraint, super().visit_unique_constraint(constraint, **kw))

    def visit_foreign_key_constraint(self, constraint: Any, **kw: Any) -> str:
        return self._named_last(constraint, super().visit_foreign_key_constraint(constraint, **kw))

    def visit_check_constraint(self, constraint: Any, **kw: Any) -> str:
        text: str = super().visit_check_constraint(constraint, **kw)  # type: ignore[no-untyped-call]
        return self._named_last(constraint, text)

    def visit_column_check_constraint(self, constraint: Any, **kw: Any) -> str:
        text: str = super().visit_column_check_constraint(constraint, **kw)  # type: ignore[no-untyped-call]
        return self._named_last(constraint, text)

    def _named_last(self, constraint: Any, text: str) -> str:
        name = None if constraint.name is None else self.preparer.format_constraint(constraint)
        if name is None or not text:
            return text
        return f"{text.removeprefix(f'CONSTRAINT {name} ')} CONSTRAINT {name}"

    def define_constraint_deferrability(self, constraint: Any) -> str:
        """Nothing: every constraint can be deferred with SET CONSTRAINTS, and none is deferred before that."""
        if (constraint.initially or "").upper() == "DEFERRED" or constraint.deferrable is False:
            raise exc.CompileError("Informix has deferrable constraints only, checked immediately by default")
        return ""

    def define_constraint_match(self, constraint: Any) -> str:
        if constraint.match is not None:
            raise exc.CompileError("match: Informix has no MATCH clause")
        return ""

    def define_constraint_ondelete_cascade(self, constraint: Any) -> str:
        action = constraint.ondelete.upper()
        if action == "CASCADE":
            return " ON DELETE CASCADE"
        return _default_action("ondelete", action)

    def define_constraint_onupdate_cascade(self, constraint: Any) -> str:
        return _default_action("onupdate", constraint.onupdate.upper())

    def visit_add_constraint(self, create: Any, **kw: Any) -> str:
        table = self.preparer.format_table(create.element.table)
        return f"ALTER TABLE {table} ADD CONSTRAINT {self.process(create.element)}"

    def visit_drop_constraint(self, drop: Any, **kw: Any) -> str:
        if drop.if_exists or drop.cascade:
            raise exc.CompileError("DROP CONSTRAINT: Informix has neither IF EXISTS nor CASCADE here")
        text: str = super().visit_drop_constraint(drop, **kw)  # type: ignore[no-untyped-call]
        return text

    # -- indexes ------------------------------------------------------------------------------------------------------

    def visit_create_index(
        self, create: Any, include_schema: bool = True, include_table_schema: bool = True, **kw: Any
    ) -> str:
        """CREATE INDEX, with its options in the order of Informix's grammar; the table's owner owns the index.

        Nothing for the columns of a constraint: Informix indexes them by itself and refuses another index (-350). A
        unique index on those of a foreign key is a unique constraint, for which Informix makes the key's index unique.
        """
        index: Any = create.element
        self._verify_index_table(index)
        if index.name is None:
            raise exc.CompileError("CREATE INDEX requires that the index have a name")
        keys = ", ".join(
            self.sql_compiler.process(key, include_table=False, literal_binds=True)
            for key in index.expressions
        )
        table = self.preparer.format_table(index.table, use_schema=include_table_schema)
        if _is_unique_constraint(index):
            if create.if_not_exists:
                raise exc.CompileError(f"{index.name}: Informix has no IF NOT EXISTS for unique constraints")
            name = self._prepared_index_name(index)
            return f"ALTER TABLE {table} ADD CONSTRAINT UNIQUE ({keys}) CONSTRAINT {name}"
        if _constraint_of(index):
            return ""
        options: Options = index.dialect_options["informix"]
        words = ["CREATE"]
        words += ["UNIQUE"] if index.unique else []
        words += ["CLUSTER"] if options["cluster"] else []
        words += ["INDEX IF NOT EXISTS" if create.if_not_exists else "INDEX"]
        name = self._prepared_index_name(index, include_schema=include_schema)
        return f"{' '.join(words)} {name} ON {table} ({keys}){self._index_options(options)}"

    def visit_drop_index(self, drop: Any, **kw: Any) -> str:
        """DROP INDEX, or the unique constraint in its place; an index that CREATE INDEX left out may be missing."""
        index: Any = drop.element
        if index.table is not None and _is_unique_constraint(index):
            if drop.if_exists:
                raise exc.CompileError(f"{index.name}: Informix has no IF EXISTS for unique constraints")
            table = self.preparer.format_table(index.table)
            return f"ALTER TABLE {table} DROP CONSTRAINT {self._prepared_index_name(index)}"
        text: str = super().visit_drop_index(drop, **kw)  # type: ignore[no-untyped-call]
        if index.table is None or not _constraint_of(index) or drop.if_exists:
            return text
        return text.replace("DROP INDEX ", "DROP INDEX IF EXISTS ", 1)

    def _index_options(self, options: Options) -> str:
        text = f" USING {options['using']}" if options["using"] else ""
        if options["fillfactor"] is not None:
            text += f" FILLFACTOR {int(options['fillfactor'])}"
        text += self._storage(options)
        return text + " ONLINE" if options["online"] else text

    # -- views, and tables from queries (SQLAlchemy 2.1) --------------------------------------------------------------

    def visit_create_view(self, element: Any, **kw: Any) -> str:
        """CREATE VIEW with its columns' names, which expressions need."""
        if element.or_replace or element.materialized or element.temporary:
            raise exc.CompileError(
                "CREATE VIEW: Informix has neither OR REPLACE nor MATERIALIZED nor TEMPORARY"
            )
        names = ", ".join(map(self.preparer.quote, element.table.columns.keys()))
        exists = "IF NOT EXISTS " if element.if_not_exists else ""
        query = self._query_of(element, kw)
        return f"CREATE VIEW {exists}{self.preparer.format_table(element.table)} ({names}) AS {query}"

    def visit_drop_view(self, drop: Any, **kw: Any) -> str:
        if drop.materialized:
            raise exc.CompileError("DROP VIEW: Informix has no materialized views")
        text: str = super().visit_drop_view(drop, **kw)  # type: ignore[no-untyped-call]
        return text

    def visit_create_table_as(self, element: Any, **kw: Any) -> str:
        """CREATE TABLE ... AS, or SELECT ... INTO TEMP."""
        table, query = self.preparer.format_table(element.table), self._query_of(element, kw)
        if not element.temporary:
            exists = "IF NOT EXISTS " if element.if_not_exists else ""
            return f"CREATE TABLE {exists}{table} AS {query}"
        if element.if_not_exists:
            raise exc.CompileError("INTO TEMP: Informix has no IF NOT EXISTS here")
        return f"{query} INTO TEMP {table}"

    def _query_of(self, element: Any, kw: dict[str, Any]) -> str:
        return self.sql_compiler.process(element.selectable, **(kw | {"literal_binds": True}))

    # -- sequences and schemas ----------------------------------------------------------------------------------------

    def get_identity_options(self, identity_options: Any) -> str:
        """The options of a sequence; Informix spells NOMINVALUE, NOMAXVALUE and NOCYCLE as one word."""
        text = super().get_identity_options(identity_options)
        for words in ("NO MINVALUE", "NO MAXVALUE", "NO CYCLE"):
            text = text.replace(words, words.replace(" ", ""))
        return text

    def visit_create_schema(self, create: Any, **kw: Any) -> str:
        raise exc.CompileError("CREATE SCHEMA: schemas are the owners of tables in Informix")

    def visit_drop_schema(self, drop: Any, **kw: Any) -> str:
        raise exc.CompileError("DROP SCHEMA: schemas are the owners of tables in Informix")


def _constraint_of(index: schema.Index) -> str:
    """The kind of a constraint of the table that has the columns of the index, in this order; empty if none has.

    Keys and unique constraints come first: they make a unique index needless.
    """
    keys = [key.name if isinstance(key, schema.Column) else None for key in index.expressions]
    kinds: dict[str, Any] = {
        "key": (schema.PrimaryKeyConstraint, schema.UniqueConstraint),
        "foreign key": schema.ForeignKeyConstraint,
    }
    assert index.table is not None
    for kind, classes in kinds.items():
        for constraint in index.table.constraints:
            if isinstance(constraint, classes) and keys == [
                column.name for column in _columns_of(constraint)
            ]:
                return kind
    return ""


def _is_unique_constraint(index: schema.Index) -> bool:
    """Whether a unique constraint stands for an index: as an option says, or on the columns of a foreign key."""
    options: Options = index.dialect_options["informix"]
    return bool(options["constraint"]) or (bool(index.unique) and _constraint_of(index) == "foreign key")


def _columns_of(constraint: Any) -> Any:
    """The columns of a constraint in the order of its DDL."""
    if isinstance(constraint, schema.PrimaryKeyConstraint) and constraint._implicit_generated:
        return constraint.columns_autoinc_first
    return constraint.columns


def _is_numbered(column: schema.Column[Any]) -> bool:
    """Whether the server numbers the column: the integer primary key without a default."""
    if column is not column.table.autoincrement_column:
        return False
    default = column.default
    has_default = default is not None and not (isinstance(default, schema.Sequence) and default.optional)
    return not has_default and column.server_default is None


def _identity(identity: schema.Identity, text: str) -> str:
    """A serial type with its first number."""
    if text not in _SERIALS:
        raise exc.CompileError(f"Identity: expected INTEGER, BIGINT or INT8, got {text}")
    if identity.increment not in (None, 1) or identity.cycle or identity.minvalue or identity.maxvalue:
        raise exc.CompileError("Identity: a serial column of Informix has a start only")
    return _SERIALS[text] if identity.start is None else f"{_SERIALS[text]}({identity.start})"


def _word_default(value: Any, impl: Any) -> str | None:
    """One of Informix's words for a default; None for other expressions."""
    name = ""
    if isinstance(value, elements.TextClause):
        name = "now" if value.text.strip().lower() in _NOW_TEXTS else ""
    elif isinstance(value, functions.FunctionElement):
        name = str(getattr(value, "name", "")).lower()
    if name in _NOW or name in ("current_date", "current_time", "localtime"):
        return (
            "TODAY" if isinstance(impl, sqltypes.Date) else f"CURRENT {_qualifier_of(impl).datetime_text()}"
        )
    return "USER" if name in ("user", "current_user", "session_user") else None


def _qualifier_of(impl: Any) -> Any:
    try:
        return impl.qualifier
    except AttributeError:
        raise exc.CompileError(
            f"DEFAULT: expected a DATETIME column for the current time, got {impl!r}"
        ) from None


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _word(option: str, value: Any, allowed: tuple[str, ...]) -> str:
    word = str(value)
    if word.lower() not in allowed:
        raise exc.CompileError(f"informix_{option}: expected one of {', '.join(allowed)}, got {value!r}")
    return word.upper()


def _default_action(option: str, action: str) -> str:
    """Nothing for the action that Informix always takes."""
    if action in ("NO ACTION", "RESTRICT"):
        return ""
    raise exc.CompileError(f"{option}: Informix has ON DELETE CASCADE only, got {action}")
