"""The choice between native and Python functions, made once, at import. Never: how they work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from aioifx._speedups import REASON
from aioifx.codecs import row_codegen
from aioifx.codecs.base import MAX_BYTES, Codec
from aioifx.codecs.conversions import Adapters, with_adapters
from aioifx.codecs.param_plan import rules_for
from aioifx.codecs.params import EncodeParamRows, ParamEncoder
from aioifx.codecs.row_codegen import FALLBACK_ERRORS, DecodeRun
from aioifx.codecs.text import CodeSet
from aioifx.codecs.tuple_frames import Frame
from aioifx.sqltypes import Row, SqlType
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import Cost, Done, Serials, TransactionState
from aioifx.wire.replies import Continuation, Reply, TryReadReply, read_nothing
from aioifx.wire.tuples import RowReader

if TYPE_CHECKING:
    from aioifx.codecs.arrow_layout import Field
    from aioifx.codecs.arrow_plan import ArrowFrame, Plan
    from aioifx.codecs.arrow_rows import ArrowRows, RowColumn
    from aioifx.codecs.column_buffers import Columns

MAX_COMPILED: Final = 500
"""The most columns of a compiled function. Compiling one for 32,767 takes seconds."""
MAX_NATIVE: Final = 8_000
"""The most parameters of a native encoder. Making one takes about 2 microseconds for each."""

NATIVE: Final = not REASON

speedups: Final[str] = "native" if NATIVE else f"pure: {REASON}"
"""Which of the two decodes rows and encodes parameters in this process: "native", or "pure: " and the reason."""


# --- rows -----------------------------------------------------------------------------------------------------------


def native_decoder(codecs: Sequence[Codec], code_set: CodeSet, row_type: type[Row] = tuple) -> DecodeRun:
    """See `make_decoder`; only where the kernel is built."""
    from aioifx._speedups import row_decoder

    return row_decoder.Decoder(codecs, code_set, row_type, FALLBACK_ERRORS).run


def pure_decoder(codecs: Sequence[Codec], code_set: CodeSet, row_type: type[Row] = tuple) -> DecodeRun:
    """See `make_decoder`."""
    if len(codecs) > MAX_COMPILED:
        return lambda data, pos, end, rows: pos
    return row_codegen.make_decoder(tuple(codecs), code_set, row_type)


make_decoder: Final = native_decoder if NATIVE else pure_decoder
"""Makes the function that decodes rows of these codecs into tuples, or into a subclass that adds only methods.

It stops before a row that needs `rows.RowDecoder`.
"""


EncodeRows: TypeAlias = Callable[[Iterable[Row], Callable[[Row], bytes]], bytes | bytearray]
"""Rows -> their bytes, each padded to even; the callable encodes rows that need the reference."""


def native_row_encoder(codecs: Sequence[Codec], code_set: CodeSet, frame: Frame | None) -> EncodeRows:
    """See `make_row_encoder`; only where the kernel is built."""
    from aioifx._speedups import row_encoder

    prefix, suffix = frame or (None, None)
    run = row_encoder.Encoder(codecs, code_set.codec, code_set.errors_in_writing, prefix, suffix).run

    def encode(rows: Iterable[Row], reference: Callable[[Row], bytes]) -> bytearray:
        data, source = bytearray(), iter(rows)
        while (left := run(source, data)) is not None:
            data += reference(left[0])
        return data

    return encode


def pure_row_encoder(codecs: Sequence[Codec], code_set: CodeSet, frame: Frame | None) -> EncodeRows:
    """See `make_row_encoder`."""
    return lambda rows, reference: b"".join(map(reference, rows))


make_row_encoder: Final = native_row_encoder if NATIVE else pure_row_encoder
"""Makes the function that encodes rows of these codecs, each after its *frame*, or bare.

Other rows are encoded by `rows.RowEncoder`.
"""


# --- parameters -----------------------------------------------------------------------------------------------------


def native_encoder(
    types: Sequence[SqlType | None], code_set: CodeSet, head: bytes, tail: bytes, adapters: Adapters = ()
) -> EncodeParamRows:
    """See `make_encoder`; only where the kernel is built."""
    from aioifx._speedups import param_encoder

    if len(types) > MAX_NATIVE:
        return pure_encoder(types, code_set, head, tail, adapters)
    pairs = with_adapters(types, adapters)
    known = {pair: rules_for(pair[0], code_set, pair[1]) for pair in set(pairs)}
    rules = [known[pair] for pair in pairs]
    return param_encoder.Encoder(rules, code_set.codec, code_set.errors_in_writing, head, tail)


def pure_encoder(
    types: Sequence[SqlType | None], code_set: CodeSet, head: bytes, tail: bytes, adapters: Adapters = ()
) -> EncodeParamRows:
    """See `make_encoder`."""
    return ParamEncoder(types, code_set, adapters).for_runs(head, tail)


make_encoder: Final = native_encoder if NATIVE else pure_encoder
"""Makes the encoder of a statement's executions, by the types of its parameters.

