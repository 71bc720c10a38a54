from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from decimal import Decimal
from typing import Any

import pytest

from aioifx.codecs import base
from aioifx.codecs.bind_values import MAX_SHORT_TEXT, NULL, binder_for
from aioifx.codecs.large_objects import Descriptor
from aioifx.codecs.params import decode_value
from aioifx.codecs.text import code_set_of
from aioifx.errors import DataError, NotSupportedError
from aioifx.sqltypes import Datetime, IntervalYM, SqlType, TypeCode, Unit, datetime_qualifier
from aioifx.wire.fields import is_named
from tests.codecs.samples import BOOLEAN, INTEGER, LATIN1, LVARCHAR, UTF8, decimal_type, described, vectors

BINDS = vectors("binds.json")["vectors"]

NO_VALUE = object()


# --- JDBC's setters as Python values --------------------------------------------------------------------------------


def _text(argument: str) -> str:
    repeated = re.search(r"\(a repeated to (\d+) chars\)", argument)
    if repeated:
        return "a" * int(repeated[1])
    return json.loads(argument) if argument.startswith('"') else argument


def _timestamp(argument: str) -> dt.datetime:
    whole, _, fraction = argument.partition(".")
    return dt.datetime.fromisoformat(whole.replace("T", " ")).replace(
        microsecond=int(fraction[:6].ljust(6, "0"))
    )


def _year_month(text: str) -> IntervalYM:
    sign = -1 if text.startswith("-") else 1
    years, dash, months = text.lstrip("-").partition("-")
    return IntervalYM(sign * int(years), sign * int(months)) if dash else IntervalYM(months=sign * int(years))


