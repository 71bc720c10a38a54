from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs import native
from aioifx.codecs.param_plan import PackOp, rules_for
from aioifx.codecs.params import EncodeParamRows, ParamEncoder, decode_value
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.errors import DataError, Error, InterfaceError, NotSupportedError, ProtocolError
from aioifx.rows import record_maker
from aioifx.sqltypes import Column, SqlType, TypeCode
from tests.codecs.hostile import parameters
from tests.codecs.samples import BOOLEAN, CP1252, INTEGER, LATIN1, LVARCHAR, UTF8, decimal_type, typed_values
from tests.codecs.test_bind_values import BINDS, NO_VALUE, NOT_SENT, entry_fields, python_value, target_of
from tests.sampling import examples
from tests.system.fuzz.differential_params import NULL_FLOAT

SMALLINT = SqlType(TypeCode.SMALLINT, 2)
TEXT = SqlType(TypeCode.TEXT, 56)


def test_the_body_is_a_count_and_the_entries_in_order() -> None:
    body = ParamEncoder([INTEGER, None], LATIN1).encode([7, "abc"])
    assert body == bytes.fromhex("0002 0002 0000 0a00 00000007 0000 0000 0000 0003 61626300")


def test_no_parameters_are_a_count_of_zero() -> None:
    assert ParamEncoder([], LATIN1).encode([]) == b"\0\0"


@pytest.mark.parametrize(
    ("types", "params", "message"),
    [
        ([None, None], [1, 2, 3], "expected 2 parameters, got 3"),
        ([None], [], "expected 1 parameter, got 0"),
        ([], [1], "expected 0 parameters, got 1"),
    ],
)
def test_a_wrong_count_is_the_callers_mistake(types: list[None], params: list[int], message: str) -> None:
    with pytest.raises(InterfaceError) as caught:
        ParamEncoder(types, LATIN1).encode(params)
    assert str(caught.value) == message


def test_a_wrong_count_names_its_row() -> None:
    with pytest.raises(InterfaceError, match=r"^row 17: expected 1 parameter, got 2$"):
        ParamEncoder([None], LATIN1).encode([1, 2], row=17)


def test_a_value_that_does_not_fit_names_the_parameter_and_not_the_value() -> None:
    with pytest.raises(DataError) as caught:
        ParamEncoder([INTEGER, None, SMALLINT], LATIN1).encode([1, 2, 99_999])
    assert str(caught.value) == "parameter 3: int does not fit SMALLINT"
    assert caught.value.row_index is None


def test_a_value_that_does_not_fit_names_its_row() -> None:
    with pytest.raises(DataError) as caught:
        ParamEncoder([SMALLINT], LATIN1).encode([99_999], row=17)
    assert str(caught.value) == "row 17, parameter 1: int does not fit SMALLINT"
    assert caught.value.row_index == 17


def test_a_large_object_names_its_parameter() -> None:
    with pytest.raises(NotSupportedError, match=r"^parameter 2: TEXT values are not supported$"):
        ParamEncoder([None, TEXT], LATIN1).encode([1, "x"])


def test_more_parameters_than_a_short_counts_are_refused() -> None:
    with pytest.raises(InterfaceError, match="statement: expected at most 32767 parameters, got 32768"):
        ParamEncoder([None] * 32_768, LATIN1)


def exponent_of(value: Any) -> int:
    return int(value.as_tuple().exponent)


@examples(500)
@given(st.data())
def test_a_bound_value_is_read_as_it_was(data: st.DataObject) -> None:
    # Law: round trip, for every type as described by the server.
    code_set = data.draw(st.sampled_from((LATIN1, UTF8)))
    sql_type, value = data.draw(typed_values(code_set))
    body = ParamEncoder([sql_type], code_set).encode([value])
    code, _, _, indicator, precision, content = entry_fields(body[2:])
    decoded = decode_value(code, indicator, precision, content, code_set)
    if code == TypeCode.DATETIME and type(value) is dt.date:
        value = dt.datetime.combine(value, dt.time.min)  # sent as YEAR TO FRACTION(5)
    assert decoded == value
    if isinstance(decoded, Decimal) and code == TypeCode.DECIMAL and -130 <= exponent_of(value) < 0:
        assert exponent_of(decoded) == exponent_of(value)
    null = ParamEncoder([sql_type], code_set).encode([None])
    code, _, _, indicator, precision, content = entry_fields(null[2:])
    assert decode_value(code, indicator, precision, content, code_set) is None