Each execution begins with *head* and ends with *tail*. *adapters* has one for each parameter, or none.
It stops at a row that needs `params.ParamEncoder`.
"""


# --- rows from Arrow's columns --------------------------------------------------------------------------------------

EncodeArrow: TypeAlias = "Callable[[ArrowRows, int, bytearray, int], int]"
"""Rows, how many are encoded, where to, and how many bytes there may be before a row -> how many are encoded then."""


def native_arrow_encoder(plans: Sequence[Plan], code_set: CodeSet, frame: ArrowFrame) -> EncodeArrow:
    """See `make_arrow_encoder`; only where the kernel is built."""
    from aioifx._speedups import arrow_encoder
    from aioifx.codecs.arrow_plan import readings

    run = arrow_encoder.Encoder(plans, *frame, code_set.codec, code_set.errors_in_writing).run

    def encode(rows: ArrowRows, start: int, data: bytearray, limit: int) -> int:
        first = rows.first
        return run(readings(plans, rows), first, first + start, rows.last, data, limit) - first

    return encode


def pure_arrow_encoder(plans: Sequence[Plan], code_set: CodeSet, frame: ArrowFrame) -> EncodeArrow:
    """See `make_arrow_encoder`."""
    return leave_all


TUPLES_AT_ONCE: Final = 64 if NATIVE else sys.maxsize
"""How many rows are encoded as tuples where an EncodeArrow has stopped."""


def leave_all(rows: ArrowRows, start: int, data: bytearray, limit: int) -> int:
    """An EncodeArrow that leaves every row to the encoder of tuples."""
    return start


make_arrow_encoder: Final = native_arrow_encoder if NATIVE else pure_arrow_encoder
"""Makes the function that encodes rows from Arrow's columns.

It stops at a row that the encoder of tuples must encode. The pure one leaves every row to it.
"""


def arrow_params(
    types: Sequence[SqlType | None],
    code_set: CodeSet,
    head: bytes,
    tail: bytes,
    adapters: Adapters,
    row: Sequence[RowColumn],
) -> EncodeArrow:
    """The encoder of a statement's executions with the values of Arrow's columns; see `make_encoder`."""
    if len(row) != len(types) or len(types) > MAX_NATIVE:
        return leave_all
    from aioifx.codecs.arrow_plan import ArrowFrame, param_plan  # rarely needed

    plans = [
        param_plan(column.field, rules_for(sql_type, code_set, adapter), code_set, adapter.only_zone)
        for column, (sql_type, adapter) in zip(row, with_adapters(types, adapters), strict=True)
    ]
    return make_arrow_encoder(plans, code_set, ArrowFrame(head, -1, tail))


# --- columns --------------------------------------------------------------------------------------------------------


def native_columns(fields: Sequence[Field], code_set: CodeSet, most_bytes: int = MAX_BYTES) -> Columns:
    """See `make_columns`; only where the kernel is built."""
    from aioifx._speedups import column_decoder

    return column_decoder.Columns(
        [field.native for field in fields], code_set.codec, code_set.keeps_ascii, most_bytes
    )


def pure_columns(fields: Sequence[Field], code_set: CodeSet, most_bytes: int = MAX_BYTES) -> Columns:
    """See `make_columns`."""
    from aioifx.codecs.column_buffers import PureColumns

    return PureColumns(fields, code_set, most_bytes)


make_columns: Final = native_columns if NATIVE else pure_columns
"""Makes columns that grow by whole tuples, each with at most *most_bytes* of text or bytes.

They stop before a row that needs `columns.ColumnDecoder`.
"""


# --- replies --------------------------------------------------------------------------------------------------------


def native_fast_reader(
    capabilities: Capabilities,
    read_rows: RowReader | None,
    limit: int,
    continuation: Continuation | None = None,
) -> TryReadReply:
    """See `make_fast_reader`; only where the kernel is built."""
    from aioifx._speedups import reply_reader

    decode = None
    if read_rows is not None:
        decode = read_rows.decode if read_rows.fast_run is None else read_rows.fast_run()
    layouts = capabilities.bigint, capabilities.long_rowid
    return reply_reader.FastReplyReader(
        decode, limit, *layouts, Reply, Done, Cost, Serials, TransactionState, continuation
    ).try_read


def pure_fast_reader(
    capabilities: Capabilities,
    read_rows: RowReader | None,
    limit: int,
    continuation: Continuation | None = None,
) -> TryReadReply:
    """See `make_fast_reader`."""
    return read_nothing


make_fast_reader: Final = native_fast_reader if NATIVE else pure_fast_reader
"""Makes the function that reads a common reply of at most *limit* bytes at once, and decodes its tuples.

Replies that are incomplete or of another form are left to `wire.replies.read_reply`.
"""


# --- structures that consumers release ------------------------------------------------------------------------------


def arrow_releases() -> Any:
    """The module whose functions consumers call to release what `aioifx.codecs.arrow_export` exports.

    Python cannot do it: see `aioifx.codecs.pyarrow_export`.
    """
    from aioifx._speedups import arrow_release

    return arrow_release
