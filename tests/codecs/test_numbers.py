from __future__ import annotations

import datetime as dt
import decimal
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs import numbers
from aioifx.codecs.base import Codec
from aioifx.codecs.base100 import unpack
from aioifx.codecs.numbers import decimal_of
from aioifx.codecs.registry import codec_for
from aioifx.errors import DataError
from aioifx.sqltypes import FLOATING_SCALE, SqlType, TypeCode
from tests.codecs.samples import BOOLEAN, LATIN1, decimal_type, decimals

INTEGERS = {
    "SMALLINT": numbers.SMALLINT,
    "INTEGER": numbers.INTEGER,
    "BIGINT": numbers.BIGINT,
    "INT8": numbers.INT8,
}
LIMITS = {"SMALLINT": 1 << 15, "INTEGER": 1 << 31, "BIGINT": 1 << 63, "INT8": 1 << 63}


def codec(sql_type: SqlType) -> Codec:
    return codec_for(sql_type, LATIN1)


# --- integers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", INTEGERS)
@given(data=st.data())
def test_integers_come_back(name: str, data: st.DataObject) -> None:
    value = data.draw(st.integers(1 - LIMITS[name], LIMITS[name] - 1))
    assert INTEGERS[name].decode(INTEGERS[name].encode(value)) == value


@pytest.mark.parametrize("name", INTEGERS)
def test_the_null_pattern_and_what_is_out_of_range_do_not_fit(name: str) -> None:
    for value in (-LIMITS[name], LIMITS[name]):
        with pytest.raises(DataError, match=f"^int does not fit {name}$"):
            INTEGERS[name].encode(value)


@pytest.mark.parametrize("name", INTEGERS)
def test_null_integers_come_back(name: str) -> None:
    assert INTEGERS[name].decode(INTEGERS[name].encode(None)) is None


@pytest.mark.parametrize("value", ["1", b"1", 1j, dt.timedelta(1), [1], object()])
def test_integer_types_accept_numbers_only(value: object) -> None:
    with pytest.raises(DataError, match=f"^INTEGER does not accept {type(value).__name__}$"):
        numbers.INTEGER.encode(value)


class Index:
    """What numpy's integers have."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Index({self.value})"  # a test's name, the same in every process

    def __index__(self) -> int:
        return self.value


class Scalar:
    """What numpy's bool has, of numbers and arrays."""

    shape = ()

    class dtype:
        kind = "b"

    def __init__(self, value: bool) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return self.value


