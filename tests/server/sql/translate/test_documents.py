from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import pytest

from aioifx.codecs.bson import decode_document, encode_document
from aioifx.server.engine.engine import Engine
from tests.server.talking import error_from, query, run, run_all, server_core

JOE = '{id:100,name:"Joe",born:ISODate("2013-05-18T00:33:14.000Z"),a:{b:[1,{c:2}]},ok:true,x:2.5}'


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with server_core() as core:
        made = core.engine()
        run(made, "CREATE TABLE t (k INT, j JSON, b BSON)")
        run(made, f"INSERT INTO t VALUES (1, '{{\"a\" : 1}}', '{JOE}'::JSON)")
        run(made, "INSERT INTO t VALUES (2, ?, ?)", '{"a":2}', encode_document({"id": 101, "name": "Mike"}))
        run(made, "INSERT INTO t VALUES (3, NULL, NULL)")
        yield made


def rows(engine: Engine, text: str, *values: Any) -> list[Any]:
    found = query(engine, text, *values)
    return [row[0] if len(row) == 1 else row for row in found]


def test_json_is_its_text_and_bson_its_bytes(engine: Engine) -> None:
    result = query(engine, "SELECT j, b FROM t WHERE k > 1 ORDER BY k")
    assert result == [('{"a":2}', encode_document({"id": 101, "name": "Mike"})), (None, None)]
    assert rows(engine, "SELECT j FROM t WHERE k = 1") == ['{"a" : 1}']


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT b::JSON FROM t WHERE k = 2", ['{"id":101,"name":"Mike"}']),
        ("SELECT j::BSON::JSON FROM t WHERE k = 1", ['{"a":1}']),
        ("SELECT b::JSON::LVARCHAR FROM t WHERE k = 2", ['{"id":101,"name":"Mike"}']),
        # documented: bson_col.id::json, bson_col.join_date::date
        ("SELECT b.id::JSON FROM t WHERE k < 3 ORDER BY k", ['{"id":100}', '{"id":101}']),
        ("SELECT b.born::DATE FROM t WHERE k = 1", [date(2013, 5, 18)]),
        ("SELECT k FROM t WHERE b.id::INT = 101", [2]),
        ("SELECT t.b.name::VARCHAR(9) FROM t ORDER BY k", ["Joe", "Mike", None]),
        ("SELECT b.a.b.0::INT FROM t WHERE k = 1", None),
        ("SELECT b.ok::BOOLEAN, b.x::FLOAT FROM t WHERE k = 1", [(True, 2.5)]),
        ("SELECT BSON_GET(b, 'name')::JSON FROM t WHERE k = 1", ['{"name":"Joe"}']),
        ("SELECT bson_get(b, \"name\", \"first_name\")::json FROM t WHERE k = 1", ['{"first_name":"Joe"}']),
        ("SELECT BSON_VALUE_INT(b, 'id') FROM t ORDER BY k", [100, 101, None]),
        ("SELECT BSON_VALUE_INT(b, 'a.b.1.c') FROM t WHERE k = 1", [2]),
        ("SELECT BSON_VALUE_INT(j, 'a') FROM t WHERE k = 2", [2]),
        ("SELECT BSON_VALUE_BIGINT(b, 'id'), BSON_VALUE_DOUBLE(b, 'x') FROM t WHERE k = 1", [(100, 2.5)]),
        ("SELECT BSON_VALUE_VARCHAR(b, 'name') FROM t WHERE BSON_VALUE_LVARCHAR(b, 'name') = 'Mike'", ["Mike"]),
        ("SELECT BSON_VALUE_BOOLEAN(b, 'ok') FROM t WHERE k = 1", [True]),
        ("SELECT BSON_VALUE_DATE(b, 'born') FROM t WHERE k = 1", [date(2013, 5, 18)]),
        ("SELECT BSON_VALUE_TIMESTAMP(b, 'born') FROM t WHERE k = 1", [datetime(2013, 5, 18, 0, 33, 14)]),
        ("SELECT BSON_VALUE_OBJECTID(b, 'id') FROM t WHERE k = 1", [None]),
        ("SELECT BSON_SIZE(b, '') FROM t WHERE k = 2", [len(encode_document({"id": 101, "name": "Mike"}))]),
        ("SELECT genBSON(t, 0, 1)::JSON FROM TABLE(SET{7}) t(x)", ['{"x":7}']),
        ("SELECT genBSON(ROW(k, j::LVARCHAR), 1, 1)::JSON FROM t WHERE k = 3", ['{"k":3,"f2":null}']),
        ("SELECT COUNT(*) FROM t WHERE j IS NULL", [1]),
    ],
)  # fmt: skip
def test_expressions(engine: Engine, text: str, expected: Any) -> None:
    if expected is None:
        assert error_from(engine, text).sqlcode == -201  # a name does not begin with a digit
        return
    assert rows(engine, text) == expected


