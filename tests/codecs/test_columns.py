from __future__ import annotations

import datetime as dt
import importlib.util
import sys
from array import array
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from itertools import pairwise
from struct import unpack
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs import columns as columns_module
from aioifx.codecs.arrow_layout import Field, Layout
from aioifx.codecs.base import Floating
from aioifx.codecs.column_buffers import Block, Chunk
from aioifx.codecs.columns import ColumnDecoder
from aioifx.codecs.native import native_columns, native_decoder, pure_columns, pure_decoder
from aioifx.codecs.rows import RowDecoder, RowEncoder
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.errors import DataError, Error, NotSupportedError, ProtocolError
from aioifx.sqltypes import Column, Datetime, IntervalYM, Row, SqlType, TypeCode, Unit
from tests.codecs.samples import (
    BOOLEAN,
    CHAR4,
    CP1252,
    DATETIME_QUALIFIERS,
    FLOAT,
    INT8,
    INTEGER,
    INTERVAL_QUALIFIERS,
    LATIN1,
    LVARCHAR,
    POINT,
    SMALLFLOAT,
    UTF8,
    VARCHAR,
    columns_of,
    decimal_type,
    tables,
    vectors,
)
from tests.codecs.test_arrow_layout import datetime_of, interval_of
from tests.codecs.test_rows import framed, is_large, sandwich
from tests.sampling import examples

SJIS = code_set_of("ja_jp.sjis")

NATIVE = importlib.util.find_spec("aioifx._speedups.column_decoder") is not None
MAKERS = {"native": native_columns, "pure": pure_columns} if NATIVE else {"pure": pure_columns}

kernels = pytest.mark.parametrize(
    "kernel", [pytest.param("native", marks=pytest.mark.skipif(not NATIVE, reason="not built")), "pure"]
)


def decoder_of(
    kernel: str, columns: Sequence[Column], code_set: CodeSet = LATIN1, **options: Any
) -> ColumnDecoder:
    with patch.object(columns_module, "make_columns", MAKERS[kernel]):
        return ColumnDecoder(columns, code_set, **options)


def encoded(columns: Sequence[Column], rows: Sequence[Row], code_set: CodeSet = LATIN1) -> bytearray:
    return bytearray(RowEncoder(columns, code_set).encode(rows))


# --- Arrow's buffers, read by the book ------------------------------------------------------------------------------

EPOCH = dt.datetime(1970, 1, 1)
WIDE = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)


def bits(buffer: Any, count: int) -> list[bool]:
    data = bytes(buffer)
    assert len(data) == (count + 7) // 8
    return [bool(data[place >> 3] >> (place & 7) & 1) for place in range(count)]


def slots(field: Field, chunk: Chunk, rows: int) -> list[Any]:
    """The value at each position, NULL or not."""
    data = bytes(chunk.values)
    match field.layout:
        case Layout.BOOL:
            return [*bits(data, rows)]
        case Layout.UTF8 | Layout.BINARY:
            offsets = unpack(f"={rows + 1}i", data)
            assert chunk.data is not None and offsets[0] == 0 and offsets[-1] == len(bytes(chunk.data))
            parts = [bytes(chunk.data)[a:b] for a, b in pairwise(offsets)]
            return [part.decode() if field.layout == Layout.UTF8 else part for part in parts]
        case Layout.DECIMAL:
            parts = [data[at : at + 16] for at in range(0, len(data), 16)]
            return [
                Decimal(int.from_bytes(part, sys.byteorder, signed=True)).scaleb(-field.scale, WIDE)
                for part in parts
            ]
    letter = {2: "h", 4: "i", 8: "q"}[field.width]
    letter = {Layout.FLOAT32: "f", Layout.FLOAT64: "d"}.get(field.layout, letter)
    numbers = [*unpack(f"={rows}{letter}", data)]
    step = dt.timedelta(microseconds=10 ** (6 - field.scale))
    match field.layout:
        case Layout.DATE:
            return [dt.date.fromordinal(EPOCH.toordinal() + number) for number in numbers]
        case Layout.TIMESTAMP:
            return [EPOCH + number * step for number in numbers]
        case Layout.CLOCK:
            return [(EPOCH + number * step).time() for number in numbers]
        case Layout.DURATION:
            return [number * step for number in numbers]
        case _:
            return numbers


