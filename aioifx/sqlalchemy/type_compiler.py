"""The text of types in DDL and casts. Never: columns, values.

Source: names, limits and defaults are documented (Guide to SQL: Reference, data types).
"""

# pyright: reportIncompatibleMethodOverride=false, reportUnknownMemberType=false
# SQLAlchemy's compilers are annotated in part.

from __future__ import annotations

from typing import Any, Final, cast

from sqlalchemy import exc
from sqlalchemy.sql import compiler, elements, sqltypes

from aioifx.sqlalchemy.binary import is_hex
from aioifx.sqlalchemy.types import HOUR_TO_FRACTION, YEAR_TO_FRACTION, is_text_by_option

MAX_VARCHAR: Final = 255
DEFAULT_LVARCHAR: Final = 2048
MAX_LVARCHAR: Final = 32_739
MAX_PRECISION: Final = 32


def _is_cast(kw: dict[str, Any]) -> bool:
    return isinstance(kw.get("type_expression"), elements.TypeClause)


class InformixTypeCompiler(compiler.GenericTypeCompiler):
    """Compiles types.

    In casts a type without a length has the greatest, and TEXT is LVARCHAR: Informix cannot cast to TEXT.
    """

    # -- numbers ------------------------------------------------------------------------------------------------------

    def visit_INT8(self, type_: Any, **kw: Any) -> str:
        return "INT8"

    def visit_SERIAL(self, type_: Any, **kw: Any) -> str:
        return self._serial("SERIAL", "INTEGER", type_, kw)

    def visit_SERIAL8(self, type_: Any, **kw: Any) -> str:
        return self._serial("SERIAL8", "INT8", type_, kw)

    def visit_BIGSERIAL(self, type_: Any, **kw: Any) -> str:
        return self._serial("BIGSERIAL", "BIGINT", type_, kw)

    def _serial(self, name: str, plain: str, type_: Any, kw: dict[str, Any]) -> str:
        if _is_cast(kw):
            return plain
        return name if type_.start is None else f"{name}({type_.start})"

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        return "FLOAT"

    visit_DOUBLE = visit_DOUBLE_PRECISION = visit_FLOAT

    def visit_SMALLFLOAT(self, type_: Any, **kw: Any) -> str:
        return "SMALLFLOAT"

    visit_REAL = visit_SMALLFLOAT

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:
        return _decimal("DECIMAL", type_)

    visit_DECIMAL = visit_NUMERIC

    def visit_MONEY(self, type_: Any, **kw: Any) -> str:
        return _decimal("MONEY", type_)

    # -- text and bytes -----------------------------------------------------------------------------------------------

    def visit_CHAR(self, type_: Any, **kw: Any) -> str:
        return self._text("CHAR", type_, type_.length)

    def visit_NCHAR(self, type_: Any, **kw: Any) -> str:
        return self._text("NCHAR", type_, type_.length)

    def visit_VARCHAR(self, type_: Any, **kw: Any) -> str:
        return self._varying("VARCHAR", type_, kw)

    def visit_NVARCHAR(self, type_: Any, **kw: Any) -> str:
        return self._varying("NVARCHAR", type_, kw)

    def _varying(self, name: str, type_: Any, kw: dict[str, Any]) -> str:
        """The type for a length: VARCHAR up to 255 bytes, LVARCHAR beyond.

        A column without a length has 255 bytes, the most that an index on a 2-KB page takes.
        """
        length = type_.length or (MAX_LVARCHAR if _is_cast(kw) else MAX_VARCHAR)
        if length > MAX_VARCHAR:
            return self._text("LVARCHAR", type_, length)
        reserve = getattr(type_, "reserve", None)
        return self._text(name, type_, f"{length},{reserve}" if reserve else length)

    def visit_enum(self, type_: Any, **kw: Any) -> str:
        """A length in bytes of UTF-8; SQLAlchemy's counts characters."""
        length = max([type_.length or 0, *(len(value.encode()) for value in type_.enums)])
        return self.visit_VARCHAR(sqltypes.VARCHAR(length, collation=type_.collation), **kw)

    def visit_LVARCHAR(self, type_: Any, **kw: Any) -> str:
        return self._text("LVARCHAR", type_, type_.length or (MAX_LVARCHAR if _is_cast(kw) else None))

    def _text(self, name: str, type_: Any, length: int | str | None) -> str:
        if type_.collation is not None:
            raise exc.CompileError(f"{name}: a column of Informix has no collation of its own")
        if isinstance(length, int) and length > MAX_LVARCHAR:
            raise exc.CompileError(f"{name}: expected a length up to {MAX_LVARCHAR}, got {length}; use Text")
        return name if length is None else f"{name}({length})"

    def visit_TEXT(self, type_: Any, **kw: Any) -> str:
        """TEXT, or LVARCHAR by the option text_type."""
        length: int | None = cast(Any, self.dialect).text_length
        if length is not None and is_text_by_option(type_):
            return self._text("LVARCHAR", type_, min(type_.length or length, MAX_LVARCHAR))
        if _is_cast(kw):
            return self._text("LVARCHAR", type_, MAX_LVARCHAR)
        return self._text("TEXT", type_, None) + _space_of(type_)

    visit_text = visit_unicode_text = visit_TEXT

    def visit_BYTE(self, type_: Any, **kw: Any) -> str:
        if _is_cast(kw):
            raise exc.CompileError("BYTE: Informix has no cast to it")
        return "BYTE" + _space_of(type_)

    visit_large_binary = visit_BYTE

    def visit_BINARY(self, type_: Any, **kw: Any) -> str:
        """Hexadecimal text, which can be a key and be compared; without a length BYTE. See `binary`."""
        return f"CHAR({2 * type_.length})" if is_hex(type_) else self.visit_BYTE(type_, **kw)

    def visit_VARBINARY(self, type_: Any, **kw: Any) -> str:
        if not is_hex(type_):
            return self.visit_BYTE(type_, **kw)
        return self._varying("VARCHAR", sqltypes.VARCHAR(2 * type_.length), kw)

    def visit_NCLOB(self, type_: Any, **kw: Any) -> str:
        return "CLOB"

    def visit_UUID(self, type_: Any, **kw: Any) -> str:
        return "CHAR(32)"

    # -- dates and times ----------------------------------------------------------------------------------------------

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:
        return f"DATETIME {getattr(type_, 'qualifier', YEAR_TO_FRACTION).datetime_text()}"

    visit_TIMESTAMP = visit_DATETIME

    def visit_TIME(self, type_: Any, **kw: Any) -> str:
        return f"DATETIME {getattr(type_, 'qualifier', HOUR_TO_FRACTION).datetime_text()}"

    def visit_INTERVAL(self, type_: Any, **kw: Any) -> str:
        return f"INTERVAL {type_.qualifier.interval_text()}"

    # -- documents, rows, collections ---------------------------------------------------------------------------------

    def visit_JSON(self, type_: Any, **kw: Any) -> str:
        return "JSON"

    def visit_BSON(self, type_: Any, **kw: Any) -> str:
        return "BSON"

    def visit_ROW(self, type_: Any, **kw: Any) -> str:
        if isinstance(type_.of, str):
            return f"ROW({type_.of})"
        quote = self.dialect.identifier_preparer.quote
        fields = (f"{quote(name)} {self.process(field)}" for name, field in type_.fields)
        return f"ROW({', '.join(fields)})"

    def visit_LIST(self, type_: Any, **kw: Any) -> str:
        return self._collection("LIST", type_)

    def visit_MULTISET(self, type_: Any, **kw: Any) -> str:
        return self._collection("MULTISET", type_)

    def visit_SET(self, type_: Any, **kw: Any) -> str:
        return self._collection("SET", type_)

    def _collection(self, name: str, type_: Any) -> str:
        return f"{name}({type_.of if isinstance(type_.of, str) else f'{self.process(type_.item_type)} NOT NULL'})"

    def visit_NAMED_TYPE(self, type_: Any, **kw: Any) -> str:
        preparer = self.dialect.identifier_preparer
        owner = "" if type_.owner is None else preparer.quote_schema(type_.owner) + "."
        return owner + preparer.quote(type_.name)


def _space_of(type_: Any) -> str:
    space = getattr(type_, "space", None)
    return "" if space is None else f" IN {space_name(space)}"


def _decimal(name: str, type_: Any) -> str:
    precision, scale = type_.precision, type_.scale
    if precision is None:
        return name
    if not 1 <= precision <= MAX_PRECISION:
        raise exc.CompileError(f"{name}: expected a precision from 1 to {MAX_PRECISION}, got {precision}")
    return f"{name}({precision})" if scale is None else f"{name}({precision},{scale})"


def space_name(name: str) -> str:
    """The name of a dbspace, blobspace or sbspace, which cannot be quoted (documented: delimited identifiers).

    Raises:
        sqlalchemy.exc.CompileError: it has other characters than a name.
    """
    if not name.replace("_", "a").replace("$", "a").isalnum() or not name.isascii() or name[0].isdigit():
        raise exc.CompileError(f"storage: expected the name of a space, got {name!r}")
    return name