def _day_fraction(text: str, first: int) -> dt.timedelta:
    whole, _, fraction = text.lstrip("-").partition(".")
    names = ("days", "hours", "minutes", "seconds")[first // 2 - 2 :]
    fields = dict(zip(names, map(int, re.split("[ :]", whole)), strict=False))
    span = dt.timedelta(**fields, microseconds=int(fraction.ljust(6, "0")))
    return -span if text.startswith("-") else span


def _object(argument: str) -> Any:
    if found := re.fullmatch(r'IntervalYM\("(.*)", (\d+) to \d+\)', argument):
        years = _year_month(found[1])
        return IntervalYM(years=years.total_months) if found[2] == "0" and "-" not in found[1][1:] else years
    if found := re.fullmatch(r'IntervalDF\("(.*)", len \d+, (\d+) to \d+\)', argument):
        return _day_fraction(found[1], int(found[2]))
    kind, _, rest = argument.partition(" ")
    makers: dict[str, Any] = {
        "LocalDateTime": _timestamp,
        "LocalTime": dt.time.fromisoformat,
        "Integer": int,
        "Double": float,
        "BigDecimal": Decimal,
        "Boolean": lambda text: text == "true",
    }
    return makers[kind](rest) if kind in makers else json.loads(argument)


_SETTERS: dict[str, Any] = {
    "setShort": int,
    "setByte": int,
    "setInt": int,
    "setLong": int,
    "setFloat": float,
    "setDouble": float,
    "setBigDecimal": Decimal,
    "setString": _text,
    "setBoolean": lambda text: text == "true",
    "setDate": dt.date.fromisoformat,
    "setTime": dt.time.fromisoformat,
    "setTimestamp": _timestamp,
    "setObject": _object,
    "setNull": lambda text: None,
}


def python_value(call: str) -> Any:
    """The argument of a JDBC setter; NO_VALUE for streams and byte arrays."""
    found = re.fullmatch(r"(set\w+)\((.*)\)", call, re.DOTALL)
    assert found
    if found[2] == "null":
        return None
    return _SETTERS[found[1]](found[2]) if found[1] in _SETTERS else NO_VALUE


# --- what is not sent as JDBC sends it ------------------------------------------------------------------------------

_WHOLE = "setTimestamp(2024-02-29 12:34:56.12345)"

_SETTER = "JDBC's setter decides the type, here the described type does"
_REFUSED = "refused: the server would lose a field of it, or read it as NULL"
_TYPE = "refused: the Python type is none for the column's"
_LARGE = "large objects are not supported"
_STREAM = "streams and byte arrays are not accepted for these types"
_QUIRK = "JDBC writes a precision of its own; the server reads the type"

NOT_SENT = {
    "setInt(-2147483648) -> integer": _REFUSED,
    "setShort(-32768) -> smallint": _REFUSED,
    "setLong(-9223372036854775808) -> bigint": _REFUSED,
    "setTime(12:34:56) -> dt_h_mi": "JDBC leaves the cut to the server; what is stored is the same",
    f"{_WHOLE} -> date": _REFUSED,
    "setBigDecimal(12.34) -> varchar20": _TYPE,
    "setBoolean(true) -> char1": _TYPE,
    "setInt(1) -> boolean": _TYPE,
    "setDate(2024-02-29) -> varchar20": _TYPE,
    f"{_WHOLE} -> varchar20": _TYPE,
    "setInt(5) -> varchar20": _TYPE,
    "setLong(5) -> varchar20": _TYPE,
    "setInt(5) -> date": _TYPE,
    "setInt(5) -> decimal10_2": _SETTER,
    "setInt(5) -> float": _SETTER,
    "setInt(5) -> bigint": _SETTER,
    "setInt(5) -> int8": _SETTER,
    "setString(null) -> varchar20": _SETTER,
    'setObject("x") -> varchar20': _SETTER,
    "setDate(2024-02-29) -> dt_y_s": "JDBC names YEAR TO SECOND and sends FRACTION(5) too; here both are FRACTION(5)",
    "setDate(2024-02-29) -> dt_y_d": "JDBC names YEAR TO SECOND and sends FRACTION(5) too; here both are FRACTION(5)",
    "setLong(5) -> decimal10_2": "JDBC pads it to 11 bytes; the digits are the same",
    "setObject(Double 1.5) -> float": _QUIRK,
    'setString("short text") -> text': _LARGE,
    'setString("hello") -> text': _LARGE,
    'setString("abc") -> byte': _LARGE,
    'setAsciiStream("abc") -> varchar20': _STREAM,
    'setCharacterStream("abc") -> varchar20': _STREAM,
    "setBytes(3) -> lvarchar": _STREAM,
    "setBytes(3) -> varchar20": _STREAM,
    "setBytes(00 01 02 ff) -> byte": _LARGE,
    "setBytes(3 bytes) -> byte": _LARGE,
    "setBytes(empty) -> byte": _LARGE,
    "setBinaryStream(5 bytes, length 5) -> byte": _LARGE,
    "setBinaryStream(2500 bytes) -> byte": _LARGE,
    'setAsciiStream("hello") -> text': _LARGE,
    'setCharacterStream("hello") -> text': _LARGE,
    "setAsciiStream(empty) -> text": _LARGE,
}


def target_of(vector: dict[str, Any]) -> SqlType:
    sql_type = described(vector["param_described_as"])
    if sql_type.kind == TypeCode.LVARCHAR and vector.get("truncated"):
        return SqlType(
            sql_type.code, 0, extended_id=1, extended_name="lvarchar"
        )  # JDBC overfilled LVARCHAR(2048)
    return sql_type


def sent(value: Any, sql_type: SqlType | None, locale: str = "en_US.8859-1") -> bytes:
    return binder_for(sql_type, code_set_of(locale))(value)


def test_every_bind_vector_is_here_and_accounted_for() -> None:
    names = {vector["name"] for vector in BINDS}
    assert len(BINDS) == 357
    assert NOT_SENT.keys() <= names
    skipped = sum(vector["name"] in NOT_SENT for vector in BINDS)
    assert (skipped, len(BINDS) - skipped) == (38, 319)


@pytest.mark.parametrize(
    "vector", [v for v in BINDS if v["name"] not in NOT_SENT], ids=lambda v: v["name"][:60]
)
def test_a_value_is_bound_as_jdbc_binds_it(vector: dict[str, Any]) -> None:
    entry = sent(python_value(vector["jdbc"]), target_of(vector), vector["locale"])
    if vector.get("truncated"):
        assert len(entry) == vector["bytes"]
        assert hashlib.sha256(entry).hexdigest() == vector["sha256"]
    else:
        assert entry.hex() == vector["hex"]


@pytest.mark.parametrize("vector", [v for v in BINDS if v["name"] in NOT_SENT], ids=lambda v: v["name"][:60])
def test_what_is_not_bound_as_jdbc_does_is_refused_or_known(vector: dict[str, Any]) -> None:
    value, reason = python_value(vector["jdbc"]), NOT_SENT[vector["name"]]
    if reason in (_REFUSED, _TYPE):
        with pytest.raises(DataError):
            sent(value, target_of(vector))
    elif reason == _LARGE:
        with pytest.raises(NotSupportedError):
            sent(b"" if value is NO_VALUE else value, target_of(vector))
    elif reason == _STREAM:
        with pytest.raises(DataError, match="does not accept bytes"):
            sent(b"abc", target_of(vector))
    else:
        assert sent(value, target_of(vector)).hex() != vector["hex"]


# --- reading them back, as the embedded server does -----------------------------------------------------------------


def entry_fields(entry: bytes) -> tuple[int, bytes, bytes, int, int, bytes]:
    """Take an entry apart as SQ_BIND frames it: code, owner, name, indicator, precision, data."""
    pos = 2
    code = int.from_bytes(entry[:2], "big")
    names = [b"", b""]
    if is_named(code):
        for place in range(2):
            size = int.from_bytes(entry[pos : pos + 2], "big")
            names[place] = entry[pos + 2 : pos + 2 + size]
            pos += 2 + size + (size & 1)
    indicator = int.from_bytes(entry[pos : pos + 2], "big", signed=True)
    precision = int.from_bytes(entry[pos + 2 : pos + 4], "big", signed=True)
    pos += 4
    if indicator:
        return code, *names, indicator, precision, b""  # type: ignore[return-value]
    widths = {1: 2, 2: 4, 3: 8, 4: 4, 6: 4, 7: 4, 11: 56, 12: 56, 17: 10, 18: 10, 52: 8, 53: 8}
    if code in widths:
        size = widths[code]
    else:
        prefix = 4 if is_named(code) else 2
        size = int.from_bytes(entry[pos : pos + prefix], "big")
        pos += prefix
    return code, *names, indicator, precision, entry[pos : pos + size]  # type: ignore[return-value]


def whole(vector: dict[str, Any]) -> bytes:
    """The entry in full; the long ones are an `a` repeated, with head, length and digest recorded."""
    entry = bytes.fromhex(vector["hex"])
    if not vector.get("truncated"):
        return entry
    size = int.from_bytes(entry[10:14], "big")
    entry = entry[:14] + b"a" * size + b"\0" * (size & 1)
    assert hashlib.sha256(entry).hexdigest() == vector["sha256"]
    return entry


_LOST = {
    # What JDBC sent is less than what it was given.
    "setTimestamp(2024-02-29 12:34:56.123456) -> dt_y_f5": dt.datetime(2024, 2, 29, 12, 34, 56, 123_450),
    "setTimestamp(2024-02-29 12:34:56.123456789) -> dt_y_f5": dt.datetime(2024, 2, 29, 12, 34, 56, 123_450),
    f"{_WHOLE} -> dt_y_f3": dt.datetime(2024, 2, 29, 12, 34, 56, 123_000),
    f"{_WHOLE} -> dt_y_f1": dt.datetime(2024, 2, 29, 12, 34, 56, 100_000),
    f"{_WHOLE} -> dt_y_s": dt.datetime(2024, 2, 29, 12, 34, 56),
    f"{_WHOLE} -> dt_y_h": dt.datetime(2024, 2, 29, 12),
    f"{_WHOLE} -> dt_y_d": dt.datetime(2024, 2, 29),
    f"{_WHOLE} -> dt_y_mo": dt.datetime(2024, 2, 1),
    f"{_WHOLE} -> dt_y_y": dt.datetime(2024, 1, 1),
    f"{_WHOLE} -> dt_mo_d": dt.datetime(2024, 2, 29),
    f"{_WHOLE} -> date": dt.datetime(2024, 2, 29),
    f"{_WHOLE} -> dt_h_s": dt.datetime(2024, 2, 29, 12, 34, 56),
    f"{_WHOLE} -> dt_mo_s": dt.datetime(2024, 2, 29, 12, 34, 56),
    f"{_WHOLE} -> dt_d_s": dt.datetime(2024, 2, 29, 12, 34, 56),
    f"{_WHOLE} -> dt_mi_s": dt.datetime(2024, 2, 29, 12, 34, 56),
    # NULL patterns.
    "setInt(-2147483648) -> integer": None,
    "setShort(-32768) -> smallint": None,
    "setLong(-9223372036854775808) -> bigint": None,
    # Text in the place of values.
    "setBigDecimal(12.34) -> varchar20": "12.34",
    "setBoolean(true) -> char1": "true",
    "setDate(2024-02-29) -> varchar20": "2024-02-29",
    f"{_WHOLE} -> varchar20": "2024-02-29 12:34:56.12345",
    "setLong(5) -> varchar20": "5",
    'setAsciiStream("abc") -> varchar20': "abc",
    'setCharacterStream("abc") -> varchar20': "abc",
    "setBytes(3) -> lvarchar": "ABC",
    "setBytes(3) -> varchar20": "ABC",
    # The type's own form of it.
    "setDate(2024-02-29) -> dt_y_s": dt.datetime(2024, 2, 29),
    "setDate(2024-02-29) -> dt_y_d": dt.datetime(2024, 2, 29),
    "setBoolean(true) -> integer": 1,
    "setDouble(1.5) -> decimal10_2": Decimal("1.5"),
    "setFloat(0.1) -> smallfloat": pytest.approx(0.1, rel=1e-7),
    "setDouble(0.1) -> smallfloat": pytest.approx(0.1, rel=1e-7),
    "setFloat(3.4028235E38) -> smallfloat": pytest.approx(3.4028235e38, rel=1e-7),
}


@pytest.mark.parametrize("vector", BINDS, ids=lambda v: v["name"][:60])
def test_a_bind_of_jdbc_is_read(vector: dict[str, Any]) -> None:
    code, _, _, indicator, precision, data = entry_fields(whole(vector))
    assert (code, indicator, precision) == (
        vector["bind"]["type"],
        vector["bind"]["indicator"],
        vector["bind"]["prec"],
    )
    code_set = code_set_of(vector["locale"])
    if code in (TypeCode.BYTE, TypeCode.TEXT) and indicator == 0:
        assert decode_value(code, indicator, precision, data, code_set) == Descriptor(data)
        return
    value = decode_value(code, indicator, precision, data, code_set)
    if vector["name"] in _LOST:
        expected = _LOST[vector["name"]]
    else:
        expected = python_value(vector["jdbc"])
    assert expected is not NO_VALUE
    assert value == expected
    if isinstance(value, Decimal) and isinstance(expected, Decimal) and vector["bind"]["prec"] > 0:
        assert value.as_tuple() == expected.as_tuple()


# --- by Python type -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "entry"),
    [
        (None, "0000 ffff 0000"),
        ("abc", "0000 0000 0000 0003 61626300"),
        ("", "0000 0000 0000 0000"),
        (True, "0000 0000 0000 0001 7400"),
        (False, "0000 0000 0000 0001 6600"),
        (7, "0002 0000 0a00 00000007"),
        (-(1 << 31), "0034 0000 1300 ffffffff80000000"),
        (1 << 40, "0034 0000 1300 0000010000000000"),
        (-(1 << 63), "0005 0000 0000 000b 36 5a4e15281d5b1e0f11 5c 00"),
        (1.5, "0003 0000 0000 3ff8000000000000"),
        (Decimal("123.45"), "0005 0000 0002 0004 c201172d"),
        (Decimal("0.00"), "0005 0000 0000 0002 8000"),
        (dt.date(2026, 6, 20), "0007 0000 0000 0000b470"),
        (dt.datetime(2026, 8, 31, 12, 30, 15, 120_000), "000a 0000 130f 000b c7141a081f0c1e0f0c0000 00"),
        (dt.time(12, 34, 56), "000a 0000 066a 0004 c30c2238"),
        (dt.time(12, 34, 56, 10), "000a 0000 0b6f 0007 c30c223800000a 00"),
        (dt.timedelta(3, 14_706, 120_000), "000e 0000 144f 000c c8 0000000003 04 05 06 0c0000"),
        (dt.timedelta(hours=-1), "000e 0000 144f 000c 37 6363636363 63 0000 000000"),
        (IntervalYM(2, 5), "000e 0000 0b02 0007 ca 0000000002 05 00"),
        (Datetime(hour=23, minute=59), "000a 0000 0468 0003 c3173b 00"),
    ],
    ids=repr,
)
def test_a_value_without_a_described_type_goes_by_its_own(value: object, entry: str) -> None:
    # observed: the wire reference's table of SQ_BIND entries that servers took, precision as JDBC writes it
    found = sent(value, None)
    if value == -(1 << 63):
        code, _, _, _, _, data = entry_fields(found)
        assert code == TypeCode.DECIMAL
        assert decode_value(code, 0, 0, data, LATIN1) == value
    else:
        assert found == bytes.fromhex(entry)


