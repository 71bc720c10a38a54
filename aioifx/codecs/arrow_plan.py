"""How Arrow's columns are encoded natively, by the types of both sides. Never: a byte order, an address of a value.

A column is planned for the types whose values need no Python object. Every other column is encoded value by value, by
the encoder of rows, into entries that native code copies. The values of a dictionary are encoded likewise, each once.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import IntEnum
from typing import Final, NamedTuple

from aioifx.codecs.arrow_rows import ArrowColumn, ArrowField, ArrowRows
from aioifx.codecs.base import Codec, Encode, Kind
from aioifx.codecs.conversions import Adapter
from aioifx.codecs.param_plan import PackOp, PackRule, PackRules
from aioifx.codecs.temporal import common_step, qualifier_of
from aioifx.codecs.text import MAX_VARCHAR, CodeSet
from aioifx.sqltypes import FLOATING_SCALE, SqlType, TypeCode, Unit
from aioifx.wire.opcodes import MAX_TEXT


class Source(IntEnum):
    """How a value is read. `_speedups/arrow_encoder.pyx` has the same numbers."""

    SIGNED_1 = 0
    SIGNED_2 = 1
    SIGNED_4 = 2
    SIGNED_8 = 3
    UNSIGNED_1 = 4
    UNSIGNED_2 = 5
    UNSIGNED_4 = 6
    UNSIGNED_8 = 7
    WIDE = 8
    """The low half of 16 bytes, if it is the whole number."""
    SINGLE = 9
    DOUBLE = 10
    BIT = 11
    TEXT_4 = 12
    """Between two offsets of 4 bytes."""
    TEXT_8 = 13
    VIEW = 14
    ENTRY = 15
    """The entry of the row."""


class WireForm(IntEnum):
    """How a value is written. `_speedups/arrow_encoder.pyx` has the same numbers."""

    BY_ENTRY = 0
    """As its entry."""
    INTEGER = 1
    SPLIT = 2
    """Sign, low half, high half: INT8."""
    WHOLE = 3
    """An integer as a double."""
    FLOAT = 4
    SMALLFLOAT = 5
    DAY = 6
    MOMENT = 7
    CLOCK = 8
    DECIMAL_FIELD = 9
    DECIMAL_PARAM = 10
    TRUTH = 11
    CHAR_FIELD = 12
    VARCHAR_FIELD = 13
    LVARCHAR_FIELD = 14
    SHORT_PARAM = 15
    LONG_PARAM = 16


class Plan(NamedTuple):
    """How the values of one column are encoded."""

    encode: Encode
    """The reference, NULL included."""
    null: bytes
    form: WireForm = WireForm.BY_ENTRY
    source: Source = Source.ENTRY
    """Of the values; for a dictionary of its indices."""
    head: bytes = b""
    """The first bytes of each value."""
    other: bytes = b""
    """Instead of *head*: False."""
    width: int = 0
    limit: int = 0
    """The greatest number, or the most bytes of text; of a time the microseconds of a step."""
    scale: int = 0
    """Digits after the point of the numbers that are read."""
    pads: bool = False
    """A time has a pad, a parameter its scale, or the point of a field floats."""
    refuses_nul: bool = False
    """Text must not begin with NUL."""
    times: int = 1
    """Microseconds of a unit of time, divided by *parts*."""
    parts: int = 1


class ArrowFrame(NamedTuple):
    """The bytes around a row."""

    head: bytes
    size_at: int
    """Where the head has the size of the row; -1 if it has none."""
    tail: bytes


class Reading(NamedTuple):
    """Where the values of a column are in one batch, for native code."""

    source: Source
    validity: int
    offset: int
    values: int
    data: int
    """Of text; for views where the sizes of the further buffers are."""
    buffers: bytes
    """Addresses of the further buffers of views."""
    times: int
    parts: int
    entries: list[bytes | None] | None
    """Encoded values, as far as they are known."""
    fill: Callable[[int], bytes | None] | None
    """Encodes an entry; None if it is refused."""


_INTEGERS: Final = {
    "c": Source.SIGNED_1,
    "C": Source.UNSIGNED_1,
    "s": Source.SIGNED_2,
    "S": Source.UNSIGNED_2,
    "i": Source.SIGNED_4,
    "I": Source.UNSIGNED_4,
    "l": Source.SIGNED_8,
    "L": Source.UNSIGNED_8,
}
_FLOATS: Final = {"f": Source.SINGLE, "g": Source.DOUBLE}
_TEXTS: Final = {"u": Source.TEXT_4, "U": Source.TEXT_8, "vu": Source.VIEW}
_DECIMALS: Final = {"32": Source.SIGNED_4, "64": Source.SIGNED_8, "128": Source.WIDE}
_UNITS: Final = {"s": (1_000_000, 1), "m": (1_000, 1), "u": (1, 1), "n": (1, 1_000)}
_MOMENTS: Final = ("tss:", "tsm:", "tsu:", "tsn:")
_CLOCKS: Final = {
    "tts": Source.SIGNED_4,
    "ttm": Source.SIGNED_4,
    "ttu": Source.SIGNED_8,
    "ttn": Source.SIGNED_8,
}

_LONGEST: Final = (1 << 63) - 1
_MAX_DIGITS: Final = 19
"""Of a number of 64 bits."""


class _Numbers(NamedTuple):
    """A source of whole numbers, and the digits after their point."""

    source: Source
    scale: int = 0


def _decimals(form: str) -> _Numbers | None:
    """The numbers of a decimal or integer that native code reads."""
    if form in _INTEGERS:
        return _Numbers(_INTEGERS[form])
    kind, _, details = form.partition(":")
    if kind == "d":
        _, scale, *bits = details.split(",")
        source = _DECIMALS.get(bits[0] if bits else "128")
        if source is not None and int(scale) >= 0 and (source != Source.WIDE or sys.byteorder == "little"):
            return _Numbers(source, int(scale))
    return None


def _most(digits: int) -> int:
    """The greatest number of so many digits that has 64 bits."""
    power: int = 10 ** min(max(digits, 0), _MAX_DIGITS)
    return min(power - 1, _LONGEST)


# --- rows of a table ------------------------------------------------------------------------------------------------

_WIDTHS: Final = (Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT)


def field_plan(field: ArrowField, codec: Codec, adapter: Adapter, code_set: CodeSet) -> Plan:
    """How a column becomes a field of a row. An option timezone concerns no Arrow type but timestamps of a zone."""
    plan = Plan(codec.encode, codec.encode(None))
    if field.dictionary is not None:
        return plan._replace(source=_INTEGERS[field.format])
    if not adapter.is_standard and adapter.only_zone is None:
        return plan
    form, kind = _stored_form(field.format, adapter.only_zone), codec.kind
    if form in _INTEGERS and kind in (*_WIDTHS, Kind.INT8):
        width = codec.width if kind in _WIDTHS else 8
        shape = WireForm.INTEGER if kind in _WIDTHS else WireForm.SPLIT
        limit = (1 << 8 * width - 1) - 1
        return plan._replace(form=shape, source=_INTEGERS[form], width=width, limit=limit)
    if form in _FLOATS and kind in (Kind.FLOAT, Kind.SMALLFLOAT):
        shape = WireForm.FLOAT if kind == Kind.FLOAT else WireForm.SMALLFLOAT
        return plan._replace(form=shape, source=_FLOATS[form])
    if form == "tdD" and kind == Kind.DATE:
        return plan._replace(form=WireForm.DAY, source=Source.SIGNED_4)
    if form == "b" and kind == Kind.BOOLEAN:
        return plan._replace(
            form=WireForm.TRUTH, source=Source.BIT, head=codec.encode(True), other=codec.encode(False)
        )
    if kind == Kind.DATETIME:
        qualifier = qualifier_of(SqlType(TypeCode.DATETIME, codec.detail))
        if form in _MOMENTS and (step := common_step(qualifier)):
            return _times(plan, form, step, codec.width)
        if form in _CLOCKS and (step := common_step(qualifier, Unit.HOUR)):
            return _times(plan, form, step, codec.width)
    if kind == Kind.DECIMAL:
        return _decimal_field(plan, field, codec)
    if form in _TEXTS and code_set.keeps_ascii:
        return _text_field(plan._replace(source=_TEXTS[form]), codec)
    return plan


def _stored_form(form: str, zone: dt.tzinfo | None) -> str:
    """The type itself; for a timestamp of a zone that of one without, if the option timezone is UTC as well."""
    return form[:4] if zone is dt.UTC and form[:4] in _MOMENTS else form


def _times(plan: Plan, form: str, step: int, width: int) -> Plan:
    times, parts = _UNITS[form[2]]
    shape = WireForm.MOMENT if form in _MOMENTS else WireForm.CLOCK
    found = plan._replace(form=shape, source=_CLOCKS.get(form, Source.SIGNED_8), limit=step, width=width)
    return found._replace(times=times, parts=parts)


def _decimal_field(plan: Plan, field: ArrowField, codec: Codec) -> Plan:
    numbers = _decimals(field.format)
    precision, scale = codec.detail >> 8, codec.detail & 0xFF
    if numbers is None or (scale != FLOATING_SCALE and numbers.scale > scale):
        return plan
    digits = precision if scale == FLOATING_SCALE else precision - scale + numbers.scale
    floats = scale == FLOATING_SCALE
    found = plan._replace(form=WireForm.DECIMAL_FIELD, source=numbers.source, width=codec.width, pads=floats)
    return found._replace(scale=numbers.scale, limit=_most(digits))


def _text_field(plan: Plan, codec: Codec) -> Plan:
    if codec.kind == Kind.CHAR:
        return plan._replace(form=WireForm.CHAR_FIELD, width=codec.width, limit=codec.width, refuses_nul=True)
    if codec.kind == Kind.VARCHAR:
        limit = min(codec.capacity or MAX_VARCHAR, MAX_VARCHAR)
        return plan._replace(form=WireForm.VARCHAR_FIELD, limit=limit)
    if codec.kind == Kind.LVARCHAR:
        return plan._replace(form=WireForm.LVARCHAR_FIELD, head=b"\0", limit=codec.capacity or MAX_TEXT)
    return plan._replace(source=Source.ENTRY)


# --- parameters -----------------------------------------------------------------------------------------------------

_PACKED: Final = {PackOp.SMALL: 2, PackOp.INT: 4, PackOp.LONG: 8}


def param_plan(field: ArrowField, rules: PackRules, code_set: CodeSet, zone: dt.tzinfo | None = None) -> Plan:
    """How a column becomes the entry of a parameter.

    Args:
        zone: of the option timezone.
    """
    bind = rules.rest.bind
    plan = Plan(bind, bind(None))
    if field.dictionary is not None:
        return plan._replace(source=_INTEGERS[field.format])
    form = _stored_form(field.format, zone)
    if form in _INTEGERS:
        return _whole_param(plan, field, rules.for_class(int))
    if form in _FLOATS:
        rule = rules.for_class(float)
        if rule.op in (PackOp.DOUBLE, PackOp.SINGLE):
            shape = WireForm.FLOAT if rule.op == PackOp.DOUBLE else WireForm.SMALLFLOAT
            return plan._replace(form=shape, source=_FLOATS[form], head=rule.head)
    elif form == "tdD":
        rule = rules.for_class(dt.date)
        if rule.op == PackOp.DAY:
            return plan._replace(form=WireForm.DAY, source=Source.SIGNED_4, head=rule.head)
    elif form == "b":
        rule = rules.for_class(bool)
        if rule.op == PackOp.TRUTH:
            return plan._replace(form=WireForm.TRUTH, source=Source.BIT, head=rule.head, other=rule.other)
    elif form in _MOMENTS:
        rule = rules.for_class(dt.datetime)
        if rule.op == PackOp.MOMENT:
            return _times(plan, form, rule.limit, 11)._replace(head=rule.head, pads=True)
    elif form in _CLOCKS:
        rule = rules.for_class(dt.time)
        if rule.op == PackOp.CLOCK:
            return _times(plan, form, 1_000_000, 4)._replace(head=rule.head, pads=True)
    elif form in _TEXTS and code_set.keeps_ascii:
        return _text_param(plan._replace(source=_TEXTS[form]), rules.for_class(str))
    else:
        return _decimal_param(plan, field, rules.for_class(Decimal))
    return plan


def _whole_param(plan: Plan, field: ArrowField, rule: PackRule) -> Plan:
    found = plan._replace(source=_INTEGERS[field.format], head=rule.head, limit=rule.limit - 1)
    if rule.op in _PACKED:
        return found._replace(form=WireForm.INTEGER, width=_PACKED[rule.op])
    if rule.op == PackOp.SPLIT:
        return found._replace(form=WireForm.SPLIT)
    if rule.op == PackOp.WHOLE:
        return found._replace(form=WireForm.WHOLE)
    return _decimal_param(plan, field, rule)


def _decimal_param(plan: Plan, field: ArrowField, rule: PackRule) -> Plan:
    numbers = _decimals(field.format)
    if numbers is None or rule.op != PackOp.NUMBER:
        return plan
    found = plan._replace(form=WireForm.DECIMAL_PARAM, source=numbers.source, head=rule.head)
    pads = rule.head[1] != TypeCode.MONEY
    return found._replace(scale=numbers.scale, limit=_most(rule.limit + numbers.scale), pads=pads)


def _text_param(plan: Plan, rule: PackRule) -> Plan:
    forms = {PackOp.SHORT_TEXT: WireForm.SHORT_PARAM, PackOp.LONG_TEXT: WireForm.LONG_PARAM}
    if rule.op not in forms:
        return plan._replace(source=Source.ENTRY)
    return plan._replace(form=forms[rule.op], head=rule.head, limit=rule.limit, refuses_nul=rule.refuses_nul)


# --- columns of a batch ---------------------------------------------------------------------------------------------


def readings(plans: Sequence[Plan], rows: ArrowRows) -> list[Reading]:
    """Where the values of *rows* are; indices count from the first row of the batch."""
    known, found = rows.readings
    if known is not plans:
        found = [_reading(plan, rows, place) for place, plan in enumerate(plans)]
        rows.readings = plans, found
    return found


def _reading(plan: Plan, rows: ArrowRows, place: int) -> Reading:
    column = rows.column(place)
    is_text = plan.source in (Source.TEXT_4, Source.TEXT_8)
    if plan.source == Source.ENTRY or (is_text and not all(column.buffers[1:])):
        entries, fill = _entries_of_rows(plan.encode, rows, place)
        return Reading(Source.ENTRY, 0, 0, 0, 0, b"", 1, 1, entries, fill)
    if column.dictionary is not None:
        entries, fill = _entries_of_dictionary(plan.encode, rows, place, column.dictionary)
        return _located(plan, column)._replace(entries=entries, fill=fill)
    return _located(plan, column)


def _located(plan: Plan, column: ArrowColumn) -> Reading:
    buffers = column.buffers
    validity = buffers[0] if column.has_nulls else 0
    is_view, is_text = plan.source == Source.VIEW, plan.source in (Source.TEXT_4, Source.TEXT_8)
    more = b"".join(address.to_bytes(8, sys.byteorder) for address in buffers[2:-1]) if is_view else b""
    data = column.buffer(2) if is_text else column.buffer(len(buffers) - 1) if more else 0
    return Reading(
        plan.source, validity, column.offset, column.buffer(1), data, more, plan.times, plan.parts, None, None
    )


_Entries = tuple[list[bytes | None], Callable[[int], bytes | None]]


def _entries_of_rows(encode: Encode, rows: ArrowRows, place: int) -> _Entries:
    values = rows.values(place)
    return _entries(encode, len(values), values.__getitem__)


def _entries_of_dictionary(encode: Encode, rows: ArrowRows, place: int, dictionary: ArrowColumn) -> _Entries:
    if (found := dictionary.entries.get((encode, place))) is None:
        read = rows.dictionary_value(place)
        found = dictionary.entries[encode, place] = _entries(encode, dictionary.length, read)
    return found


def _entries(encode: Encode, count: int, value: Callable[[int], object]) -> _Entries:
    entries: list[bytes | None] = [None] * count

    def fill(index: int) -> bytes | None:
        try:
            entry = entries[index] = encode(value(index))
        except Exception:
            return None
        return entry

    return entries, fill