@examples(300)
@given(
    st.one_of(st.integers(-1, 60), st.sampled_from(TypeCode)),
    st.integers(-32_768, 32_767),
    st.one_of(st.binary(max_size=30), st.binary(min_size=4, max_size=4), st.binary(min_size=8, max_size=8)),
)
def test_garbage_is_a_value_or_a_clear_refusal(code: int, precision: int, data: bytes) -> None:
    try:
        decode_value(code, 0, precision, data, UTF8)
    except (DataError, NotSupportedError, ProtocolError):
        return


@pytest.mark.parametrize(
    ("precision", "expected"),
    [
        (4, "123.4500"),  # JDBC: the scale
        (2, "123.45"),
        (0x0602, "123.45"),  # informix-driver: precision * 256 + scale
        (0, "123.45"),
        (-20, "123.45"),
    ],
)
def test_the_scale_of_a_bound_decimal_is_kept(precision: int, expected: str) -> None:
    assert str(decode_value(TypeCode.DECIMAL, 0, precision, bytes.fromhex("c201172d"), LATIN1)) == expected


@pytest.mark.parametrize("data", ["c80000000003040506", "c40304050600000000"[:18], "c403040506"])
def test_leading_and_trailing_zero_pairs_of_an_interval_are_free(data: str) -> None:
    # observed: informix-driver sends the leading ones, and servers take data without the trailing ones
    value = decode_value(TypeCode.INTERVAL, 0, 0x144F, bytes.fromhex(data), LATIN1)
    assert value == dt.timedelta(days=3, hours=4, minutes=5, seconds=6)


@pytest.mark.parametrize(("data", "value"), [("01", True), ("00", False), ("74", True), ("66", False)])
def test_a_bound_boolean_is_read_in_both_forms(data: str, value: bool) -> None:
    assert decode_value(TypeCode.BOOLEAN, 0, 1, bytes.fromhex(data), LATIN1) is value


def test_a_bound_integer_has_its_width_and_not_its_precision() -> None:
    assert decode_value(TypeCode.INTEGER, 0, 0x0A00, b"\0\0\0\7", LATIN1) == 7


def test_an_opaque_value_is_read_as_text() -> None:
    assert decode_value(TypeCode.OPAQUE, 0, 0, b"(1,2)", LATIN1) == "(1,2)"


def test_a_column_default_is_refused() -> None:
    with pytest.raises(NotSupportedError, match="column's default"):
        decode_value(TypeCode.INTEGER, -2, 0, b"", LATIN1)


def test_data_of_another_width_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="INTEGER parameter of 3 bytes"):
        decode_value(TypeCode.INTEGER, 0, 0, b"\0\0\1", LATIN1)


def test_invalid_text_is_refused() -> None:
    with pytest.raises(DataError, match="not valid utf8"):
        decode_value(TypeCode.CHAR, 0, 0, b"\xff", UTF8)


# --- whole runs, native and pure: the bytes of the reference ---------------------------------------------------------

HEAD, TAIL = b"\0\4\0\1\0\5\0\1", b"\0\7\0\x0c"
ENDLESS = 1 << 40
MANY = 100

Make = Callable[..., EncodeParamRows]

MAKERS: dict[str, Make] = {"pure": native.pure_encoder}
try:
    import aioifx._speedups.param_encoder  # noqa: F401
except ImportError:
    pass
else:
    MAKERS["native"] = native.native_encoder

both = pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in MAKERS.items()])


def reference(types: Sequence[SqlType | None], code_set: CodeSet, row: Any) -> bytes | None:
    """The bytes of a row; None when it is refused."""
    if not isinstance(row, (tuple, list)):
        return None
    try:
        return HEAD + ParamEncoder(types, code_set).encode(row)[2:] + TAIL
    except Error:
        return None


def encoded(
    make: Make, types: Sequence[SqlType | None], code_set: CodeSet, rows: Sequence[Any]
) -> list[bytes | None]:
    """What becomes of each row when it is encoded in runs; None for those that need the reference."""
    run, source, found = make(types, code_set, HEAD, TAIL), iter(rows), list[bytes | None]()
    sizes: list[int] = []
    out = bytearray(b"before")
    for _ in range(len(rows) + 1):
        before = len(out)
        taken, left = run(source, out, ENDLESS)
        assert out[:6] == b"before"
        found += _split(bytes(out[before:]), types, code_set, rows[len(found) : len(found) + taken])
        sizes.append(taken)
        if left is None:
            break
        assert left[0] is rows[len(found)]
        found.append(None)
    assert len(found) == len(rows)
    return found