def test_subclasses_go_as_what_they_are() -> None:
    class Name(str):
        pass

    assert sent(Name("abc"), None) == sent("abc", None)


@pytest.mark.parametrize("value", [b"abc", [1], {"a": 1}, object(), 1j], ids=lambda v: type(v).__name__)
def test_what_no_parameter_can_be_is_refused_by_its_type(value: object) -> None:
    with pytest.raises(DataError, match=f"^unsupported type {type(value).__name__}$"):
        sent(value, None)


def test_long_text_goes_in_the_form_with_a_long_size() -> None:
    assert sent("a" * MAX_SHORT_TEXT, None)[:8] == bytes.fromhex("0000 0000 0000 7fff")
    assert sent("a" * (MAX_SHORT_TEXT + 1), None)[:14] == bytes.fromhex("002b 0000 0000 0000 0000 00008000")


@pytest.mark.parametrize(
    "sql_type", [None, SqlType(TypeCode.LVARCHAR), SqlType(TypeCode.UDTVAR, extended_name="json")], ids=str
)
def test_text_beyond_the_wires_limit_is_refused(
    sql_type: SqlType | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "MAX_SIZE", 40_000)
    assert sent("a" * 40_000, sql_type)
    with pytest.raises(DataError, match=r"^value of 40001 bytes: expected at most 40000$"):
        sent("a" * 40_001, sql_type)


