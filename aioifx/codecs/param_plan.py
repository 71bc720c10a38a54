"""How values of common classes are encoded for one parameter, generated or native. Never: a byte order.

The constant bytes of an entry are cut from an entry that its binder, the reference, makes for a sample.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from aioifx.codecs.bind_values import Binder, binder_for, is_character
from aioifx.codecs.conversions import STANDARD, Adapter
from aioifx.codecs.large_objects import is_large_object
from aioifx.codecs.temporal import common_step, qualifier_of
from aioifx.codecs.text import CodeSet
from aioifx.codecs.type_text import cached_by_type
from aioifx.sqltypes import (
    SERIALS,
    SqlType,
    TypeCode,
    Unit,
)
from aioifx.wire.fields import is_named


class PackOp(IntEnum):
    """How a value is encoded. `_speedups/param_encoder.pyx` has the same numbers."""

    OTHER = 0
    """By its binder."""
    CONSTANT = 1
    """The head alone."""
    SMALL = 2
    """An int in two bytes, less than *limit* and greater than -limit."""
    INT = 3
    """The same with four bytes."""
    LONG = 4
    """The same with eight."""
    SPLIT = 5
    """Sign, low half, high half: INT8."""
    DOUBLE = 6
    """A float other than NaN."""
    SINGLE = 7
    """The same with four bytes."""
    WHOLE = 8
    """An int less than *limit* and greater than -limit, as a double."""
    DAY = 9
    """A date: days since DATE's day 0."""
    MOMENT = 10
    """A datetime, naive or of the rule's zone, in eleven bytes and a pad, cut to *limit* microseconds."""
    CLOCK = 11
    """A naive time without microseconds, in four bytes."""
    TRUTH = 12
    """The head for True, *other* for False."""
    SHORT_TEXT = 13
    """A str of *limit* bytes at most: 2 size · bytes · pad to even."""
    LONG_TEXT = 14
    """The same with a size of four bytes."""
    NUMBER = 15
    """A finite Decimal, int or float in base 100, less than 10 to the power of *limit*."""


class PackRule(NamedTuple):
    """How a value of one class becomes an entry."""

    op: PackOp
    bind: Binder
    """The reference."""
    head: bytes = b""
    """The first bytes of each entry."""
    other: bytes = b""
    limit: int = 0
    refuses_nul: bool = False
    """Text must not begin with NUL."""
    zone: dt.tzinfo | None = None
    """Of aware datetimes that are stored as they are: that of the option timezone."""


class PackRules(NamedTuple):
    """How one parameter is encoded."""

    by_class: Mapping[type[object], PackRule]
    rest: PackRule
    """For every other class."""

    def for_class(self, kind: type[object]) -> PackRule:
        """The form for a value of just this class."""
        return self.by_class.get(kind, self.rest)


_ByType: TypeAlias = Callable[[SqlType, Binder], Mapping[type[object], PackRule]]

_SHORTEST: Final = 6
"""Type, indicator, precision."""

_EXACT: Final = 1 << 53
"""Every int below is a double."""

_ANY_SIZE: Final = 1 << 20
"""More digits than a Decimal has that SQLI can send."""

_MAX_SHORT_TEXT: Final = 32_767


def _integer(op: PackOp, width: int) -> _ByType:
    def rules(sql_type: SqlType, bind: Binder) -> Mapping[type[object], PackRule]:
        rule = PackRule(op, bind, bind(0)[:-width], limit=1 << (8 * min(width, 8) - 1))
        return {int: rule, bool: rule}

    return rules


def _int8(sql_type: SqlType, bind: Binder) -> Mapping[type[object], PackRule]:
    return {int: PackRule(PackOp.SPLIT, bind, bind(0)[:_SHORTEST], limit=1 << 63)}


def _float(sql_type: SqlType, bind: Binder) -> Mapping[type[object], PackRule]:
    return {
        float: PackRule(PackOp.DOUBLE, bind, bind(0.0)[:_SHORTEST]),
        int: PackRule(PackOp.WHOLE, bind, bind(0.0)[:_SHORTEST], limit=_EXACT),
        Decimal: _number(bind, _ANY_SIZE),
    }


def _smallfloat(sql_type: SqlType, bind: Binder) -> Mapping[type[object], PackRule]:
    return {float: PackRule(PackOp.SINGLE, bind, bind(0.0)[:_SHORTEST]), Decimal: _number(bind, _ANY_SIZE)}


def _number(bind: Binder, limit: int) -> PackRule:
    return PackRule(PackOp.NUMBER, bind, bind(Decimal(0))[:4], limit=limit)


