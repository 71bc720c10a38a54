"""ROW, collections and types of the database, with the literals of their values. Never: types without parts.

aioifx converts the values; SQLAlchemy's types of fields and elements give their DDL and literals.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportIncompatibleMethodOverride=false
# SQLAlchemy annotates its types in part.

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sqlalchemy import exc
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import sqltypes
from sqlalchemy.sql.type_api import to_instance

from aioifx.codecs.type_text import parse_type
from aioifx.rows import Record

Process: TypeAlias = Callable[[Any], Any]
"""Converts one value, None included."""


def quoted(text: str) -> str:
    """A literal of text."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _element_literal(type_: sqltypes.TypeEngine[Any], dialect: Dialect) -> Process:
    """Literals within ROW and collections: expressions such as casts and MDY() are not allowed there."""
    impl = type_.dialect_impl(dialect)
    process = impl.literal_processor(dialect)
    if isinstance(impl, sqltypes.Boolean):
        process = _truth_literal
    elif process is None or isinstance(impl, (sqltypes.Date, sqltypes.JSON)):
        raise exc.CompileError(f"{type_!r} has no literal within a row or collection")
    return lambda value: "NULL" if value is None else process(value)


def _truth_literal(value: Any) -> str:
    return "'t'" if value else "'f'"


Fields: TypeAlias = tuple[tuple[str, sqltypes.TypeEngine[Any]], ...]


def _parsed(kind: str, text: str) -> Fields:
    """The fields of a row, or the element of a collection, that SQL describes. Their types are the server's matter."""
    sql_type = parse_type(f"{kind}({text})")
    if sql_type is None:
        raise exc.ArgumentError(f"{kind}: expected the SQL of its types, got {text!r}")
    return tuple((column.name, sqltypes.NullType()) for column in sql_type.fields)


class ROW(sqltypes.TypeEngine[Any]):
    """ROW(name type, ...), from a mapping of names to types, or from SQL: ``ROW("a INTEGER, b DATE")``.

    From SQL it has no literals.
    Values are `aioifx.Record`; parameters are dicts, Records and dataclasses by name, or sequences by position.
    """

    __visit_name__ = "ROW"

    def __init__(self, of: Mapping[str, Any] | tuple[tuple[str, Any], ...] | str) -> None:
        items = _parsed("ROW", of) if isinstance(of, str) else of.items() if isinstance(of, Mapping) else of
        self.fields: Fields = tuple((name, to_instance(type_)) for name, type_ in items)
        self.of = of if isinstance(of, str) else self.fields

    @property
    def python_type(self) -> type[Any]:
        return Record

    def literal_processor(self, dialect: Dialect) -> Process | None:
        names = [name for name, _ in self.fields]
        literals = [_element_literal(type_, dialect) for _, type_ in self.fields]

        def process(value: Any) -> str:
            values = [value[name] for name in names] if isinstance(value, Mapping) else value
            return f"ROW({','.join(write(item) for write, item in zip(literals, values, strict=True))})"

        return process


class _Collection(sqltypes.TypeEngine[Any]):
    def __init__(self, of: Any) -> None:
        is_sql = isinstance(of, str)
        self.item_type: sqltypes.TypeEngine[Any] = (
            _parsed(self.__visit_name__, of)[0][1] if is_sql else to_instance(of)
        )
        self.of = of if is_sql else self.item_type

    hashable = False

    @property
    def python_type(self) -> type[Any]:
        return list

    def literal_processor(self, dialect: Dialect) -> Process | None:
        write, name = _element_literal(self.item_type, dialect), self.__visit_name__
        return lambda value: f"{name}{{{','.join(map(write, value))}}}"


class LIST(_Collection):
    """LIST(type NOT NULL), or from SQL, without literals: ``LIST("INTEGER NOT NULL")``; values are lists."""

    __visit_name__ = "LIST"


class MULTISET(_Collection):
    """MULTISET(type NOT NULL); values are lists."""

    __visit_name__ = "MULTISET"


class SET(_Collection):
    """SET(type NOT NULL); values are sets, or lists if their elements are not hashable."""

    __visit_name__ = "SET"

    @property
    def python_type(self) -> type[Any]:
        return set


class NamedType(sqltypes.TypeEngine[Any]):
    """A type that the database defines: a named ROW type, a DISTINCT type, an opaque type.

    Values are the same as in aioifx. A literal is text: ``'...'::name``.
    """

    __visit_name__ = "NAMED_TYPE"

    def __init__(self, name: str, owner: str | None = None) -> None:
        self.name, self.owner = name, owner

    def literal_processor(self, dialect: Dialect) -> Process | None:
        name = dialect.type_compiler_instance.process(self)

        def process(value: Any) -> str:
            if not isinstance(value, str):
                raise exc.CompileError(f"{name}: expected the text of a literal, got {type(value).__name__}")
            return f"{quoted(value)}::{name}"

        return process
