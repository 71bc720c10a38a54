from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.bind_values import binder_for
from aioifx.codecs.large_objects import (
    LOCATOR,
    LONG_DESCRIPTOR,
    SHORT_DESCRIPTOR,
    Descriptor,
    Locator,
    is_character_object,
    is_large_object,
    is_smart_object,
    parameter_descriptor,
    row_descriptor,
)
from aioifx.codecs.params import ParamEncoder
from aioifx.codecs.registry import codec_for
from aioifx.errors import DataError, NotSupportedError
from aioifx.sqltypes import DISTINCT, SqlType, TypeCode
from tests.codecs.samples import INTEGER, LATIN1, columns_of, decode_row, vectors

BYTE = SqlType(TypeCode.BYTE, SHORT_DESCRIPTOR)
TEXT = SqlType(TypeCode.TEXT, LONG_DESCRIPTOR)
BLOB = SqlType(TypeCode.UDTFIXED, LOCATOR, extended_id=10, extended_name="blob")
CLOB = SqlType(TypeCode.UDTFIXED, LOCATOR, extended_id=11, extended_name="clob")
BINARY_BLOB = SqlType(TypeCode.OPAQUE, LOCATOR, owner="informix", extended_name="blob")
WIDTHS = (SHORT_DESCRIPTOR, LONG_DESCRIPTOR)


def frames(case: str) -> list[bytes]:
    (found,) = [found for found in vectors("lob.json")["cases"] if found["name"] == case]
    return [bytes.fromhex(frame["hex"]) for frame in found["frames"]]


# --- BYTE and TEXT --------------------------------------------------------------------------------------------------


def test_a_row_that_jdbc_reads_is_decoded() -> None:
    """It takes ten bytes from the first row's end, and NULL from the second row's flag."""
    columns = columns_of(INTEGER, SqlType(TypeCode.TEXT, SHORT_DESCRIPTOR))
    block = frames("text_read")[3]
    rows = [decode_row(block[at + 8 : at + 68], columns, LATIN1) for at in (0, 68)]
    assert rows[1] == (2, None)
    (number, value) = rows[0]
    assert number == 1
    assert isinstance(value, Descriptor)
    assert value.size == 10
    assert frames("text_read")[4][6:62] == value.data  # SQ_FETCHBLOB


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in vectors("binds.json")["vectors"]
        if case["bind"]["type"] in (TypeCode.BYTE, TypeCode.TEXT) and case["bind"]["prec"] == SHORT_DESCRIPTOR
    ],
    ids=lambda case: case["jdbc"],
)
def test_a_parameter_of_jdbc_has_its_size(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["hex"])[6:]
    assert parameter_descriptor(Descriptor(data).size, SHORT_DESCRIPTOR).data == data


@pytest.mark.parametrize("width", WIDTHS)
@given(size=st.integers(0, (1 << 31) - 1), reference=st.integers(0, (1 << 63) - 1))
def test_a_descriptor_has_the_size_that_it_was_made_with(width: int, size: int, reference: int) -> None:
    assert parameter_descriptor(size, width).size == size
    made = row_descriptor(size, width, reference)
    assert (len(made.data), made.size, made.reference) == (width, size, reference)
    codec = codec_for(SqlType(TypeCode.TEXT, width), LATIN1)
    assert codec.decode(codec.encode(made)) == made


def test_the_size_is_where_each_client_reads_and_writes_it() -> None:
    for width, at in ((SHORT_DESCRIPTOR, 16), (LONG_DESCRIPTOR, 32)):
        assert parameter_descriptor(5, width).data == bytes(at) + b"\0\0\0\5" + bytes(width - at - 4)
        row = row_descriptor(5, width).data
        assert (row[12:16], row[at : at + 4], row[39] & 1) == (b"\0\0\0\4", b"\0\0\0\5", 0)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_descriptor_with_an_end_alone_has_a_size(width: int) -> None:
    assert Descriptor(bytes(8) + b"\0\0\0\2\0\0\0\x0b" + bytes(width - 16)).size == 10
    assert Descriptor(bytes(8) + b"\0\0\0\2\0\0\0\1" + bytes(width - 16)).size == 0
    assert Descriptor(b"\xff" * width).size == 0


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("code", [TypeCode.BYTE, TypeCode.TEXT])
def test_null_is_bit_0_of_byte_39(code: int, width: int) -> None:
    codec = codec_for(SqlType(code, width), LATIN1)
    assert (codec.head, codec.width) == (0, width)
    null = codec.encode(None)
    assert null == bytes(39) + b"\1" + bytes(width - 40)
    assert codec.decode(null) is None
    assert codec.decode(bytes(39) + b"\3" + bytes(width - 40)) is None
    assert codec.decode(bytes(39) + b"\2" + bytes(width - 40)) is not None