def rows_in(fields: Sequence[Field], block: Block) -> list[Row]:
    """The values of a block; NULLs store zeros."""
    columns: list[list[Any]] = []
    for field, chunk in zip(fields, block.chunks, strict=True):
        found = slots(field, chunk, block.rows)
        valid = [True] * block.rows if chunk.validity is None else bits(chunk.validity, block.rows)
        assert valid.count(False) == chunk.nulls
        assert chunk.validity is not None or not chunk.nulls
        columns.append([value if is_set else None for value, is_set in zip(found, valid, strict=True)])
    return [*zip(*columns, strict=True)]


def expected(value: Any, field: Field) -> Any:
    """A value of the row decoder, as its column has it."""
    match value:
        case Decimal() if field.layout == Layout.FLOAT64:
            return float(value)
        case Decimal() if field.layout == Layout.UTF8:
            return str(value)
        case IntervalYM():
            return value.total_months
        case Datetime():
            return str(value).split("(")[1].split(")")[0]
        case str() if field.layout == Layout.BINARY:
            return value.encode("latin-1")
        case _:
            return value


def same_bytes(block: Block) -> list[Any]:
    return [
        (nulls, *(None if part is None else bytes(part) for part in parts)) for nulls, *parts in block.chunks
    ]


Outcome = tuple[int, int, type[Exception] | None, str, list[Any]]


def outcome(
    kernel: str, columns: Sequence[Column], data: bytes | bytearray, code_set: CodeSet, **options: Any
) -> Outcome:
    """Everything that there is to see of a run: position, rows, error, buffers."""
    decoder = decoder_of(kernel, columns, code_set, **options)
    rows: list[Row] = []
    error: Exception | None = None
    pos = -1
    try:
        pos = decoder(bytearray(data), 0, len(data), rows)
    except Error as raised:
        error = raised
    blocks = decoder.finish()
    assert sum(block.rows for block in blocks) == len(rows)
    parts = [(block.rows, *same_bytes(block)) for block in blocks]
    return pos, len(rows), type(error) if error else None, str(error or ""), parts


# --- golden vectors -------------------------------------------------------------------------------------------------


TOO_LONG_VECTORS = {("iv_d9_f5", "37624c36200a4c282800000a"), ("iv_d9_f5", "c801172d4359173b3b63635a")}
"""Intervals of 123,456,789 days with FRACTION(5), which is more microseconds than an int64 holds."""


@kernels
@pytest.mark.parametrize("floating", ["float", "text"])
def test_every_tuple_vector_gives_the_values_of_the_rows(kernel: str, floating: Floating) -> None:
    too_long: set[tuple[str, str]] = set()
    for vector in vectors("tuples.json")["vectors"]:
        if is_large(vector):
            continue
        columns, payload = sandwich(vector)
        code_set = code_set_of(vector.get("locale", "en_US.8859-1"))
        data = bytearray(framed(payload) * 3)
        rows: list[Row] = []
        RowDecoder(columns, code_set)(data, 0, len(data), rows)
        decoder = decoder_of(kernel, columns, code_set, floating=floating)
        try:
            assert decoder(data, 0, len(data), []) == len(data)
        except DataError as error:
            assert "does not fit int64" in str(error)
            too_long.add((vector["type"], vector["hex"]))
            continue
        (block,) = decoder.finish()
        wanted = [
            tuple(expected(value, field) for value, field in zip(row, decoder.fields, strict=True))
            for row in rows
        ]
        assert rows_in(decoder.fields, block) == wanted, vector["hex"]
    assert too_long == TOO_LONG_VECTORS


