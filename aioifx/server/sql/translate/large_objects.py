"""BYTE, TEXT, BLOB and CLOB in SQL: where they are refused, subscripts, casts, assignment. Never: their storage.

Source: the SQLCODEs are documented for BYTE and TEXT; that BLOB and CLOB have the same ones is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, Protocol

from aioifx.server.sql.builtin_types import BLOB, BYTE, CLOB, TEXT, lvarchar
from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.type_rules import INT8, INTEGER, LONG_TEXT, Family, family_of, is_large
from aioifx.server.sql.sqlite.tree import Case, Is, Literal, Node, Parameter, call
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.typed import Typed
from aioifx.sqltypes import SqlType

BAD_SUBSCRIPT: Final = -607
NO_CONVERSION: Final = -608
NO_INDEX: Final = -610
NO_GROUP: Final = -612
NO_DISTINCT: Final = -613
NO_ORDER: Final = -614
NOT_LARGE: Final = -617
_NO_CAST: Final = -9634
_NO_ROUTINE: Final = -674

LENGTHS: Final = frozenset({"length", "len", "octet_length"})
"""Functions that return the bytes of a BYTE or TEXT value, trailing blanks included (documented: LENGTH)."""


def refuse_large(values: Iterable[Typed], sqlcode: int, offset: int) -> None:
    """Raise *sqlcode* if one of the values is a large object."""
    for value in values:
        if value.type is not None and is_large(value.type):
            raise SqlError(sqlcode, offset=offset)


def refuse_keys(table: Table, names: Sequence[nodes.Name]) -> None:
    """Raise -610 for a key or index over a large object."""
    for name in names:
        column = table.column(name.text)
        if column is not None and is_large(column.type):
            raise SqlError(NO_INDEX, token=name.text, offset=name.offset)


def refuse_nested(type_: SqlType, offset: int) -> None:
    """Raise -999 for a type with large objects inside a ROW or collection."""
    parts = type_.parts if isinstance(type_, ComplexType) else ()
    if any(is_large(part) for part in parts):
        raise SqlError(-999, token=str(type_), offset=offset)
    for part in parts:
        refuse_nested(part, offset)


def large_subscript(operand: Typed, first: int, last: int, offset: int) -> Typed:
    """``c[first,last]`` of BYTE and TEXT: a value of the same type (assumed); bytes beyond its end are left out."""
    if not 1 <= first <= last:
        raise SqlError(BAD_SUBSCRIPT, offset=offset)
    part = call("substr", operand.sql, first, last - first + 1)  # NULL for an empty value
    empty = Case(((Is(operand.sql, is_negated=True), Literal(b"")),))
    return Typed(call("ifnull", part, empty), operand.type, operand.is_nullable)


def check_large(value: Typed, target: SqlType) -> None:
    """Check a value that INSERT or UPDATE stores, if it or its column is a large object.

    Raises:
        SqlError: -617, a large object is needed; -608, the two types differ.
    """
    if value.type is None or value.type == target:
        return
    raise SqlError(NO_CONVERSION if is_large(value.type) else NOT_LARGE)


_CASTS: Final = {(BYTE, BLOB), (TEXT, CLOB)}
"""The casts of large objects (documented: BYTE to BLOB, TEXT to CLOB)."""


def large_cast(operand: Typed, target: SqlType, offset: int) -> Typed:
    """``::`` from or to a large object.

    Raises:
        SqlError: -9634, no such cast.
    """
    source = operand.known_type
    if source == target:
        return operand
    if (source, target) in _CASTS:
        return Typed(call("ifx_object_of", operand.sql), target, operand.is_nullable)
    raise SqlError(_NO_CAST, token=f"{source} {target}", offset=offset)


def kept(value: Typed, parameter: int) -> Typed:
    """A column of a result: a BYTE or TEXT value is kept for SQ_FETCHBLOB, and the row has its number.

    Args:
        parameter: the number of the ``?`` that is bound to the cursor's number.
    """
    if value.type is None or family_of(value.type) is not Family.SIMPLE_LARGE:
        return value
    return Typed(call("ifx_keep", value.sql, Parameter(parameter)), value.type, value.is_nullable)


# -- routines ----------------------------------------------------------------------------------------------------------


class ArgumentTranslator(Protocol):
    """A translator of arguments, which may be large objects."""

    context: Context

    def any_value(self, node: nodes.Expression, hint: SqlType | None = None) -> Typed: ...


def _object_argument(translator: ArgumentTranslator, node: nodes.Call) -> Typed:
    """The first argument: a BLOB or CLOB, or NULL.

    Raises:
        SqlError: -674, it is another value.
    """
    value = translator.any_value(node.arguments[0])
    if value.type is not None and family_of(value.type) is not Family.SMART_LARGE:
        raise SqlError(_NO_ROUTINE, token=node.name, offset=node.offset)
    return value


def _locopy(translator: ArgumentTranslator, node: nodes.Call) -> Typed:
    """LOCOPY(object [, table, column]); there is one kind of storage, so the column does not matter."""
    if len(node.arguments) not in (1, 3):
        raise SqlError(_NO_ROUTINE, token=node.name, offset=node.offset)
    value = _object_argument(translator, node)
    return replace(value, sql=call("ifx_locopy", value.sql), type=value.type or BLOB)


def _file_to_object(type_: SqlType) -> Callable[[ArgumentTranslator, nodes.Call], Typed]:
    """FILETOBLOB(name, place [, table, column]) and FILETOCLOB."""

    def build(translator: ArgumentTranslator, node: nodes.Call) -> Typed:
        if len(node.arguments) not in (2, 4):
            raise SqlError(_NO_ROUTINE, token=node.name, offset=node.offset)
        name, place = (_text(translator, each, node) for each in node.arguments[:2])
        return Typed(call("ifx_filetoblob", name, place), type_)

    return build


def _object_to_file(translator: ArgumentTranslator, node: nodes.Call) -> Typed:
    """LOTOFILE(object, name, place), which returns the name of the file."""
    if len(node.arguments) != 3:
        raise SqlError(_NO_ROUTINE, token=node.name, offset=node.offset)
    value = _object_argument(translator, node)
    name, place = (_text(translator, each, node) for each in node.arguments[1:])
    translator.context.transfers = True
    return Typed(call("ifx_lotofile", value.sql, name, place), lvarchar())


def _text(translator: ArgumentTranslator, node: nodes.Expression, whole: nodes.Call) -> Node:
    value = translator.any_value(node, LONG_TEXT)
    if value.type is not None and family_of(value.type) is not Family.TEXT:
        raise SqlError(_NO_ROUTINE, token=whole.name, offset=whole.offset)
    return value.sql


_POSITIONS: Final = {"ifx_lo_open": 2, "ifx_lo_close": 1, "ifx_lo_seek": 3, "ifx_lo_tell": 1}
"""Routines on descriptors, with their numbers of arguments. They are those of the fast path, without OUT parameters.