# --- by described type ----------------------------------------------------------------------------------------------

SMALLINT = SqlType(TypeCode.SMALLINT, 2)
BIGINT = SqlType(TypeCode.BIGINT, 8)
FLOAT = SqlType(TypeCode.FLOAT, 8)
DATE = SqlType(TypeCode.DATE, 4)
CHAR10 = SqlType(TypeCode.CHAR, 10)
VARCHAR20 = SqlType(TypeCode.VARCHAR, 20)
YEAR_TO_SECOND = SqlType(TypeCode.DATETIME, datetime_qualifier(Unit.YEAR, Unit.SECOND).encoded)
HOUR_TO_MINUTE = SqlType(TypeCode.DATETIME, datetime_qualifier(Unit.HOUR, Unit.MINUTE).encoded)
DAY_TO_SECOND = SqlType(TypeCode.INTERVAL, 0x084A)


@pytest.mark.parametrize(
    ("sql_type", "value", "reason"),
    [
        (SMALLINT, 99_999, "int does not fit SMALLINT"),
        (SMALLINT, -32_768, "int does not fit SMALLINT"),
        (INTEGER, -(1 << 31), "int does not fit INTEGER"),
        (SqlType(TypeCode.SERIAL, 4), 1 << 31, "int does not fit INTEGER"),
        (BIGINT, -(1 << 63), "int does not fit BIGINT"),
        (SqlType(TypeCode.INT8, 10), -(1 << 63), "int does not fit INT8"),
        (INTEGER, 1.5, "INTEGER accepts float only when it is whole"),
        (INTEGER, Decimal("0.1"), "INTEGER accepts Decimal only when it is whole"),
        (SqlType(TypeCode.SMALLFLOAT, 4), 1e39, "float does not fit SMALLFLOAT"),
        (FLOAT, (1 << 53) + 1, "int has more digits than FLOAT holds"),
        (DATE, dt.datetime(2024, 2, 29, 12), "datetime with a time of day or zone does not fit DATE"),
        (DATE, dt.time(12), "DATE does not accept time"),
        (YEAR_TO_SECOND, dt.datetime(2024, 2, 29, tzinfo=dt.UTC), "aware datetime: .*"),
        (None, dt.time(1, tzinfo=dt.UTC), "aware time: .*"),
        (HOUR_TO_MINUTE, dt.date(2024, 2, 29), "YEAR of the date does not fit .*"),
        (HOUR_TO_MINUTE, dt.datetime(2024, 2, 29, tzinfo=dt.UTC), "aware datetime: .*"),
        (HOUR_TO_MINUTE, dt.timedelta(1), "DATETIME does not accept timedelta"),
        (DAY_TO_SECOND, dt.timedelta(100), r"timedelta does not fit INTERVAL DAY\(2\) TO SECOND"),
        (DAY_TO_SECOND, IntervalYM(1), r"INTERVAL DAY\(2\) TO SECOND does not accept IntervalYM"),
        (decimal_type(5, 2), Decimal("1000"), r"Decimal does not fit DECIMAL\(5,2\)"),
        (decimal_type(5, 2), Decimal("NaN"), r"DECIMAL\(5,2\) holds finite numbers only"),
        (decimal_type(5, 2), float("inf"), r"DECIMAL\(5,2\) holds finite numbers only"),
        (decimal_type(32), Decimal("1." + "1" * 33), r"Decimal has more digits than DECIMAL\(32\) holds"),
        (decimal_type(32), Decimal("1E+126"), r"Decimal does not fit DECIMAL\(32\)"),
        (decimal_type(32), Decimal("1E-131"), r"Decimal does not fit DECIMAL\(32\)"),
        (decimal_type(16, 2, TypeCode.MONEY), "x" and b"1", r"MONEY\(16,2\) does not accept bytes"),
        (CHAR10, "x" * 11, r"text of 11 bytes does not fit CHAR\(10\)"),
        (VARCHAR20, "x" * 21, r"text of 21 bytes does not fit VARCHAR\(20\)"),
        (VARCHAR20, "\0", r"text that begins with NUL does not fit VARCHAR\(20\)"),
        (
            VARCHAR20,
            "\u20ac",
            r"the character '€' \(U\+20AC\) at offset 0 is not in 8859-1; locale='auto' takes .*",
        ),
        (VARCHAR20, 7, r"VARCHAR\(20\) does not accept int"),
        (VARCHAR20, b"x", r"VARCHAR\(20\) does not accept bytes"),
        (LVARCHAR, "x" * 2049, r"text of 2049 bytes does not fit LVARCHAR\(2048\)"),
        (BOOLEAN, 1, "BOOLEAN does not accept int"),
    ],
    ids=repr,
)
def test_a_value_that_does_not_fit_is_refused_before_it_is_sent(
    sql_type: SqlType | None, value: object, reason: str
) -> None:
    with pytest.raises(DataError) as caught:
        sent(value, sql_type)
    assert re.fullmatch(reason, str(caught.value)), str(caught.value)