@pytest.mark.parametrize(
    "value",
    [5.0, Decimal("5.00"), Decimal("0.5E1"), Fraction(10, 2), Index(5)],
    ids=lambda v: type(v).__name__,
)
@pytest.mark.parametrize("name", INTEGERS)
def test_a_whole_number_of_any_class_is_an_int(name: str, value: object) -> None:
    assert INTEGERS[name].encode(value) == INTEGERS[name].encode(5)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (1.5, "INTEGER accepts float only when it is whole"),
        (float("nan"), "INTEGER accepts float only when it is whole"),
        (float("inf"), "INTEGER accepts float only when it is whole"),
        (Decimal("1.5"), "INTEGER accepts Decimal only when it is whole"),
        (Decimal("NaN"), "INTEGER accepts Decimal only when it is whole"),
        (Decimal("sNaN"), "INTEGER accepts Decimal only when it is whole"),
        (Fraction(1, 2), "INTEGER accepts Fraction only when it is whole"),
        (Fraction(1, 3), "INTEGER does not accept Fraction"),
        (Decimal("1E+999999"), "Decimal does not fit INTEGER"),
        (1e300, "int does not fit INTEGER"),
        (Index(1 << 40), "int does not fit INTEGER"),
    ],
    ids=repr,
)
def test_a_number_that_would_lose_digits_is_refused(value: object, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        numbers.INTEGER.encode(value)
    assert str(caught.value) == reason


def test_a_number_of_another_class_goes_where_a_float_goes() -> None:
    assert numbers.FLOAT.encode(Fraction(3, 2)) == numbers.FLOAT.encode(1.5)
    assert numbers.FLOAT.encode(Index(3)) == numbers.FLOAT.encode(3)
    decimal = numbers.decimal(decimal_type(8, 2))
    assert decimal.encode(Fraction(3, 2)) == decimal.encode(Decimal("1.5"))
    assert decimal.encode(Index(3)) == decimal.encode(3)
    for codec in (numbers.FLOAT, decimal):
        with pytest.raises(DataError, match=r"does not accept Fraction"):
            codec.encode(Fraction(1, 3))


@pytest.mark.parametrize("value", [True, False])
def test_a_truth_value_of_another_class_is_a_bool(value: bool) -> None:
    boolean = numbers.boolean(BOOLEAN)
    assert boolean.encode(Scalar(value)) == boolean.encode(value)
    assert numbers.SMALLINT.encode(Scalar(value)) == numbers.SMALLINT.encode(value)


def test_numpys_scalars_are_taken_by_their_protocols() -> None:
    np = pytest.importorskip("numpy")
    boolean, decimal = numbers.boolean(BOOLEAN), numbers.decimal(decimal_type(8, 2))
    for kind in (np.int8, np.int16, np.uint8, np.int64, np.uint64):
        assert numbers.BIGINT.encode(kind(7)) == numbers.BIGINT.encode(7)
        assert decimal.encode(kind(7)) == decimal.encode(7)
    for kind in (np.float16, np.float32, np.float64, np.longdouble):
        assert numbers.FLOAT.encode(kind(1.5)) == numbers.FLOAT.encode(1.5)
        assert decimal.encode(kind(1.5)) == decimal.encode(Decimal("1.5"))
        assert numbers.INTEGER.encode(kind(2)) == numbers.INTEGER.encode(2)
        assert numbers.FLOAT.encode(kind("nan")) == numbers.FLOAT.encode(float("nan"))
    assert boolean.encode(np.bool_(True)) == boolean.encode(True)
    assert numbers.SMALLINT.encode(np.bool_(False)) == numbers.SMALLINT.encode(0)
    for refused in (np.timedelta64(5, "s"), np.datetime64("2026-01-01"), np.complex64(1), np.array([1, 2])):
        with pytest.raises(DataError, match=f"^INTEGER does not accept {type(refused).__name__}$"):
            numbers.INTEGER.encode(refused)


def test_a_bool_is_a_zero_or_one() -> None:
    assert numbers.SMALLINT.encode(True) == b"\0\1"


def test_int8_has_its_low_half_first_and_a_magnitude() -> None:
    assert numbers.INT8.encode(-(1 << 32)) == bytes.fromhex("ffff 00000000 00000001")


def test_int8_with_another_sign_is_refused() -> None:
    with pytest.raises(DataError, match="sign 2"):
        numbers.INT8.decode(bytes.fromhex("0002 00000001 00000000"))


# --- floats ---------------------------------------------------------------------------------------------------------


@given(st.floats(allow_nan=False))
def test_floats_come_back(value: float) -> None:
    assert numbers.FLOAT.decode(numbers.FLOAT.encode(value)) == value


@given(st.floats(allow_nan=False, width=32))
def test_smallfloats_come_back(value: float) -> None:
    assert numbers.SMALLFLOAT.decode(numbers.SMALLFLOAT.encode(value)) == value


@pytest.mark.parametrize(
    ("codec", "size"), [(numbers.FLOAT, 8), (numbers.SMALLFLOAT, 4)], ids=["FLOAT", "SMALLFLOAT"]
)
def test_only_all_ones_is_a_null_float(codec: Codec, size: int) -> None:
    assert codec.decode(b"\xff" * size) is None
    assert codec.encode(None) == b"\xff" * size
    for pattern in (b"\x7f\xff" + b"\xff" * (size - 2), b"\xff" * (size - 1) + b"\xfe"):
        value = codec.decode(pattern)
        assert isinstance(value, float) and math.isnan(value)


def test_a_nan_that_is_null_is_refused() -> None:
    import struct

    (nan,) = struct.unpack(">d", b"\xff" * 8)
    with pytest.raises(DataError, match="NULL of FLOAT"):
        numbers.FLOAT.encode(nan)


def test_an_ordinary_nan_is_sent() -> None:
    assert numbers.FLOAT.encode(math.nan).hex() == "7ff8000000000000"


def test_a_float_too_large_for_smallfloat_is_refused() -> None:
    with pytest.raises(DataError, match="float does not fit SMALLFLOAT"):
        numbers.SMALLFLOAT.encode(1e39)


@pytest.mark.parametrize("value", [(1 << 53) + 1, 10**400])
def test_an_int_that_no_float_is_equal_to_is_refused(value: int) -> None:
    with pytest.raises(DataError, match="FLOAT"):
        numbers.FLOAT.encode(value)


# --- DECIMAL --------------------------------------------------------------------------------------------------------


@given(st.data())
def test_decimals_come_back_with_their_scale(data: st.DataObject) -> None:
    precision = data.draw(st.integers(1, 32))
    scale = data.draw(st.integers(0, precision))
    sql_type = decimal_type(precision, scale)
    value = data.draw(decimals(sql_type))
    decoded = codec(sql_type).decode(codec(sql_type).encode(value))
    assert decoded == value
    assert decoded.as_tuple().exponent == -scale


@given(st.data())
def test_floating_decimals_come_back(data: st.DataObject) -> None:
    sql_type = decimal_type(data.draw(st.integers(1, 32)))
    value = data.draw(decimals(sql_type))
    assert codec(sql_type).decode(codec(sql_type).encode(value)) == value


@given(st.data())
def test_cutting_digits_agrees_with_arithmetic(data: st.DataObject) -> None:
    # The decoder has a short way and a long one; any bytes at all must give the same, exponent included.
    scale = data.draw(st.one_of(st.just(FLOATING_SCALE), st.integers(0, 12)))
    sql_type = decimal_type(data.draw(st.integers(max(scale % 255, 1), 16)), scale)
    width = codec(sql_type).width
    field = data.draw(
        st.one_of(
            st.binary(min_size=width, max_size=width),
            st.tuples(st.sampled_from(range(0x38, 0x48)) | st.sampled_from(range(0xB8, 0xC8)), st.data()).map(
                lambda pair: bytes([pair[0]]) + bytes(width - 1)
            ),
            st.builds(
                lambda head, pairs: bytes([head, *pairs]),
                st.sampled_from([*range(0x38, 0x48), *range(0xB8, 0xC8)]),
                st.lists(st.integers(0, 99), min_size=width - 1, max_size=width - 1),
            ),
        )
    )

    def long_way() -> Decimal | None:
        number = unpack(field)
        return None if number is None else decimal_of(number, scale)

    try:
        expected = long_way()
    except DataError:
        with pytest.raises(DataError):
            codec(sql_type).decode(field)
        return
    decoded = codec(sql_type).decode(field)
    assert decoded == expected
    if decoded and expected:
        assert decoded.as_tuple() == expected.as_tuple()


def test_a_fixed_scale_is_kept() -> None:
    assert str(codec(decimal_type(10, 2)).decode(bytes.fromhex("c03200000000"))) == "0.50"
    assert str(codec(decimal_type(10, 2)).decode(bytes.fromhex("800000000000"))) == "0.00"


def test_a_floating_point_shows_the_digits_that_there_are() -> None:
    floating = codec(decimal_type(16))
    assert str(floating.decode(bytes.fromhex("c1635a00000000000000"))) == "99.9"
    assert str(floating.decode(bytes.fromhex("c20a0000000000000000"))) == "1000"
    assert str(floating.decode(bytes.fromhex("df010000000000000000"))) == "1E+60"


def test_a_decimal_is_rounded_half_up_to_its_scale() -> None:
    assert codec(decimal_type(5, 2)).encode(Decimal("1.005")) == codec(decimal_type(5, 2)).encode(
        Decimal("1.01")
    )


def test_a_float_is_taken_by_its_shortest_spelling() -> None:
    assert codec(decimal_type(10, 2)).encode(0.1) == codec(decimal_type(10, 2)).encode(Decimal("0.10"))


@pytest.mark.parametrize("value", [Decimal("1000.00"), Decimal("999.995"), Decimal("1E+1000000"), 10**500])
def test_too_many_digits_before_the_point_do_not_fit(value: object) -> None:
    with pytest.raises(DataError, match=r"does not fit DECIMAL\(5,2\)"):
        codec(decimal_type(5, 2)).encode(value)


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("-Infinity"), float("nan")])
def test_what_is_not_finite_is_refused(value: object) -> None:
    with pytest.raises(DataError, match="finite numbers only"):
        codec(decimal_type(16)).encode(value)