Source: observed: informix-driver, ``SELECT ifx_lo_open(column, 4) FROM t``; assumed: that the others can be called so.
"""

_OBJECT_WITHOUT_SQL: Final = (
    "ifx_lo_read ifx_lo_readwithseek ifx_lo_write ifx_lo_writewithseek ifx_lo_stat ifx_lo_truncate ifx_lo_create"
    " ifx_lo_release ifx_lo_col_sbinfo"
).split()
"""Those that move bytes, change an object, or return opaque types: refused by name in SQL.

Source: documented: SQL calls LOCOPY, FILETOBLOB, FILETOCLOB and LOTOFILE (Guide to SQL: Syntax, "Smart-Large-Object
Functions"). ODBC calls these by the fast path, with arguments of opaque types (ODBC Driver Programmer's Manual).
"""


def _on_descriptor(translator: ArgumentTranslator, node: nodes.Call) -> Typed:
    """IFX_LO_OPEN(object, mode), IFX_LO_CLOSE(descriptor), IFX_LO_SEEK(descriptor, offset, whence), IFX_LO_TELL."""
    if len(node.arguments) != _POSITIONS[node.name]:
        raise SqlError(_NO_ROUTINE, token=node.name, offset=node.offset)
    first, *numbers = node.arguments
    is_open = node.name == "ifx_lo_open"
    arguments = [_object_argument(translator, node) if is_open else _integer(translator, first, node)]
    arguments += [_integer(translator, each, node) for each in numbers]
    type_ = INTEGER if node.name in ("ifx_lo_open", "ifx_lo_close") else INT8
    return Typed(call("ifx_lo", node.name, *(each.sql for each in arguments)), type_)


def _integer(translator: ArgumentTranslator, node: nodes.Expression, whole: nodes.Call) -> Typed:
    value = translator.any_value(node, INTEGER)
    if value.type is not None and family_of(value.type) is not Family.INTEGER:
        raise SqlError(_NO_ROUTINE, token=whole.name, offset=whole.offset)
    return value


def _without_sql(translator: ArgumentTranslator, node: nodes.Call) -> Typed:
    raise SqlError(-999, token=node.name.upper(), offset=node.offset)


SMART_ROUTINES: Final[dict[str, Callable[[ArgumentTranslator, nodes.Call], Typed]]] = {
    "locopy": _locopy,
    "filetoblob": _file_to_object(BLOB),
    "filetoclob": _file_to_object(CLOB),
    "lotofile": _object_to_file,
    **dict.fromkeys(_POSITIONS, _on_descriptor),
    **dict.fromkeys(_OBJECT_WITHOUT_SQL, _without_sql),
}
"""Functions of smart large objects, by name."""