def test_text_is_measured_in_the_bytes_of_its_code_set() -> None:
    assert sent("\u00e4" * 10, CHAR10)[6:8] == b"\0\x0a"
    with pytest.raises(DataError, match="text of 20 bytes"):
        binder_for(CHAR10, UTF8)("\u00e4" * 10)


@pytest.mark.parametrize(
    "sql_type", [INTEGER, decimal_type(10, 2), DATE, YEAR_TO_SECOND, DAY_TO_SECOND, BOOLEAN], ids=str
)
def test_the_server_converts_text_for_any_scalar(sql_type: SqlType) -> None:
    assert sent("12", sql_type) == bytes.fromhex("0000 0000 0000 0002 3132")


def test_fraction_digits_of_a_decimal_are_left_to_the_server() -> None:
    assert sent(Decimal("1.005"), decimal_type(10, 2)).hex() == "0005000000030004c1010032"


def test_a_datetime_at_midnight_is_a_date() -> None:
    assert sent(dt.datetime(2024, 2, 29), DATE) == sent(dt.date(2024, 2, 29), DATE)


def test_a_datetime_narrower_than_its_target_goes_with_the_fields_that_it_has() -> None:
    assert sent(Datetime(hour=12, minute=30), YEAR_TO_SECOND).hex() == "000a000004680003c30c1e00"