def _split(
    data: bytes, types: Sequence[SqlType | None], code_set: CodeSet, rows: Sequence[Any]
) -> list[bytes | None]:
    """The bytes of each row by the sizes of the reference; the last has what is too much."""
    parts: list[bytes | None] = []
    for row in rows:
        size = len(reference(types, code_set, row) or b"")
        parts.append(data[:size])
        data = data[size:]
    assert not data
    return parts


# --- the law --------------------------------------------------------------------------------------------------------


@both
@examples(200)
@given(data=st.data())
def test_a_run_has_the_bytes_of_the_reference_and_leaves_to_it_what_that_refuses(
    make: Make, data: st.DataObject
) -> None:
    code_set = data.draw(
        st.sampled_from((LATIN1, UTF8, CP1252, code_set_of("en_US.utf8", "surrogateescape")))
    )
    types, rows = data.draw(parameters(code_set))
    for row, found in zip(rows, encoded(make, types, code_set, rows), strict=True):
        expected = reference(types, code_set, row)
        assert found == expected


def _vectors() -> Iterator[tuple[str, Any, SqlType, str]]:
    for vector in BINDS:
        value = python_value(vector["jdbc"])
        if value is not NO_VALUE and vector["name"] not in NOT_SENT:
            yield (
                vector["hex"] if not vector.get("truncated") else "",
                value,
                target_of(vector),
                vector["locale"],
            )


@both
def test_values_are_packed_as_jdbc_binds_them(make: Make) -> None:
    count = 0
    for expected, value, sql_type, locale in _vectors():
        code_set = code_set_of(locale)
        (found,) = encoded(make, (sql_type,), code_set, [(value,)])
        whole = reference((sql_type,), code_set, (value,))
        assert found == whole or (found is None and not expected)
        if expected and found is not None:
            assert found[len(HEAD) : -len(TAIL)].hex() == expected
            count += 1
    assert count > 280


# --- what is usual is taken -----------------------------------------------------------------------------------------

USUAL: list[tuple[SqlType | None, list[Any]]] = [
    (SqlType(TypeCode.SMALLINT, 2), [0, -32_767, 32_767, True, "7"]),
    (INTEGER, [0, -(2**31) + 1, 2**31 - 1, False, "7"]),
    (SqlType(TypeCode.SERIAL, 4), [0, 7]),
    (SqlType(TypeCode.BIGINT, 8), [0, -(2**63) + 1, 2**63 - 1]),
    (SqlType(TypeCode.BIGSERIAL, 8), [7]),
    (SqlType(TypeCode.INT8, 10), [0, -(2**63) + 1, 2**63 - 1, -1]),
    (SqlType(TypeCode.SERIAL8, 10), [7]),
    (SqlType(TypeCode.FLOAT, 8), [0.1, -0.0, float("inf"), 7, -(2**53) + 1, Decimal("1.5")]),
    (SqlType(TypeCode.SMALLFLOAT, 4), [0.1, 3.4028234e38, Decimal("1.5")]),
    (decimal_type(16, 2), [Decimal("-123.40"), Decimal("1E+3"), Decimal(0), 7, -123, 0.1, 1e-7, 1e13, "1.5"]),
    (decimal_type(16), [Decimal("-123.40"), Decimal("1E+60"), Decimal("1E-60"), 10**18, 1.5]),
    (SqlType(TypeCode.MONEY, 0x1002), [Decimal("-123.40"), 7, 0.5]),
    (SqlType(TypeCode.DATE, 4), [dt.date.min, dt.date(2024, 2, 29), dt.date(1900, 3, 1), dt.date.max]),
    (
        SqlType(TypeCode.DATETIME, 0x130F),
        [dt.datetime(2024, 2, 29, 12, 34, 56, 123_456), dt.date(2024, 2, 29)],
    ),
    (SqlType(TypeCode.DATETIME, 0x0E0A), [dt.datetime.min, dt.datetime(9999, 12, 31, 23, 59, 59)]),
    (SqlType(TypeCode.DATETIME, 0x066A), [dt.time(12, 34, 56), dt.time(0)]),
    (SqlType(TypeCode.INTERVAL, 0x084A), [dt.timedelta(days=1, seconds=5)]),
    (SqlType(TypeCode.CHAR, 20), ["", "abc", "abcd", "\xe4" * 10]),
    (SqlType(TypeCode.VARCHAR, 20), ["", "abc", "abcd", "\xe4" * 10]),
    (LVARCHAR, ["", "abc", "x" * 2048]),
    (BOOLEAN, [True, False]),
    (SqlType(TypeCode.BYTE, 56), []),
    (None, [7, -(2**31) + 1, True, False, 1.5, Decimal("1.5"), "abc", dt.date(2024, 2, 29)]),
    (None, [dt.datetime(2024, 2, 29, 1, 2, 3, 4), dt.time(1, 2, 3), dt.timedelta(1)]),
]


