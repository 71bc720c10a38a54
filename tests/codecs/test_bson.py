from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aioifx.codecs.bson import BsonKind, BsonValue, ObjectId, decode_document, encode_document
from aioifx.errors import DataError

UTC = dt.UTC


def element(kind: int, data: bytes) -> bytes:
    """A document of one field, x."""
    body = bytes((kind,)) + b"x\0" + data
    return (len(body) + 5).to_bytes(4, "little") + body + b"\0"


# The first is a document that JDBC sends (observed: e5_bson_write.json); the others are documented (bsonspec.org).
DOCUMENTS = [
    ({"a": 1}, bytes.fromhex("0c0000001061000100000000")),
    ({"hello": "world"}, b"\x16\0\0\0\x02hello\0\x06\0\0\0world\0\0"),
    (
        {"BSON": ["awesome", 5.05, 1986]},
        b"1\0\0\0\x04BSON\0&\0\0\0\x020\0\x08\0\0\0awesome\0\x011\x00333333\x14@\x102\0\xc2\x07\0\0\0\0",
    ),
    ({}, b"\x05\0\0\0\0"),
    ({"x": True}, element(8, b"\1")),
    ({"x": False}, element(8, b"\0")),
    ({"x": None}, element(10, b"")),
    ({"x": 2**31}, element(18, (2**31).to_bytes(8, "little"))),
    ({"x": -(2**31)}, element(16, b"\0\0\0\x80")),
    ({"x": -(2**63)}, element(18, b"\0" * 7 + b"\x80")),
    ({"x": b"\0\xff"}, element(5, b"\2\0\0\0\0\0\xff")),
    ({"x": "é\0"}, element(2, b"\4\0\0\0\xc3\xa9\0\0")),
    ({"x": {"é": {}}}, element(3, b"\x0e\0\0\0\3\xc3\xa9\0\5\0\0\0\0\0")),
    ({"x": ObjectId(bytes(range(12)))}, element(7, bytes(range(12)))),
    ({"x": dt.datetime(2013, 5, 18, 0, 33, 14, 5000, UTC)}, element(9, (1368837194005).to_bytes(8, "little"))),
    ({"x": dt.datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)}, element(9, (-1000 % 2**64).to_bytes(8, "little"))),
    ({"x": BsonValue(BsonKind.REGEX, b"a.*\0i\0")}, element(11, b"a.*\0i\0")),
    ({"x": BsonValue(BsonKind.TIMESTAMP, bytes(8))}, element(17, bytes(8))),
    ({"x": BsonValue(BsonKind.DECIMAL128, bytes(16))}, element(19, bytes(16))),
    ({"x": BsonValue(BsonKind.MIN_KEY, b"")}, element(255, b"")),
    ({"x": BsonValue(BsonKind.MAX_KEY, b"")}, element(127, b"")),
    ({"x": BsonValue(BsonKind.UNDEFINED, b"")}, element(6, b"")),
    ({"x": BsonValue(BsonKind.CODE, b"\2\0\0\0f\0")}, element(13, b"\2\0\0\0f\0")),
    ({"x": BsonValue(BsonKind.SYMBOL, b"\2\0\0\0f\0")}, element(14, b"\2\0\0\0f\0")),
    ({"x": BsonValue(BsonKind.POINTER, b"\2\0\0\0f\0" + bytes(12))}, element(12, b"\2\0\0\0f\0" + bytes(12))),
    (
        {"x": BsonValue(BsonKind.SCOPED_CODE, b"\x0f\0\0\0\2\0\0\0f\0\5\0\0\0\0")},
        element(15, b"\x0f\0\0\0\2\0\0\0f\0\5\0\0\0\0"),
    ),
    ({"x": BsonValue(BsonKind.BINARY, b"\1\0\0\0\4z")}, element(5, b"\1\0\0\0\4z")),
    ({"x": BsonValue(BsonKind.DATETIME, b"\xff" * 7 + b"\x7f")}, element(9, b"\xff" * 7 + b"\x7f")),
]  # fmt: skip


@pytest.mark.parametrize(("document", "data"), DOCUMENTS)
def test_documents_in_both_directions(document: dict[str, Any], data: bytes) -> None:
    assert encode_document(document) == data
    assert decode_document(data) == document


def test_an_int_takes_four_bytes_if_it_fits() -> None:
    for power, kind in ((31, BsonKind.INT32), (63, BsonKind.INT64)):
        for number in (2**power - 1, -(2**power)):
            data = encode_document({"x": number})
            assert data[4] == kind and decode_document(data) == {"x": number}
    for number in (2**31, -(2**31) - 1):
        assert encode_document({"x": number})[4] == BsonKind.INT64


def test_the_order_of_fields_is_kept() -> None:
    assert list(decode_document(encode_document({"b": 1, "a": 2}))) == ["b", "a"]


