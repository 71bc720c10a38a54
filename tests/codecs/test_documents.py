"""JSON and BSON as Python objects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aioifx.codecs.bson import encode_document
from aioifx.codecs.conversions import JSON as FUNCTIONS
from aioifx.codecs.conversions import PLAIN, Conversions, JsonFunctions, TypeCodec
from aioifx.codecs.documents import document_decoder, document_encoder
from aioifx.errors import DataError
from aioifx.sqltypes import DISTINCT, SqlType, TypeCode
from tests.codecs.samples import BSON, INTEGER, JSON, LVARCHAR, POINT

STANDARD = Conversions(json=FUNCTIONS)
OFFER = SqlType(TypeCode.UDTVAR, 0, 2070, "me", "offer", source=25, flags=DISTINCT, base_name="json")


def decode(value: Any, sql_type: SqlType = JSON, conversions: Conversions = STANDARD) -> Any:
    decoder = document_decoder(sql_type, conversions)
    assert decoder is not None
    return decoder(value)


def encode(value: Any, sql_type: SqlType = JSON, conversions: Conversions = STANDARD) -> Any:
    encoder = document_encoder(sql_type, conversions)
    assert encoder is not None
    return encoder(value)


@pytest.mark.parametrize("sql_type", [JSON, OFFER], ids=["json", "distinct"])
def test_json_text_becomes_an_object_and_back(sql_type: SqlType) -> None:
    assert decode('{"a":[1,2.5,null,true]}', sql_type) == {"a": [1, 2.5, None, True]}
    assert json.loads(encode({"a": (1, None)}, sql_type)) == {"a": [1, None]}
    assert encode("\N{EURO SIGN}", sql_type) == "\N{EURO SIGN}"  # a str is JSON already
    assert encode(["\N{EURO SIGN}"], sql_type).isascii()  # in every code set
    assert encode(7, sql_type) == "7"


@pytest.mark.parametrize("text", ["", "{", "nul", "[" * 100_000])
def test_text_that_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(DataError, match=r"^not valid JSON"):
        decode(text)


def test_what_json_lacks_is_refused() -> None:
    circular: list[Any] = []
    circular.append(circular)
    for value in (float("nan"), [float("inf")], circular):
        with pytest.raises(DataError, match=r"^JSON does not accept NaN, infinity or a cycle$"):
            encode(value)
    with pytest.raises(DataError, match=r"^JSON does not accept list, or a value in it$"):
        encode([object()])


def test_the_functions_may_be_others() -> None:
    conversions = Conversions(json=JsonFunctions(len, lambda value: str(value).encode()))
    assert decode("[1]", JSON, conversions) == 3
    assert encode([1], JSON, conversions) == "[1]"
    broken = Conversions(json=JsonFunctions(int, lambda value: 1 // value))
    with pytest.raises(DataError, match=r"^json_loads raised ValueError$"):
        decode("[1]", JSON, broken)
    with pytest.raises(DataError, match=r"^json_dumps raised ZeroDivisionError$"):
        encode(0, JSON, broken)
    with pytest.raises(DataError, match=r"^json_dumps: expected str or bytes, got int$"):
        encode(1, JSON, broken)
    with pytest.raises(DataError, match=r"^json_dumps: UTF-8 raised UnicodeDecodeError$"):
        encode([1], JSON, Conversions(json=JsonFunctions(int, lambda value: b"\xff")))


def test_bson_becomes_an_object_and_back() -> None:
    document = {"a": 1, "b": [True, None]}
    data = encode_document(document)
    assert decode(data, BSON) == document
    assert encode(document, BSON) == data
    assert encode(data, BSON) is data
    assert encode(bytearray(data), BSON) == data
    with pytest.raises(DataError, match=r"^BSON does not accept list$"):
        encode([1], BSON)
    with pytest.raises(DataError, match=r"^BSON"):
        decode(data[:-1], BSON)


def test_json_text_becomes_bson() -> None:
    assert encode('{"a":[1,null]}', BSON) == encode_document({"a": [1, None]})
    with pytest.raises(DataError, match=r"^BSON does not accept list$"):
        encode("[1]", BSON)
    for text in ("", "{", "{'a':1}", "[" * 100_000):
        with pytest.raises(DataError, match=r"^not valid JSON$"):
            encode(text, BSON)
    mine = Conversions(json=JsonFunctions(lambda text: {"read": text}, str))
    assert encode("x", BSON, mine) == encode_document({"read": "x"})


def test_bson_that_is_sent_as_text_is_read_as_well() -> None:
    assert decode(b'{"a":1}', BSON) == {"a": 1}
    assert decode('{"a":1}', BSON) == {"a": 1}
    with pytest.raises(DataError, match=r"^neither BSON nor JSON$"):
        decode(b"{\xff\xff\xff}", BSON)


def test_a_type_codec_gets_text_or_bytes_instead() -> None:
    mine = Conversions({"json": TypeCodec(None, str.upper), "bson": TypeCodec(None, len)}, json=FUNCTIONS)
    assert document_decoder(JSON, mine) is None
    assert document_decoder(BSON, mine) is None
    assert document_decoder(OFFER, mine) is None


def test_other_types_and_plain_conversions_have_no_documents() -> None:
    for sql_type in (INTEGER, LVARCHAR, POINT):
        assert document_decoder(sql_type, STANDARD) is None
        assert document_encoder(sql_type, STANDARD) is None
    assert document_decoder(JSON, PLAIN) is None
    assert document_encoder(JSON, PLAIN) is None
