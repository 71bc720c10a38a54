from __future__ import annotations

import pytest

from aioifx.codecs import numbers, registry
from aioifx.codecs.conversions import Conversions, TypeCodec
from aioifx.codecs.large_objects import Descriptor, Locator, is_large_object
from aioifx.codecs.registry import codec_for, codecs_for
from aioifx.errors import NotSupportedError
from aioifx.sqltypes import DISTINCT, DISTINCT_BOOLEAN, DISTINCT_LVARCHAR, Column, SqlType, TypeCode
from tests.codecs.samples import BOOLEAN, INTEGER, LATIN1, LVARCHAR, decimal_type

LARGE = {
    "BYTE": SqlType(TypeCode.BYTE, 56),
    "TEXT": SqlType(TypeCode.TEXT, 56),
    "BLOB": SqlType(TypeCode.UDTFIXED, 72, extended_id=10, extended_name="blob"),
    "CLOB": SqlType(TypeCode.UDTFIXED, 72, extended_id=11, extended_name="clob"),
}
REFUSED = {"NULL": SqlType(TypeCode.NULL, 0), "TYPE 99": SqlType(99, 0)}


@pytest.mark.parametrize("name", REFUSED)
def test_a_type_without_codec_is_refused_by_column_and_type(name: str) -> None:
    columns = [Column("id", INTEGER), Column("photo", REFUSED[name])]
    with pytest.raises(NotSupportedError) as caught:
        codecs_for(columns, LATIN1)
    assert str(caught.value) == f"column 'photo': {name} values are not supported"


@pytest.mark.parametrize("name", LARGE)
def test_a_large_object_is_decoded_as_what_a_row_holds(name: str) -> None:
    codec = codec_for(LARGE[name], LATIN1)
    value = Descriptor(bytes(56)) if name in ("BYTE", "TEXT") else Locator(bytes(72))
    assert codec.decode(codec.encode(value)) == value


def test_an_impossible_qualifier_is_refused_by_column() -> None:
    with pytest.raises(
        NotSupportedError, match="column 'when': qualifier: expected one of DATETIME or INTERVAL, got"
    ):
        codecs_for([Column("when", SqlType(TypeCode.DATETIME, 0x0A31))], LATIN1)


@pytest.mark.parametrize(
    ("code", "codec"),
    [
        (TypeCode.SERIAL, numbers.INTEGER),
        (TypeCode.BIGSERIAL, numbers.BIGINT),
        (TypeCode.SERIAL8, numbers.INT8),
    ],
)
def test_a_serial_is_the_integer_that_it_is(code: int, codec: object) -> None:
    assert codec_for(SqlType(code, 4), LATIN1) is codec


def test_a_distinct_type_is_read_as_its_base() -> None:
    text = SqlType(TypeCode.UDTVAR, 0, 2060, extended_name="label", flags=DISTINCT | DISTINCT_LVARCHAR)
    truth = SqlType(TypeCode.UDTFIXED, 1, 2061, extended_name="flag", flags=DISTINCT | DISTINCT_BOOLEAN)
    money = SqlType(TypeCode.INTEGER, 4, 2062, extended_name="euro", flags=DISTINCT)
    assert codec_for(text, LATIN1).decode(b"\0\0\0\0\1a") == "a"
    assert codec_for(truth, LATIN1).decode(b"\0\0\0\0\1t") is True
    assert codec_for(money, LATIN1) is numbers.INTEGER


@pytest.mark.parametrize(
    "code", [TypeCode.ROW, TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST, TypeCode.COLLECTION]
)
def test_rows_and_collections_are_literals_in_envelopes(code: int) -> None:
    codec = codec_for(SqlType(code, 2048, 2052), LATIN1)
    assert codec.decode(b"\0\0\0\0\6SET{1}") == "SET{1}"
    assert codec.decode(codec.encode(None)) is None
    assert codec.encode("SET{1}") == b"\0\0\0\0\6SET{1}"


def test_a_distinct_blob_is_a_large_object_too() -> None:
    assert is_large_object(
        SqlType(TypeCode.UDTFIXED, 72, 2063, extended_name="scan", source=10, flags=DISTINCT)
    )
    assert not is_large_object(LVARCHAR)
    assert not is_large_object(BOOLEAN)


def test_the_same_type_has_the_same_codec() -> None:
    # Generated code is cached by codecs; a new codec for each statement would compile again each time.
    assert codec_for(SqlType(TypeCode.VARCHAR, 20), LATIN1) is codec_for(
        SqlType(TypeCode.VARCHAR, 20), LATIN1
    )


def test_conversions_keep_the_codecs_of_types_but_not_of_those_that_programs_make_up() -> None:
    conversions = Conversions({"integer": TypeCodec(decoder=str)})
    large = SqlType(TypeCode.ROW, 0, extended_name="row(a integer)", fields=(Column("a", INTEGER),))
    columns = [Column("a", INTEGER), Column("b", large)]
    first, again = (codecs_for(columns, LATIN1, conversions=conversions) for _ in range(2))
    assert first[0] is again[0]
    assert first[0].decode(b"\0\0\0\7") == "7"
    assert [[*known] for known in conversions.known_codecs.values()] == [[INTEGER]]
    for precision in range(1, 33):
        for scale in range(precision + 1):
            codecs_for([Column("c", decimal_type(precision, scale))] * 2, LATIN1, conversions=conversions)
    for size in range(1, 1024):
        codecs_for([Column("d", SqlType(TypeCode.CHAR, size))], LATIN1, conversions=conversions)
    assert [len(known) for known in conversions.known_codecs.values()] == [registry._MAX_KNOWN]