def test_a_datetime_without_a_zone_is_utc_and_loses_microseconds() -> None:
    naive = encode_document({"x": dt.datetime(2026, 5, 4, 12, 0, 0, 1999)})
    zoned = dt.datetime(2026, 5, 4, 14, 0, 0, 1000, dt.timezone(dt.timedelta(hours=2)))
    assert naive == encode_document({"x": zoned})


DAY = 86_400_000
FIRST, LAST = -719_162 * DAY, 2_932_897 * DAY - 1  # milliseconds of the years 1 and 9999


@example(FIRST)
@example(LAST)
@example(-1)
@example(1_001)  # 1.001 * 1000 is less
@given(st.integers(FIRST, LAST))
def test_a_datetime_of_any_millisecond_comes_back(milliseconds: int) -> None:
    data = element(9, milliseconds.to_bytes(8, "little", signed=True))
    moment: Any = decode_document(data)["x"]
    days, rest = divmod(milliseconds, DAY)
    assert moment.date().toordinal() == dt.date(1970, 1, 1).toordinal() + days
    seconds = (moment.hour * 60 + moment.minute) * 60 + moment.second
    assert (seconds, moment.microsecond) == (rest // 1000, rest % 1000 * 1000)
    assert encode_document({"x": moment}) == data


@example(dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), 0)
@example(dt.datetime.min, 23)
@example(dt.datetime.max, -23)
@given(st.datetimes(), st.integers(-23, 23))
def test_a_datetime_of_any_zone_is_the_millisecond_that_it_is_in(moment: dt.datetime, hours: int) -> None:
    millisecond = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert decode_document(encode_document({"x": moment})) == {"x": millisecond.replace(tzinfo=UTC)}
    zoned = moment.replace(tzinfo=dt.timezone(dt.timedelta(hours=hours)))
    data = encode_document({"x": zoned})[7:-1]
    local = int.from_bytes(data, "little", signed=True) + hours * 3_600_000
    assert dt.timedelta(milliseconds=local - FIRST) == millisecond - dt.datetime.min


@given(st.integers(-(2**63), FIRST - 1) | st.integers(LAST + 1, 2**63 - 1))
def test_a_datetime_of_another_year_keeps_its_bytes(milliseconds: int) -> None:
    number = milliseconds.to_bytes(8, "little", signed=True)
    document = {"x": BsonValue(BsonKind.DATETIME, number)}
    assert decode_document(element(9, number)) == document
    assert encode_document(document) == element(9, number)


def test_an_int_in_eight_bytes_is_an_int() -> None:
    assert decode_document(element(18, b"\5" + bytes(7))) == {"x": 5}


def test_tuples_are_arrays() -> None:
    assert decode_document(encode_document({"x": (1, (2,))})) == {"x": [1, [2]]}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"x": object()}, "BSON does not accept object"),
        ({"x": 2**63}, "BSON: expected an int of at most 64 bits"),
        ({1: 2}, "BSON: expected names of type str, got int"),
        ({"a\0b": 2}, "BSON: a name contains NUL"),
        ({"x": "\ud800"}, "the character at offset 0 is not in UTF-8"),
    ],
)
def test_values_without_a_form_are_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=f"^{message}"):
        encode_document(document)


def test_deep_nesting_is_refused_in_both_directions() -> None:
    document: dict[str, Any] = {}
    data = b"\5\0\0\0\0"
    for _ in range(100):
        document = {"x": document}
        data = element(3, data)
    with pytest.raises(DataError, match="at most 100 levels"):
        encode_document(document)
    with pytest.raises(DataError, match="at most 100 levels"):
        decode_document(data)
    assert encode_document(decode_document(encode_document(document["x"]))) == encode_document(document["x"])


@pytest.mark.parametrize("data", [data for _, data in DOCUMENTS])
def test_a_cut_document_is_refused(data: bytes) -> None:
    for size in range(len(data)):
        with pytest.raises(DataError):
            decode_document(data[:size])
    with pytest.raises(DataError, match="1 bytes after the document"):
        decode_document(data + b"\0")


@pytest.mark.parametrize(
    "data",
    [
        element(0x20, b""),
        element(2, b"\2\0\0\0ab"),
        element(2, b"\2\0\0\0\xff\0"),
        element(2, b"\xff\xff\xff\xff"),
        element(5, b"\xff\xff\xff\xff\0"),
        b"\x06\0\0\0\0",
        b"\x0c\0\0\0\x10a",
    ],
)
def test_bytes_that_are_no_document_are_refused(data: bytes) -> None:
    with pytest.raises(DataError, match="BSON"):
        decode_document(data)


@given(st.binary(max_size=64))
def test_any_bytes_give_a_document_or_a_data_error(data: bytes) -> None:
    try:
        document = decode_document(data)
    except DataError:
        return
    assert decode_document(encode_document(document)) == document or "nan" in repr(document)


def test_an_object_id_has_12_bytes() -> None:
    assert str(ObjectId(bytes(11) + b"\x0a")) == "00000000000000000000000a"
    with pytest.raises(DataError, match="expected 12 bytes, got 2"):
        ObjectId(b"ab")
