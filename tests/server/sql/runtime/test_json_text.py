from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.bson import BsonKind, BsonValue, ObjectId
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime.json_text import read_json, write_json

MOMENT = dt.datetime(2013, 5, 18, 0, 33, 14, tzinfo=dt.UTC)
OID = ObjectId(bytes(range(12)))


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ('{"a":1}', {"a": 1}),
        ('{id:100,name:"Joe"}', {"id": 100, "name": "Joe"}),  # documented: BSON_VALUE_VARCHAR
        ('{join_date:ISODate("2013-05-18T00:33:14.000Z")}', {"join_date": MOMENT}),  # documented: BSON_VALUE_DATE
        (' { "a" : [ 1 , -2.5e1 , true , false , null ] } ', {"a": [1, -25.0, True, False, None]}),
        ('{"a":{"b":{}},"c":[]}', {"a": {"b": {}}, "c": []}),
        ('{"a":"\\u00e9\\n\\""}', {"a": 'é\n"'}),
        (f'{{"_id":ObjectId("{OID}")}}', {"_id": OID}),
        (f'{{"_id":{{"$oid":"{OID}"}},"d":{{"$date":"2013-05-18T02:33:14+02:00"}}}}', {"_id": OID, "d": MOMENT}),
        ('{"a":9223372036854775807,"b":9223372036854775808}', {"a": 2**63 - 1, "b": float(2**63)}),
        ("{}", {}),
    ],
)  # fmt: skip
def test_documents_are_read(text: str, document: dict[str, Any]) -> None:
    assert read_json(text) == document


@pytest.mark.parametrize(
    "text",
    [
        "", "hello", "1", "[1]", '"a"', "null", "{", "{]", '{"a"}', '{"a":}', '{"a":1,}', '{,"a":1}', '{"a":1}x',
        '{"a":01}', '{"a":.5}', '{"a":nul}', '{"a":"x}', '{"a":"\\x"}', '{"a":1e999}', '{"a":[1,]}', "{a b:1}",
        '{"a":ISODate("today")}', '{"a":ObjectId("12")}', '{"a":' * 200 + "1" + "}" * 200,
    ],
)  # fmt: skip
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(SqlError) as raised:
        read_json(text)
    assert raised.value.sqlcode == -9652


def test_text_is_compact() -> None:
    document = {"name": "Joe", "n": [1, 2.5, None, True], "d": MOMENT, "_id": OID, "é": {}}
    text = '{"name":"Joe","n":[1,2.5,null,true],"d":ISODate("2013-05-18T00:33:14.000Z"),'
    assert write_json(document) == f'{text}"_id":ObjectId("{OID}"),"é":{{}}}}'
    assert read_json(write_json(document)) == document


@pytest.mark.parametrize("value", [BsonValue(BsonKind.REGEX, b"a\0\0"), b"x"])
def test_kinds_without_text_are_refused(value: Any) -> None:
    with pytest.raises(SqlError) as raised:
        write_json({"a": value})
    assert (raised.value.sqlcode, raised.value.token) == (
        -1260, "REGEX" if isinstance(value, BsonValue) else "BINARY",
    )  # fmt: skip


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=4))
def test_whatever_json_writes_is_read(document: dict[str, Any]) -> None:
    if any(name in json.dumps(document) for name in ("$oid", "$date")):
        return
    assert read_json(json.dumps(document)) == document
    assert read_json(write_json(document)) == document