def test_corrupt_digits_are_refused_whatever_the_callers_decimal_context_allows() -> None:
    with decimal.localcontext() as context:
        context.traps[decimal.InvalidOperation] = False
        with pytest.raises(DataError):
            codec(decimal_type(10, 2)).decode(bytes.fromhex("c1ff00000000"))


# --- BOOLEAN --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["74", "54", "01"])
def test_true_has_three_spellings(data: str) -> None:
    assert codec(BOOLEAN).decode(bytes.fromhex("0000000001" + data)) is True


@pytest.mark.parametrize("data", ["66", "46", "00"])
def test_false_has_three_spellings(data: str) -> None:
    assert codec(BOOLEAN).decode(bytes.fromhex("0000000001" + data)) is False


@pytest.mark.parametrize("field", ["0100000000", "010000000100"])
def test_null_boolean_is_recognised_by_its_indicator(field: str) -> None:
    assert codec(BOOLEAN).decode(bytes.fromhex(field)) is None


@pytest.mark.parametrize("field", ["000000000178", "0000000000", "00000000027466"])
def test_a_boolean_that_is_neither_is_refused(field: str) -> None:
    with pytest.raises(DataError, match="neither true nor false"):
        codec(BOOLEAN).decode(bytes.fromhex(field))


def test_a_boolean_is_written_in_the_form_that_its_type_asks_for() -> None:
    assert codec(BOOLEAN).encode(True).hex() == "000000000174"
    assert codec(SqlType(TypeCode.BOOLEAN, 1)).encode(True).hex() == "000000000101"


def test_boolean_refuses_an_int() -> None:
    with pytest.raises(DataError, match="BOOLEAN does not accept int"):
        codec(BOOLEAN).encode(1)