@kernels
def test_what_the_rows_refuse_is_refused_in_the_same_words(kernel: str) -> None:
    for vector in vectors("tuples.json")["disagreements"]:
        columns, payload = sandwich(vector)
        data = bytearray(framed(payload))
        try:
            RowDecoder(columns, LATIN1)(data, 0, len(data), [])
        except NotSupportedError as refusal:
            with pytest.raises(NotSupportedError) as raised:
                decoder_of(kernel, columns)
            assert str(raised.value) == str(refusal)
        except (DataError, ProtocolError) as refusal:
            with pytest.raises(type(refusal)) as refused:
                decoder_of(kernel, columns)(data, 0, len(data), [])
            assert str(refused.value) == str(refusal)


# --- laws -----------------------------------------------------------------------------------------------------------

code_sets = pytest.mark.parametrize(
    "code_set", [LATIN1, UTF8, CP1252, SJIS], ids=lambda code_set: code_set.name
)


@code_sets
@given(st.data())
def test_columns_hold_what_rows_hold_and_native_and_pure_are_the_same_bytes(
    code_set: CodeSet, data: st.DataObject
) -> None:
    columns, rows = data.draw(tables(code_set))
    tuples = encoded(columns, rows, code_set)
    floating = data.draw(st.sampled_from(("float", "text")))
    strip = data.draw(st.booleans())
    reference: list[Row] = []
    RowDecoder(columns, code_set, strip_char=strip)(tuples, 0, len(tuples), reference)
    decoder = decoder_of("pure", columns, code_set, strip_char=strip, floating=floating)
    try:
        assert decoder(tuples, 0, len(tuples), []) == len(tuples)
    except DataError as error:
        assert "does not fit int64" in str(error)  # INTERVAL DAY(9), longer than 292,471 years
    else:
        (block,) = decoder.finish()
        wanted = [
            tuple(expected(value, field) for value, field in zip(row, decoder.fields, strict=True))
            for row in reference
        ]
        assert rows_in(decoder.fields, block) == wanted
    options: dict[str, Any] = {"strip_char": strip, "floating": floating}
    outcomes = [outcome(kernel, columns, tuples, code_set, **options) for kernel in MAKERS]
    assert outcomes.count(outcomes[0]) == len(outcomes)


@kernels
@given(st.data())
def test_a_buffer_that_comes_in_pieces_gives_the_same_columns(kernel: str, data: st.DataObject) -> None:
    columns, rows = data.draw(tables())
    tuples = encoded(columns, rows)
    whole = outcome(kernel, columns, tuples, LATIN1)
    decoder = decoder_of(kernel, columns)
    pos, counted = 0, list[Row]()
    try:
        for end in range(len(tuples) + 1):
            pos = decoder(tuples[:end], pos, end, counted)
    except DataError:
        assert whole[2] is DataError
        return
    assert (pos, len(counted)) == whole[:2]
    assert [(block.rows, *same_bytes(block)) for block in decoder.finish()] == whole[4]


@pytest.mark.skipif(not NATIVE, reason="not built")
@pytest.mark.parametrize("code_set", [LATIN1, UTF8], ids=lambda code_set: code_set.name)
@given(st.data())
def test_whatever_bytes_come_native_and_pure_say_the_same(code_set: CodeSet, data: st.DataObject) -> None:
    columns, rows = data.draw(tables(code_set, max_columns=4))
    tuples = encoded(columns, rows * 2, code_set)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(tuples) - 1))
        match data.draw(st.sampled_from("flip insert delete".split())):
            case "flip":
                tuples[place] = data.draw(
                    st.sampled_from((0, 1, 0x7F, 0x80, 0xC0, 0xFF)) | st.integers(0, 255)
                )
            case "insert":
                tuples.insert(place, data.draw(st.integers(0, 255)))
            case _:
                del tuples[place : place + 1 + (place & 1)]
        if not tuples:
            return
    assert outcome("native", columns, tuples, code_set) == outcome("pure", columns, tuples, code_set)


NANS = [
    payload | sign
    for sign in (0x7F800000, 0xFF800000)
    for payload in (1, 2, 0x001234, 0x200000, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFE)
]
"""NaNs of SMALLFLOAT, signalling ones and quiet ones."""