@both
@pytest.mark.parametrize("code_set", [LATIN1, UTF8, CP1252], ids=lambda code_set: code_set.name)
def test_usual_values_are_taken_and_need_no_reference(make: Make, code_set: CodeSet) -> None:
    for sql_type, values in USUAL:
        rows = [(value,) for value in (*values, None)]
        assert encoded(make, (sql_type,), code_set, rows) == [
            reference((sql_type,), code_set, row) for row in rows
        ]


@both
def test_rows_of_many_shapes_are_one_run(make: Make) -> None:
    types = (INTEGER, SqlType(TypeCode.VARCHAR, 20), SqlType(TypeCode.CHAR, 9), SqlType(TypeCode.DATE, 4))
    whole = (7, "abc", "defg", dt.date(2024, 2, 29))
    rows = [
        tuple(value if mask >> place & 1 else None for place, value in enumerate(whole))
        for mask in (*range(16), *range(16))
    ]
    found = encoded(make, types, LATIN1, [*rows, *([whole] * MANY), list(whole)])
    assert found == [reference(types, LATIN1, row) for row in [*rows, *([whole] * (MANY + 1))]]


@pytest.mark.parametrize(("sql_type", "values"), USUAL, ids=lambda value: str(value)[:20])
def test_the_head_of_a_form_is_what_other_values_begin_with_too(
    sql_type: SqlType | None, values: list[Any]
) -> None:
    by_class = rules_for(sql_type, LATIN1).by_class
    for value in values:
        rule = by_class.get(type(value))
        if rule is not None and rule.op != PackOp.TRUTH:
            assert rule.bind(value).startswith(rule.head)


