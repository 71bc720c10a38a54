from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.params import ParamEncoder, decode_value
from aioifx.errors import DataError, InterfaceError, NotSupportedError, ProtocolError
from aioifx.sqltypes import SqlType, TypeCode
from tests.codecs.samples import INTEGER, LATIN1, UTF8, typed_values
from tests.codecs.test_bind_values import entry_fields
from tests.sampling import examples

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