@kernels
def test_a_signalling_nan_is_quiet_in_the_column_and_in_the_row(kernel: str) -> None:
    # Found by hypothesis: a conversion to double makes it quiet, and copying the bytes does not. Since CPython 3.14,
    # struct does not either.
    columns = columns_of(SqlType(TypeCode.SMALLFLOAT, 4))
    tuples = b"".join(framed(word.to_bytes(4, "big")) for word in NANS)
    quiet = array("I", (word | 1 << 22 for word in NANS))
    ((_, _, values, _),) = outcome(kernel, columns, tuples, LATIN1)[4][0][1:]
    assert values == quiet.tobytes()
    rows: list[Row] = []
    make_decoder = native_decoder if kernel == "native" else pure_decoder
    make_decoder([decoder_of("pure", columns).fields[0].codec], LATIN1)(
        bytearray(tuples), 0, len(tuples), rows
    )
    doubles = array("d", (row[0] for row in rows))
    assert [*memoryview(doubles).cast("B").cast("Q")] == [*map(as_double, NANS)]


def as_double(word: int) -> int:
    """The bits of the quiet NaN that has the sign and payload of a NaN of 4 bytes."""
    return (word >> 31) << 63 | 0x7FF << 52 | (word & 0x7FFFFF | 1 << 22) << 29


BASE_100 = [
    *(decimal_type(16, 2), decimal_type(5, 3), decimal_type(32, 0), decimal_type(32, 31), decimal_type(17)),
    *(
        SqlType(TypeCode.DATETIME, q.encoded)
        for q in DATETIME_QUALIFIERS
        if q.first in (Unit.YEAR, Unit.HOUR)
    ),
    *(SqlType(TypeCode.INTERVAL, q.encoded) for q in INTERVAL_QUALIFIERS if q.leading in (2, 5)),
]


@pytest.mark.skipif(not NATIVE, reason="not built")
@examples(400)
@given(st.data())
def test_whatever_bytes_a_base_100_field_has_native_and_pure_say_the_same(data: st.DataObject) -> None:
    sql_type = data.draw(st.sampled_from(BASE_100))
    columns = columns_of(sql_type)
    width = decoder_of("pure", columns).fields[0].codec.width
    head = data.draw(st.integers(0xC0, 0xC8) | st.integers(0x38, 0x40) | st.integers(0, 255))
    pairs = data.draw(
        st.lists(st.sampled_from((0, 0, 1, 9, 10, 12, 59, 99, 100)), min_size=width - 1, max_size=width - 1)
    )
    field = bytes((head, *pairs))
    for floating in ("float", 2):
        ways = [outcome(k, columns, framed(field), LATIN1, floating=floating) for k in ("native", "pure")]
        assert ways[0] == ways[1]


@kernels
@given(st.binary(max_size=12))
def test_text_is_utf8_exactly_if_python_says_so(kernel: str, data: bytes) -> None:
    decoder = decoder_of(kernel, columns_of(LVARCHAR), UTF8)
    message = bytearray(framed(b"\0" + len(data).to_bytes(4, "big") + data))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        with pytest.raises(DataError, match="column 'c0': byte"):
            decoder(message, 0, len(message), [])
    else:
        decoder(message, 0, len(message), [])
        assert rows_in(decoder.fields, decoder.finish()[0]) == [(text,)]


# --- types ----------------------------------------------------------------------------------------------------------


@kernels
def test_a_floating_decimal_is_a_double_its_text_or_a_decimal_of_so_many_digits(kernel: str) -> None:
    columns = columns_of(decimal_type(16))
    rows: list[Row] = [
        (Decimal("12345.675"),),
        (Decimal("-1E-20"),),
        (None,),
        (Decimal("1E+15"),),
        (Decimal(0),),
    ]
    found = {}
    for floating in ("float", "text", 2):
        decoder = decoder_of(kernel, columns, floating=floating)
        tuples = encoded(columns, rows)
        decoder(tuples, 0, len(tuples), [])
        found[floating] = [value for (value,) in rows_in(decoder.fields, decoder.finish()[0])]
    assert found["float"] == [12345.675, -1e-20, None, 1e15, 0.0]
    assert found["text"] == ["12345.675", "-1E-20", None, "1000000000000000", "0"]
    assert found[2] == [Decimal("12345.68"), Decimal("0.00"), None, Decimal("1E+15"), Decimal(0)]