# --- what is not ----------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("sql_type", "value"),
    [
        (SqlType(TypeCode.SMALLINT, 2), 32_768),
        (SqlType(TypeCode.SMALLINT, 2), -32_768),
        (INTEGER, -(2**31)),
        (INTEGER, 1.5),
        (SqlType(TypeCode.BIGINT, 8), -(2**63)),
        (SqlType(TypeCode.BIGINT, 8), 2**63),
        (SqlType(TypeCode.INT8, 10), 2**63),
        (SqlType(TypeCode.SMALLFLOAT, 4), 1e39),
        (SqlType(TypeCode.FLOAT, 8), 2**53 + 1),
        (SqlType(TypeCode.FLOAT, 8), NULL_FLOAT),
        (SqlType(TypeCode.SMALLFLOAT, 4), NULL_FLOAT),
        (decimal_type(4, 2), Decimal(100)),
        (decimal_type(16), Decimal("NaN")),
        (decimal_type(16), float("inf")),
        (decimal_type(32), Decimal("1E+127")),
        (SqlType(TypeCode.DATE, 4), dt.datetime(2024, 2, 29, 1)),
        (SqlType(TypeCode.DATETIME, 0x130F), dt.datetime(2024, 2, 29, tzinfo=dt.UTC)),
        (SqlType(TypeCode.CHAR, 20), "x" * 21),
        (SqlType(TypeCode.CHAR, 20), "\0x"),
        (SqlType(TypeCode.CHAR, 20), "\u20ac"),
        (SqlType(TypeCode.CHAR, 20), 7),
        (BOOLEAN, 1),
        (SqlType(TypeCode.TEXT, 56), "x"),
        (None, object()),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_the_reference_refuses_is_handed_back(make: Make, sql_type: SqlType | None, value: Any) -> None:
    assert reference((sql_type,), LATIN1, (value,)) is None
    found = encoded(make, (INTEGER, sql_type), LATIN1, [(1, None), (2, value), (3, None)])
    assert [row is None for row in found] == [False, True, False]


@both
def test_an_int_that_no_double_holds_is_handed_back(make: Make) -> None:
    whole = 2**53
    found = encoded(make, (SqlType(TypeCode.FLOAT, 8),), LATIN1, [(whole - 1,), (whole + 1,), (-whole - 1,)])
    assert [row is None for row in found] == [False, True, True]


@both
@pytest.mark.parametrize(
    "row", ["ab", b"ab", {1: 1, 2: 2}, {1, 2}, None, 7, (1,), (1, 2, 3), [1], range(2)], ids=repr
)
def test_anything_but_a_row_is_returned(make: Make, row: Any) -> None:
    types = (None, None)
    rows = [(1, 2), row, (3, 4)]
    assert [part is None for part in encoded(make, types, LATIN1, rows)] == [False, True, False]


class Pair(NamedTuple):
    first: int
    second: str


class Longer(tuple[Any, ...]):
    """It says that it is longer than it is."""

    def __len__(self) -> int:
        return super().__len__() + 1


class Reversed(tuple[Any, ...]):
    def __iter__(self) -> Iterator[Any]:
        return iter(self[::-1])


@both
def test_records_and_other_tuples_are_rows_unless_they_are_walked_through_otherwise(make: Make) -> None:
    types = (INTEGER, None)
    record = record_maker((Column("a", INTEGER), Column("b", INTEGER)))
    rows = [(1, "a"), Pair(2, "b"), record((3, "c")), [4, "d"]]
    assert encoded(make, types, LATIN1, rows) == [reference(types, LATIN1, tuple(row)) for row in rows]
    strange = [(1, "a"), Longer((2, "b")), Reversed(("b", 2)), (4, "d")]
    found = encoded(make, types, LATIN1, strange)
    assert [row is None for row in found] == [False, True, make is not native.pure_encoder, False]


@both
def test_no_row_is_asked_for_before_there_is_room(make: Make) -> None:
    asked = 0

    def source() -> Iterator[tuple[int]]:
        nonlocal asked
        for asked in range(1, 1000):
            yield (asked,)

    run, rows, size = make((INTEGER,), LATIN1, HEAD, TAIL), source(), len(HEAD + TAIL) + 10
    written = 0
    for limit in (1, size, size + 1, 10 * size, 10 * size):
        out = bytearray()
        while len(out) < limit:
            taken, left = run(rows, out, limit)
            written += taken
            if left is not None:
                written += 1
                out += b" " * size
        assert asked == written
        assert limit <= len(out) < limit + size


@both
def test_what_the_source_raises_gets_out(make: Make) -> None:
    def source() -> Iterator[tuple[int]]:
        yield from [(n,) for n in range(5)]
        raise ValueError("no more")

    run, rows = make((INTEGER,), LATIN1, HEAD, TAIL), source()
    with pytest.raises(ValueError, match="no more"):
        run(rows, bytearray(), ENDLESS)


@both
def test_a_list_that_is_emptied_while_its_values_are_encoded_does_no_harm(make: Make) -> None:
    row: list[Any] = []

    class Emptying(str):
        def encode(self, encoding: str = "", errors: str = "") -> bytes:
            row.clear()
            return b"x"

    row += [Emptying(), "abc", "def"]
    found = make((None, None, None), LATIN1, HEAD, TAIL)(iter([row]), bytearray(), ENDLESS)
    assert found in ((1, None), (0, (row,)))
    assert row == []


@both
def test_a_buffer_that_cannot_grow_is_left_as_it_was(make: Make) -> None:
    run = make((INTEGER,), LATIN1, HEAD, TAIL)
    out = bytearray(b"before")
    with memoryview(out):
        try:
            assert run(iter([(1,)]), out, ENDLESS)[0] == 0
        except BufferError:
            pass
    assert out == b"before"


@both
def test_long_text_and_many_parameters_find_room(make: Make) -> None:
    many = 2000
    types = (*([LVARCHAR] * 3), *([INTEGER] * many))
    row = ("x" * 2047, "", "y" * 2048, *range(many))
    assert encoded(make, types, UTF8, [row] * 20) == [reference(types, UTF8, row)] * 20


@both
def test_no_parameters_are_head_and_tail(make: Make) -> None:
    out = bytearray()
    assert make((), LATIN1, HEAD, TAIL)(iter([()] * 3), out, ENDLESS) == (3, None)
    assert out == (HEAD + TAIL) * 3