def test_a_decimal_for_a_float_goes_as_a_decimal() -> None:
    assert sent(Decimal("1.5"), FLOAT)[:2] == b"\0\5"


@pytest.mark.parametrize(
    ("sql_type", "entry"),
    [
        (None, NULL.hex()),
        (SqlType(TypeCode.SERIAL, 4), "0002ffff0000"),
        (SqlType(TypeCode.BIGSERIAL, 8), "0035ffff0000"),
        (LVARCHAR, "002b000000086c76617263686172ffff0000"),
        (SqlType(TypeCode.BOOLEAN, 1), "002d00000000ffff0000"),
        (SqlType(TypeCode.BYTE, 56), "000bffff0000"),
        (
            SqlType(TypeCode.UDTFIXED, 72, extended_id=10, extended_name="blob"),
            "002c00000004626c6f62ffff0000",
        ),
    ],
    ids=str,
)
def test_null_goes_by_its_targets_type(sql_type: SqlType | None, entry: str) -> None:
    assert sent(None, sql_type).hex() == entry


@pytest.mark.parametrize("name", ["blob", "clob"])
def test_a_large_object_is_refused_by_its_type(name: str) -> None:
    large = SqlType(TypeCode.UDTFIXED, 72, extended_id=10 if name == "blob" else 11, extended_name=name)
    with pytest.raises(NotSupportedError, match=f"^{name.upper()} values are not supported$"):
        sent(b"x", large)