@kernels
@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=None).filter(lambda d: abs(d.adjusted()) < 120)
)
def test_a_floating_decimal_is_the_nearest_double(kernel: str, value: Decimal) -> None:
    columns = columns_of(decimal_type(32))
    tuples = encoded(columns, [(value,)])
    rows: list[Row] = []
    RowDecoder(columns, LATIN1)(tuples, 0, len(tuples), rows)
    decoder = decoder_of(kernel, columns)
    decoder(tuples, 0, len(tuples), [])
    assert rows_in(decoder.fields, decoder.finish()[0]) == [(float(rows[0][0]),)]


@kernels
def test_an_opaque_type_is_always_its_bytes(kernel: str) -> None:
    decoder = decoder_of(kernel, columns_of(POINT), UTF8)
    message = bytearray(framed(b"\0\0\0\0\4text") + framed(b"\0\0\0\0\2\0\xff") + framed(b"\1\0\0\0\0"))
    decoder(message, 0, len(message), [])
    assert rows_in(decoder.fields, decoder.finish()[0]) == [(b"text",), (b"\0\xff",), (None,)]


@kernels
def test_a_nan_that_is_not_null_is_a_value(kernel: str) -> None:
    decoder = decoder_of(kernel, columns_of(FLOAT, SMALLFLOAT))
    nan = bytes.fromhex("7ff8000000000000 7fc00000")
    message = bytearray(framed(nan) + framed(b"\xff" * 12))
    decoder(message, 0, len(message), [])
    (block,) = decoder.finish()
    assert [chunk.nulls for chunk in block.chunks] == [1, 1]
    first, second = rows_in(decoder.fields, block)
    assert first[0] != first[0] and first[1] != first[1]
    assert second == (None, None)


@kernels
def test_trailing_blanks_of_char_go_if_that_is_asked_for(kernel: str) -> None:
    message = bytearray(framed(b"a\xe4  ") + framed(b"    ") + framed(b"\0   "))
    found = {}
    for strip in (False, True):
        decoder = decoder_of(kernel, columns_of(CHAR4), strip_char=strip)
        decoder(message, 0, len(message), [])
        found[strip] = rows_in(decoder.fields, decoder.finish()[0])
    assert found == {False: [("a\xe4  ",), ("    ",), (None,)], True: [("a\xe4",), ("",), (None,)]}


@kernels
def test_padded_varchars_are_read(kernel: str) -> None:
    columns = columns_of(SqlType(TypeCode.VARCHAR, 4), INTEGER)
    decoder = decoder_of(kernel, columns, padded_varchar=True)
    message = bytearray(framed(b"\2ab\0\0\0\0\0\7") + framed(b"\1\0\0\0\0\x80\0\0\0"))
    decoder(message, 0, len(message), [])
    assert rows_in(decoder.fields, decoder.finish()[0]) == [("ab", 7), (None, None)]


# --- what Arrow cannot hold -----------------------------------------------------------------------------------------

TOO_LONG = interval_of(Unit.DAY, Unit.FRACTION, 9, 5)

UNFIT: list[tuple[SqlType, CodeSet, bytes, str]] = [
    (INT8, LATIN1, b"\0\1\0\0\0\0\x80\0\0\0", "9223372036854775808 does not fit int64"),
    (TOO_LONG, LATIN1, bytes.fromhex("c8 07 63 63 63 63 00 00 00 00 00 00"), "does not fit int64"),
    (decimal_type(3, 2), LATIN1, bytes.fromhex("c1 0a 00"), r"10.00 does not fit decimal128\(3, 2\)"),
    (decimal_type(3, 0), LATIN1, bytes.fromhex("c3 01 00"), r"does not fit decimal128\(3, 0\)"),
    (
        VARCHAR,
        code_set_of("en_US.utf8", "surrogateescape"),
        b"\2a\xff",
        "the character at offset 1 is not in UTF-8",
    ),
]