def test_gen_bson_adds_an_object_id(engine: Engine) -> None:
    [document] = rows(engine, "SELECT genBSON(ROW(k)) FROM t WHERE k = 1")
    assert list(decode_document(document)) == ["_id", "k"]
    [text] = rows(engine, "SELECT genBSON(ROW(k))::JSON FROM t WHERE k = 1")
    assert re.fullmatch(r'\{"_id":ObjectId\("[0-9a-f]{24}"\),"k":1\}', text)


def test_documents_are_updated_whole(engine: Engine) -> None:
    run_all(engine, "BEGIN WORK", "UPDATE t SET j = '{\"n\":1}', b = '{n:2}'::JSON::BSON WHERE k = 1")
    assert rows(engine, "SELECT j, b.n::INT FROM t WHERE k = 1") == [('{"n":1}', 2)]
    run(engine, "ROLLBACK WORK")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("INSERT INTO t (j) VALUES ('hello')", (-9652, "")),
        ("INSERT INTO t (b) VALUES ('{a:1}')", (-9634, "")),
        ("SELECT '{a:1}'::BSON FROM t", (-9634, "")),
        ("SELECT 'hello'::JSON FROM t", (-9652, "")),
        ("SELECT 1 FROM t WHERE j = '{}'", (-1260, "")),
        ("SELECT 1 FROM t WHERE b = b", (-1260, "")),
        ("SELECT j FROM t ORDER BY j", (-9926, "")),
        ("SELECT b::INT FROM t WHERE k = 1", (-1260, "")),
        ("SELECT b.name::INT FROM t WHERE k = 1", (-1213, "")),
        ("SELECT BSON_VALUE_INT(k, 'a') FROM t", (-674, "bson_value_int")),
        ("SELECT BSON_VALUE_INT(b, 1) FROM t", (-674, "bson_value_int")),
        ("SELECT BSON_VALUE_INT(b) FROM t", (-664, "bson_value_int")),
        ("SELECT BSON_GET(b, 'a', 'b', 'c') FROM t", (-664, "bson_get")),
        ("SELECT genBSON(k) FROM t", (-674, "genbson")),
        ("SELECT genBSON(ROW(k), 'x') FROM t", (-674, "genbson")),
        ("SELECT genBSON() FROM t", (-664, "genbson")),
        ("SELECT genBSON(t) FROM t", (-999, "genBSON")),
        ("SELECT UPPER(j) FROM t", (-674, "")),
    ],
)
def test_errors(engine: Engine, text: str, error: tuple[int, str]) -> None:
    raised = error_from(engine, text)
    assert (raised.sqlcode, raised.token) == error


def test_a_parameter_that_is_not_a_document(engine: Engine) -> None:
    assert error_from(engine, "INSERT INTO t (j) VALUES (?)", "hello").sqlcode == -9652
    assert error_from(engine, "INSERT INTO t (b) VALUES (?)", b"hello").sqlcode == -608
