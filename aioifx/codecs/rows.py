"""A run of tuples <-> rows: the hot loop's frame, and the reference for it. Never: where the rows go.

Wire: 2 tag 14 · 2 warnings · 4 size · size bytes · pad to even; nothing is padded inside a row
Source: observed, gbase8s_messages.json, tuple_payloads.json

Invariants:
1. A function made for the shape, native or generated, decodes common values; any other row is decoded by
   the reference, which decodes it or raises. All agree on every row (tested).
2. A row whose fields do not end where its frame ends raises ProtocolError: nothing after it can be trusted.
3. An invalid value raises DataError, and the stream is intact: from the position before the call, the caller can skip
   whole messages by their sizes. Rows decoded before that one are in the list.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from aioifx.codecs.arrow_rows import ArrowRows
from aioifx.codecs.base import Codec, Kind
from aioifx.codecs.conversions import PLAIN, STANDARD, Adapter, Adapters, Conversions
from aioifx.codecs.native import (
    TUPLES_AT_ONCE,
    EncodeArrow,
    EncodeRows,
    leave_all,
    make_arrow_encoder,
    make_decoder,
    make_row_encoder,
)
from aioifx.codecs.registry import codecs_for
from aioifx.codecs.row_codegen import DecodeRun
from aioifx.codecs.text import CodeSet
from aioifx.codecs.tuple_frames import TUPLE_FRAME, Frame, framed_size, whole_payload
from aioifx.errors import DataError, ProtocolError
from aioifx.sqltypes import Column, Row, Value
from aioifx.wire.tuples import TUPLE, TUPLE_HEAD


class FieldPlan(NamedTuple):
    """One field of a row, for a reader that waits for each: *head* bytes, then `rest(head)` more, then `decode`.

    *head* is 0 for a field of fixed width; `decode` takes head and rest in one piece.
    """

    name: str
    codec: Codec

    @property
    def head(self) -> int:
        """Bytes that give the size of the rest."""
        return self.codec.head

    @property
    def width(self) -> int:
        """Bytes of a field without head."""
        return self.codec.width

    def rest(self, head: bytes) -> int:
        """How many bytes follow the head."""
        return self.codec.rest(head)

    def decode(self, field: bytes) -> Value:
        """The value of a whole field.

        Raises:
            DataError: names the column.
        """
        try:
            return self.codec.decode(field)
        except DataError as error:
            raise DataError(f"column {self.name!r}: {error}", column=self.name) from error.__cause__


def field_plans(
    columns: Sequence[Column],
    code_set: CodeSet,
    *,
    strip_char: bool = False,
    padded_varchar: bool = False,
    conversions: Conversions = PLAIN,
) -> tuple[FieldPlan, ...]:
    """The plan of a row, one FieldPlan for each column."""
    codecs = codecs_for(
        columns, code_set, strip_char=strip_char, padded_varchar=padded_varchar, conversions=conversions
    )
    return tuple([FieldPlan(column.name, codec) for column, codec in zip(columns, codecs, strict=True)])


def _decode_fields(payload: bytes, plans: Sequence[FieldPlan]) -> Row:
    """The reference: every field found first, then decoded."""
    pos = 0
    fields: list[bytes] = []
    for plan in plans:
        stop = pos + plan.head
        if stop <= len(payload):
            stop += plan.rest(payload[pos:stop])
        if stop > len(payload):
            raise ProtocolError(f"column {plan.name!r} reaches beyond its row of {len(payload)} bytes")
        fields.append(payload[pos:stop])
        pos = stop
    if pos != len(payload):
        last = f"column {plans[-1].name!r}" if plans else "no column"
        raise ProtocolError(f"row of {len(payload)} bytes ends at {pos}, after {last}")
    return tuple(plan.decode(field) for plan, field in zip(plans, fields, strict=True))


class RowDecoder:
    """Decodes the rows of one result; made once for its columns.

    Args:
        strip_char: trailing blanks of CHAR and NCHAR, the server's padding, are removed.
        padded_varchar: VARCHAR travels at its full width, because capability 13 is not in force.
        row_type: the class of rows: tuple, or a subclass that adds only methods.
        conversions: the user's.

    Raises:
        NotSupportedError: a column's type has no codec; names both.
    """

    __slots__ = ("_codecs", "_run", "code_set", "fields", "row_type")

    def __init__(
        self,
        columns: Sequence[Column],
        code_set: CodeSet,
        *,
        strip_char: bool = False,
        padded_varchar: bool = False,
        row_type: type[Row] = tuple,
        conversions: Conversions = PLAIN,
    ) -> None:
        self.fields = field_plans(
            columns, code_set, strip_char=strip_char, padded_varchar=padded_varchar, conversions=conversions
        )
        self.code_set = code_set
        self.row_type = row_type
        self._codecs = tuple([plan.codec for plan in self.fields])
        self._run: DecodeRun | None = None

    def __call__(self, data: bytearray, pos: int, end: int, rows: list[Row]) -> int:
        """Decode every whole SQ_TUPLE message from *pos* on, append a row for each, return the position after them.

        It stops at the first message that is not whole within *end*, or not an SQ_TUPLE.

        Raises:
            ProtocolError, DataError: see invariants 2 and 3.
        """
        run = self._run or self.fast_run()
        while True:
            pos = run(data, pos, end, rows)
            if end - pos < TUPLE_HEAD or data[pos + 1] != TUPLE:
                return pos
            payload = whole_payload(data, pos, end)
            if payload is None:
                return pos
            rows.append(self.decode_payload(payload))
            pos += framed_size(payload)

    def fast_run(self) -> DecodeRun:
        """The function that decodes common rows, and stops before any other."""
        if self._run is None:
            self._run = make_decoder(self._codecs, self.code_set, self.row_type)
        return self._run

    def decode_payload(self, payload: bytes) -> Row:
        """One row from the bytes that SQ_TUPLE frames."""
        row = _decode_fields(payload, self.fields)
        return row if self.row_type is tuple else self.row_type(row)


class RowEncoder:
    """Encodes the rows of one result, or of one table; made once for its columns.

    Args:
        padded_varchar: VARCHAR travels at its full width, because capability 13 is not in force.
        frame: what precedes each row: a whole SQ_TUPLE's, another, or nothing.
        adapters: one for each column, or none.

    Raises:
        NotSupportedError: a column's type has no codec; names both.
    """

    __slots__ = ("_adapters", "_arrow", "_code_set", "_encode", "_frame", "fields")

    def __init__(
        self,
        columns: Sequence[Column],
        code_set: CodeSet,
        *,
        padded_varchar: bool = False,
        frame: Frame | None = TUPLE_FRAME,
        adapters: Adapters = (),
    ) -> None:
        self.fields = field_plans(columns, code_set, padded_varchar=padded_varchar)
        self._adapters = tuple(
            adapter if adapter.only_zone is None or plan.codec.kind in _MOMENTS else STANDARD
            for plan, adapter in zip(self.fields, adapters or (STANDARD,) * len(columns), strict=True)
        )
        self._code_set = code_set
        self._frame = frame
        self._encode: EncodeRows | None = None
        self._arrow: tuple[object, EncodeArrow] = None, leave_all
        """The columns of the Arrow data, and what encodes it."""

    def encode(self, rows: Iterable[Row]) -> bytes | bytearray:
        """Rows, one after the other, each padded to even.

        Raises:
            DataError: a value does not fit its column; names the column.
        """
        if self._encode is None:
            self._encode = make_row_encoder(self._codecs(), self._code_set, self._frame)
        if not isinstance(rows, ArrowRows):
            return self._encode(rows, self._framed)
        data, start, encode = bytearray(), 0, self._arrow_encoder(rows)
        while start < len(rows):
            start = encode(rows, start, data, sys.maxsize)
            if start == len(rows):
                break
            data += self._encode(rows[start : start + TUPLES_AT_ONCE], self._framed)
            start += TUPLES_AT_ONCE
        return data

    def _codecs(self) -> list[Codec]:
        return [
            plan.codec if adapter.is_standard else _adapted(plan.codec, adapter)
            for plan, adapter in zip(self.fields, self._adapters, strict=True)
        ]

    def _arrow_encoder(self, rows: ArrowRows) -> EncodeArrow:
        known, encode = self._arrow
        if known is not rows.row:
            from aioifx.codecs.arrow_plan import ArrowFrame, field_plan  # rarely needed

            prefix, suffix = self._frame or (b"", b"")
            size_at = -1 if self._frame is None else len(prefix)
            head = prefix + (b"" if self._frame is None else bytes(4)) + suffix
            plans = [
                field_plan(column.field, plan.codec, adapter, self._code_set)._replace(encode=codec.encode)
                for column, plan, codec, adapter in zip(
                    rows.row, self.fields, self._codecs(), self._adapters, strict=False
                )
            ]
            encode = leave_all
            if len(rows.row) == len(self.fields):
                encode = make_arrow_encoder(plans, self._code_set, ArrowFrame(head, size_at, b""))
            self._arrow = rows.row, encode
        return encode

    def encode_payload(self, row: Row) -> bytes:
        """One row as SQ_TUPLE frames it, and as SQ_PUT carries it."""
        if len(row) != len(self.fields):
            raise DataError(f"row of {len(row)} values for {len(self.fields)} columns")
        parts: list[bytes] = []
        for plan, adapt, value in zip(self.fields, self._adapters, row, strict=True):
            try:
                parts.append(plan.codec.encode(adapt(value)))
            except DataError as error:
                raise DataError(f"column {plan.name!r}: {error}", column=plan.name) from error.__cause__
        return b"".join(parts)

    def _framed(self, row: Row) -> bytes:
        payload = self.encode_payload(row)
        framed = payload + b"\0" * (len(payload) & 1)
        if self._frame is None:
            return framed
        return self._frame.prefix + len(payload).to_bytes(4, "big") + self._frame.suffix + framed


_MOMENTS: Final = (Kind.DATE, Kind.DATETIME)
"""Types that accept a datetime."""


def _adapted(codec: Codec, adapt: Adapter) -> Codec:
    """The codec as one of an unknown kind, so that every value is adapted."""
    encode = codec.encode

    def encode_adapted(value: Value) -> bytes:
        return encode(adapt(value))

    return replace(codec, kind=Kind.OTHER, encode=encode_adapted)