@kernels
@pytest.mark.parametrize(
    ("sql_type", "code_set", "field", "words"), UNFIT, ids=[str(case[0]) for case in UNFIT]
)
def test_a_value_that_its_column_cannot_hold_is_a_data_error_that_names_the_column(
    kernel: str, sql_type: SqlType, code_set: CodeSet, field: bytes, words: str
) -> None:
    columns = columns_of(INTEGER, sql_type)
    null = RowEncoder(columns, LATIN1).encode([(1, None), (2, None)])
    decoder = decoder_of(kernel, columns, code_set)
    counted: list[Row] = []
    message = bytearray(null + framed(b"\0\0\0\3" + field) + null)
    with pytest.raises(DataError, match=f"column 'c1': .*{words}"):
        decoder(message, 0, len(message), counted)
    assert len(counted) == decoder.rows == 2  # those before it are counted, for callers that skip it


# --- blocks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [1, 63, 70])
@kernels
def test_a_row_for_the_reference_leaves_no_trace(kernel: str, before: int) -> None:
    columns = columns_of(VARCHAR, BOOLEAN, decimal_type(5, 2), VARCHAR)
    good: Row = ("one", True, Decimal("1.25"), "two")
    null: Row = (None, None, None, None)
    odd = framed(b"\4\xe4\xf6\xfc\xdf" + b"\0\0\0\0\1t" + bytes.fromhex("c1010500") + b"\1x")
    rounded = framed(b"\4\xe4\xf6\xfc\xdf" + b"\0\0\0\0\1t" + bytes.fromhex("c1010533") + b"\1x")
    decoder = decoder_of(kernel, columns)
    message = encoded(columns, [good] * before) + rounded + odd + encoded(columns, [null, good] * 40)
    assert decoder(message, 0, len(message), []) == len(message)
    assert rows_in(decoder.fields, decoder.finish()[0]) == [
        *[good] * before,
        ("\xe4\xf6\xfc\xdf", True, Decimal("1.06"), "x"),
        ("\xe4\xf6\xfc\xdf", True, Decimal("1.05"), "x"),
        *[null, good] * 40,
    ]


@kernels
def test_thousands_of_rows_grow_the_columns(kernel: str) -> None:
    columns = columns_of(INTEGER, VARCHAR, BOOLEAN, decimal_type(16, 2))
    rows: list[Row] = [
        (n, None if n % 7 == 0 else f"row {n}", n % 3 == 0 if n % 5 else None, Decimal(n))
        for n in range(5000)
    ]
    tuples = encoded(columns, rows)
    decoder = decoder_of(kernel, columns)
    for _ in range(2):  # the columns start again
        counted: list[Row] = []
        assert decoder(tuples, 0, len(tuples), counted) == len(tuples)
        assert len(counted) == decoder.rows == 5000
        assert decoder.nbytes > 5000 * (4 + 4 + 16)
        (block,) = decoder.finish()
        assert rows_in(decoder.fields, block) == rows
        assert decoder.finish() == []
        assert decoder.rows == 0


@kernels
def test_a_block_without_rows_has_all_its_buffers(kernel: str) -> None:
    with patch.object(columns_module, "make_columns", MAKERS[kernel]):
        decoder = ColumnDecoder(columns_of(INTEGER, VARCHAR, BOOLEAN), LATIN1)
        block = decoder.empty()
    assert rows_in(decoder.fields, block) == []
    assert same_bytes(block) == [(0, None, b"", None), (0, None, b"\0\0\0\0", b""), (0, None, b"", None)]


@kernels
def test_a_block_ends_before_its_offsets_overflow(kernel: str) -> None:
    columns = columns_of(INTEGER, VARCHAR)
    rows: list[Row] = [(n, "\xe4" * (n % 7)) for n in range(40)]
    tuples = encoded(columns, rows)
    decoder = decoder_of(kernel, columns, most_bytes=30)
    counted: list[Row] = []
    assert decoder(tuples, 0, len(tuples), counted) == len(tuples)
    assert len(counted) == decoder.rows == 40
    blocks = decoder.finish()
    assert [row for block in blocks for row in rows_in(decoder.fields, block)] == rows
    sizes = [len(bytes(block.chunks[1].data or b"")) for block in blocks]
    assert max(sizes) <= 30 and len(blocks) > 5