def _decimal(sql_type: SqlType, bind: Binder) -> Mapping[type[object], PackRule]:
    scale = sql_type.scale
    limit = _ANY_SIZE if scale is None else (sql_type.precision or 0) - scale
    return dict.fromkeys((Decimal, int, float), _number(bind, limit))


def _date(sql_type: SqlType, bind: Binder) -> Mapping[type[object], PackRule]:
    return {dt.date: PackRule(PackOp.DAY, bind, bind(dt.date.min)[:_SHORTEST])}


def _datetime(sql_type: SqlType, bind: Binder) -> Mapping[type[object], PackRule]:
    qualifier, by_class = qualifier_of(sql_type), dict[type[object], PackRule]()
    if step := common_step(qualifier):
        by_class[dt.datetime] = _moment(bind, step)
    if qualifier.first == Unit.HOUR and qualifier.last >= Unit.SECOND:
        by_class[dt.time] = _clock(bind)
    return by_class


def _moment(bind: Binder, step: int) -> PackRule:
    return PackRule(PackOp.MOMENT, bind, bind(dt.datetime(1, 1, 1))[:-12], limit=step)


def _clock(bind: Binder) -> PackRule:
    return PackRule(PackOp.CLOCK, bind, bind(dt.time(1))[:-4])


def _truth(sql_type: SqlType | None, bind: Binder) -> Mapping[type[object], PackRule]:
    return {bool: PackRule(PackOp.TRUTH, bind, bind(True), bind(False))}


_BY_TYPE: Final[dict[int, _ByType]] = {
    TypeCode.SMALLINT: _integer(PackOp.SMALL, 2),
    TypeCode.INTEGER: _integer(PackOp.INT, 4),
    TypeCode.BIGINT: _integer(PackOp.LONG, 8),
    TypeCode.INT8: _int8,
    TypeCode.FLOAT: _float,
    TypeCode.SMALLFLOAT: _smallfloat,
    TypeCode.DATE: _date,
    TypeCode.DECIMAL: _decimal,
    TypeCode.MONEY: _decimal,
    TypeCode.DATETIME: _datetime,
    TypeCode.BOOLEAN: _truth,
}
_BY_TYPE.update({code: _BY_TYPE[base] for code, base in SERIALS.items()})


@cached_by_type
def rules_for(sql_type: SqlType | None, code_set: CodeSet, adapter: Adapter = STANDARD) -> PackRules:
    """How one parameter is encoded, by its described type; None if the server did not describe it."""
    bind = binder_for(sql_type, code_set)
    by_class: dict[type[object], PackRule] = {type(None): PackRule(PackOp.CONSTANT, bind, bind(None))}
    if sql_type is None:
        by_class |= _undescribed(bind)
    elif not is_large_object(sql_type):
        by_class[str] = _text(sql_type, bind)
        described = _BY_TYPE.get(sql_type.kind)
        by_class |= described(sql_type, bind) if described else {}
    if not adapter.is_standard:
        bind, zone = binder_for(sql_type, code_set, adapter), adapter.only_zone
        as_is = adapter.as_is if zone is None else {*adapter.as_is, dt.datetime}
        by_class = {
            kind: rule._replace(bind=bind, zone=zone) for kind, rule in by_class.items() if kind in as_is
        }
    return PackRules(by_class, PackRule(PackOp.OTHER, bind))


def _text(sql_type: SqlType | None, bind: Binder) -> PackRule:
    empty = bind("")
    size = sql_type.size or 0 if sql_type else 0
    refuses_nul = sql_type is not None and is_character(sql_type)
    if is_named(int.from_bytes(empty[:2], "big")):
        return PackRule(
            PackOp.LONG_TEXT, bind, empty[:-4], limit=size or (1 << 31) - 1, refuses_nul=refuses_nul
        )
    limit = min(size or _MAX_SHORT_TEXT, _MAX_SHORT_TEXT)
    return PackRule(PackOp.SHORT_TEXT, bind, empty[:-2], limit=limit, refuses_nul=refuses_nul)


def _undescribed(bind: Binder) -> Mapping[type[object], PackRule]:
    """By the class of the value; an int that does not fit INTEGER is left to the binder."""
    return {
        int: PackRule(PackOp.INT, bind, bind(0)[:_SHORTEST], limit=1 << 31),
        bool: PackRule(PackOp.TRUTH, bind, bind(True), bind(False)),
        float: PackRule(PackOp.DOUBLE, bind, bind(0.0)[:_SHORTEST]),
        Decimal: _number(bind, _ANY_SIZE),
        str: _text(None, bind),
        dt.date: PackRule(PackOp.DAY, bind, bind(dt.date.min)[:_SHORTEST]),
        dt.datetime: _moment(bind, 10),
        dt.time: _clock(bind),
    }
