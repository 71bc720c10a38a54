"""Parameters for rows, collections and documents: what a conversion makes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aioifx.codecs.bind_values import binder_for
from aioifx.codecs.bson import encode_document
from aioifx.codecs.conversions import JSON as FUNCTIONS
from aioifx.codecs.conversions import PLAIN, Conversions, TypeCodec
from aioifx.codecs.objects import adapters_for
from aioifx.codecs.params import ParamEncoder
from aioifx.codecs.type_text import structured
from aioifx.errors import DataError
from aioifx.sqltypes import DISTINCT, SqlType, TypeCode
from tests.codecs.samples import BSON, INTEGER, JSON, LATIN1, VARCHAR, vectors
from tests.wire.frames import frames

STANDARD = Conversions(json=FUNCTIONS)
SET = structured(SqlType(TypeCode.SET, extended_name="SET(integer not null)"))
ROW = structured(SqlType(TypeCode.ROW, extended_name="ROW(a integer, b varchar(10))"))


def bound(value: Any, sql_type: SqlType | None, conversions: Conversions = STANDARD) -> bytes:
    (adapter,) = adapters_for(conversions, [sql_type], LATIN1) or (None,)
    assert adapter is not None
    return binder_for(sql_type, LATIN1, adapter)(value)


# JDBC's own bytes for the same texts.
BINDS = {vector["name"]: bytes.fromhex(vector["hex"]) for vector in vectors("binds.json")["vectors"]}


@pytest.mark.parametrize(
    ("value", "sql_type", "vector"),
    [
        ([1, 2], SET, 'setString("SET{1,2}") -> set'),
        ((1, "a"), ROW, "setString(\"ROW(1,'a')\") -> row"),
        ({"b": "a", "a": 1}, ROW, "setString(\"ROW(1,'a')\") -> row"),
        ("ROW(1,'a')", ROW, "setString(\"ROW(1,'a')\") -> row"),
        (None, ROW, "setNull(java.sql.Types STRUCT) -> row"),
        (None, SET, "setNull(java.sql.Types ARRAY) -> set"),
    ],
)
def test_an_object_is_bound_as_jdbc_binds_its_text(value: Any, sql_type: SqlType, vector: str) -> None:
    assert bound(value, sql_type) == BINDS[vector]


@pytest.mark.parametrize(
    ("case", "described"), [("bson_write", JSON), ("row_write", ROW)], ids=["json", "row"]
)
def test_text_for_such_a_type_is_bound_as_jdbc_binds_it(case: str, described: SqlType) -> None:
    recorded = [frame.data for frame in frames("types15") if frame.case == case and frame.side == "C"]
    binds = [data for data in recorded if data[4:6] == b"\0\5"]
    assert bound("hello", described) == binds[0][8 : -len(b"\0\7\0\x0c")]


def test_json_is_bound_as_jdbc_binds_its_text() -> None:
    compact = Conversions(
        json=FUNCTIONS._replace(dumps=lambda value: json.dumps(value, separators=(",", ":")))
    )
    assert bound({"a": 1}, JSON, compact) == BINDS['setString({"a":1}) -> json']


def test_a_distinct_type_of_bson_is_bound_as_its_base() -> None:
    distinct = SqlType(BSON.code, 4096, 2050, "me", "log", source=26, flags=DISTINCT, base_name="bson")
    document = encode_document({"a": 1})
    head = bytes.fromhex("002c 0000 0004 62736f6e 0000 0000 0000000c")
    assert bound({"a": 1}, distinct) == head + document


def test_bson_is_bound_under_its_name() -> None:
    described = SqlType(BSON.code, 4096, 26, "informix", "bson")
    document = encode_document({"a": 1})
    head = bytes.fromhex("002c 0008 696e666f726d6978 0004 62736f6e 0000 0000 0000000c")
    assert bound({"a": 1}, described) == bound(document, described) == head + document
    assert bound('{"a":1}', described) == head + document
    with pytest.raises(DataError, match=r"^BSON does not accept int$"):
        bound(1, described)


def test_the_users_encoder_comes_first() -> None:
    conversions = Conversions({"json": TypeCodec(str, None), "set": TypeCodec(sorted, None)}, json=FUNCTIONS)
    assert bound([1, 2], JSON, conversions).endswith(b"[1, 2]")
    assert bound({2, 1}, SET, conversions) == BINDS['setString("SET{1,2}") -> set']


def test_an_error_names_parameter_field_and_type() -> None:
    encoder = ParamEncoder([INTEGER, ROW], LATIN1, adapters_for(STANDARD, [INTEGER, ROW], LATIN1))
    with pytest.raises(
        DataError, match=r"^parameter 2: field 'b': text of 11 bytes does not fit VARCHAR\(10\)$"
    ):
        encoder.encode((1, (1, "x" * 11)))


def test_other_types_need_no_adapters() -> None:
    assert adapters_for(STANDARD, [INTEGER, VARCHAR, None], LATIN1) == ()
    assert adapters_for(PLAIN, [ROW, JSON, BSON], LATIN1) == ()