@kernels
def test_one_row_that_no_block_can_hold_is_refused(kernel: str) -> None:
    columns = columns_of(VARCHAR)
    tuples = encoded(columns, [("short",), ("much longer than that",)])
    decoder = decoder_of(kernel, columns, most_bytes=10)
    with pytest.raises(DataError, match="more text than a column of a block can have"):
        decoder(tuples, 0, len(tuples), [])


@kernels
@pytest.mark.parametrize("message", ["", "000e", "000f 0000 00000004 00000007", "000e 0000 00000004 000000"])
def test_decoding_stops_before_an_incomplete_tuple(kernel: str, message: str) -> None:
    seven = framed(b"\0\0\0\7")
    decoder = decoder_of(kernel, columns_of(INTEGER))
    data = bytearray(seven + bytes.fromhex(message))
    assert decoder(data, 0, len(data), []) == len(seven)
    assert rows_in(decoder.fields, decoder.finish()[0]) == [(7,)]


@kernels
def test_a_frame_that_its_fields_do_not_fill_is_a_protocol_error(kernel: str) -> None:
    decoder = decoder_of(kernel, columns_of(INTEGER))
    for payload, words in ((b"\0\0\0", "reaches beyond"), (b"\0\0\0\7\0", "ends at 4")):
        message = bytearray(framed(payload))
        with pytest.raises(ProtocolError, match=words):
            decoder(message, 0, len(message), [])
    negative = bytearray(bytes.fromhex("000e 0000 fffffff0 00000007"))
    with pytest.raises(ProtocolError, match="of -16 bytes"):
        decoder(negative, 0, len(negative), [])


# --- the native part by itself --------------------------------------------------------------------------------------


@pytest.mark.skipif(not NATIVE, reason="not built")
def test_native_columns_guard_themselves() -> None:
    fields = decoder_of("pure", columns_of(INTEGER, VARCHAR)).fields
    columns = native_columns(fields, LATIN1)
    for call in (lambda: columns.decode(bytearray(8), -1, 8), lambda: columns.decode(bytearray(8), 0, 9)):
        with pytest.raises(IndexError):
            call()
    with pytest.raises(ValueError, match="another size"):
        columns.append((b"\0" * 3, None))
    with pytest.raises(ValueError, match="each column"):
        columns.append((b"\0" * 4,))
    assert columns.append((b"\7\0\0\0", b"text"))
    rows, chunks = columns.finish()
    assert rows == 1
    assert bytes(chunks[1][3]) == b"text"


@pytest.mark.skipif(not NATIVE, reason="not built")
def test_memory_outlives_its_columns_and_cannot_be_written() -> None:
    fields = decoder_of("pure", columns_of(INTEGER)).fields
    columns = native_columns(fields, LATIN1)
    columns.append((b"\7\0\0\0",))
    memory = columns.finish()[1][0][2]
    columns.append((b"\1\0\0\0",))
    del columns
    view = memoryview(memory)
    assert (view.readonly, view.nbytes, len(memory), bytes(view)) == (True, 4, 4, b"\7\0\0\0")


@pytest.mark.skipif(not NATIVE, reason="not built")
def test_the_buffer_cannot_move_while_it_is_decoded() -> None:
    fields = decoder_of(
        "pure", columns_of(datetime_of(Unit.YEAR, Unit.MONTH))
    ).fields  # by a function of Python's
    data = bytearray(framed(bytes.fromhex("c7141a05")))
    failures: list[Exception] = []

    def meddling(store: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
        def meddle(value: Any) -> bytes:
            try:
                data.clear()
            except BufferError as error:
                failures.append(error)
            return store(value)

        return meddle

    object.__setattr__(fields[0], "store", meddling(fields[0].store))
    columns = native_columns(fields, LATIN1)
    assert columns.decode(data, 0, len(data)) == len(data)
    assert len(failures) == 1