def test_a_request_carries_the_descriptor_in_the_width_of_bit_70() -> None:
    made = row_descriptor(5, SHORT_DESCRIPTOR, 9)
    assert made.resized(LONG_DESCRIPTOR) == made.data + bytes(12)
    assert Descriptor(made.resized(LONG_DESCRIPTOR)).resized(SHORT_DESCRIPTOR) == made.data


def test_a_value_of_another_class_is_refused() -> None:
    with pytest.raises(DataError, match=r"^BYTE does not accept bytes$"):
        codec_for(BYTE, LATIN1).encode(b"x")
    with pytest.raises(DataError, match=r"^BLOB does not accept Descriptor$"):
        codec_for(BLOB, LATIN1).encode(Descriptor(bytes(56)))


@pytest.mark.parametrize("length", [0, 39, 57, 72])
def test_a_descriptor_of_an_unknown_length_is_refused(length: int) -> None:
    with pytest.raises(
        NotSupportedError, match=f"TEXT values with descriptors of {length} bytes are not supported"
    ):
        codec_for(SqlType(TypeCode.TEXT, length), LATIN1)


# --- BLOB and CLOB --------------------------------------------------------------------------------------------------

SOME = Locator(bytes(range(LOCATOR)))


def test_a_locator_that_jdbc_reads_is_decoded() -> None:
    payload = frames("blob_read")[5][8:85]
    assert decode_row(payload, columns_of(BINARY_BLOB), LATIN1) == (SOME,)


def test_a_locator_is_hexadecimal_unless_its_bytes_were_asked_for() -> None:
    text = codec_for(CLOB, LATIN1).encode(SOME)
    assert text == b"\0\0\0\0\x90" + SOME.data.hex().encode()
    assert codec_for(BINARY_BLOB, LATIN1).encode(SOME) == b"\0\0\0\0\x48" + SOME.data
    for sql_type in (BLOB, CLOB, BINARY_BLOB):
        codec = codec_for(sql_type, LATIN1)
        assert codec.decode(text) == SOME
        assert codec.decode(codec.encode(SOME)) == SOME
        assert codec.encode(None) == b"\1\0\0\0\0"
        assert codec.decode(codec.encode(None)) is None


@pytest.mark.parametrize(
    "body", [b"", b"x" * 71, b"x" * 144, "ä".encode("latin-1") * 144, b"0" * 143], ids=len
)
def test_a_malformed_locator_is_refused(body: bytes) -> None:
    with pytest.raises(DataError, match=r"^a locator of BLOB "):
        codec_for(BLOB, LATIN1).decode(b"\0" + len(body).to_bytes(4, "big") + body)


def test_a_type_is_large_by_its_code_its_id_or_its_name() -> None:
    distinct = SqlType(TypeCode.UDTFIXED, LOCATOR, 2063, extended_name="scan", source=11, flags=DISTINCT)
    for sql_type in (BYTE, TEXT, BLOB, CLOB, BINARY_BLOB, distinct):
        assert is_large_object(sql_type)
    assert [is_smart_object(sql_type) for sql_type in (BYTE, TEXT, BLOB, distinct)] == [
        False,
        False,
        True,
        True,
    ]
    assert [
        is_character_object(sql_type) for sql_type in (BYTE, TEXT, BLOB, CLOB, BINARY_BLOB, distinct)
    ] == [False, True, False, True, False, True]
    assert not is_large_object(INTEGER)


# --- parameters -----------------------------------------------------------------------------------------------------


def test_a_descriptor_and_a_locator_are_bound_as_by_jdbc() -> None:
    descriptor = parameter_descriptor(3, SHORT_DESCRIPTOR)
    two = ParamEncoder([BYTE, BYTE], LATIN1).encode([descriptor, parameter_descriptor(4, SHORT_DESCRIPTOR)])
    assert frames("insert_two_bytes")[4].startswith(b"\0\4\0\2\0\5" + two + b"\0\x29\0\2")
    locator = ParamEncoder([BLOB], LATIN1).encode([SOME])
    assert frames("blob_create")[18] == b"\0\4\0\2\0\5" + locator + b"\0\7\0\x0c"


def test_a_descriptor_states_the_described_length() -> None:
    assert binder_for(TEXT, LATIN1)(parameter_descriptor(1, LONG_DESCRIPTOR))[:6] == b"\0\x0c\0\0\0\x44"


def test_a_blob_is_bound_with_its_owner_and_a_clob_without() -> None:
    for sql_type, head in (
        (SqlType(TypeCode.UDTFIXED, LOCATOR, 10, "informix", "blob"), b"\0\x08informix\0\4blob"),
        (SqlType(TypeCode.UDTFIXED, LOCATOR, 11, "informix", "clob"), b"\0\0\0\4clob"),
        (SqlType(TypeCode.UDTFIXED, LOCATOR, 2063, "ann", "scan", 10, DISTINCT), b"\0\0\0\4blob"),
    ):
        entry = binder_for(sql_type, LATIN1)(SOME)
        assert entry == b"\0\x2c" + head + b"\0\0\0\x48\0\0\0\x48" + SOME.data
