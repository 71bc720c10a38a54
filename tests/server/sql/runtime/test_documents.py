from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from aioifx.codecs.bson import ObjectId, decode_document, encode_document
from aioifx.server.sql.runtime import documents
from aioifx.server.sql.runtime.dates import days_of
from tests.server.sql.kinds import error_of

DOCUMENT = {
    "i": 7,
    "big": 2**40,
    "whole": 3.0,
    "d": 2.5,
    "s": "Joe",
    "long": "x" * 300,
    "t": True,
    "when": dt.datetime(2013, 5, 18, 0, 33, 14, 250_000, dt.UTC),
    "_id": ObjectId(bytes(12)),
    "a": {"b": [{"c": 1}, 2]},
    "n": None,
}
STORED = encode_document(DOCUMENT).hex()


def value(name: str, path: str) -> Any:
    return documents.value_function(documents.VALUE_FUNCTIONS[f"bson_value_{name}"])(STORED, path)


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("int", "i", 7), ("int", "whole", 3), ("int", "big", None), ("int", "d", None), ("int", "t", None),
        ("int", "s", None), ("int", "nowhere", None), ("int", "a.b.0.c", 1), ("int", "a.b.1", 2),
        ("int", "a.b.2", None),
        ("int", "i.x", None), ("int", "n", None),
        ("bigint", "big", 2**40), ("bigint", "i", 7),
        ("double", "d", 2.5), ("double", "i", 7.0), ("double", "t", None),
        ("varchar", "s", "Joe"), ("varchar", "long", None), ("varchar", "i", None),
        ("lvarchar", "long", "x" * 300),
        ("boolean", "t", "t"), ("boolean", "i", None),
        ("date", "when", days_of(dt.date(2013, 5, 18))), ("date", "s", None),
        ("timestamp", "when", "2013-05-18 00:33:14.25000"), ("timestamp", "i", None),
        ("objectid", "_id", "00" * 12), ("objectid", "s", None),
    ],
)  # fmt: skip
def test_values_of_fields(name: str, path: str, expected: Any) -> None:
    assert value(name, path) == expected


def test_null_gives_null() -> None:
    accept = documents.value_function(documents.VALUE_FUNCTIONS["bson_value_int"])
    assert accept(None, "i") is None
    assert accept(STORED, None) is None
    assert documents.get(None, "i") is None
    assert documents.size(STORED, None) is None


def decoded(stored: Any) -> dict[str, Any]:
    return decode_document(bytes.fromhex(stored))


def test_bson_get_is_a_document_of_one_field() -> None:
    assert decoded(documents.get(STORED, "s")) == {"s": "Joe"}
    assert decoded(documents.get(STORED, "s", "first")) == {"first": "Joe"}
    assert decoded(documents.get(STORED, "a.b")) == {"b": [{"c": 1}, 2]}
    assert documents.get(STORED, "nowhere") is None


def test_bson_size() -> None:
    assert documents.size(STORED, "") == len(bytes.fromhex(STORED))
    assert documents.size(STORED, "i") == len(encode_document({"i": 7}))
    assert documents.size(STORED, "nowhere") is None


def test_json_and_bson() -> None:
    assert documents.checked_json('{"a" : 1}') == '{"a" : 1}'
    assert documents.json_of(documents.bson_of('{"a" : 1}')) == '{"a":1}'
    assert documents.checked_bson(encode_document({"a": 1})) == encode_document({"a": 1}).hex()
    for refused in (lambda: documents.checked_json("x"), lambda: documents.checked_bson(b"x")):
        assert error_of(refused) == -9652


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Joe", "Joe"), (7, "7"), (2.5, "2.5"), (True, "t"), (False, "f"), ({"b": 1}, '{"b":1}'),
        (dt.datetime(2013, 5, 18, tzinfo=dt.UTC), "2013-05-18 00:00:00.000"), (ObjectId(bytes(12)), "00" * 12),
    ],
)  # fmt: skip
def test_the_only_field_as_text(value: Any, text: str) -> None:
    assert documents.scalar_text(documents.scalar_of(encode_document({"x": value}).hex())) == text


@pytest.mark.parametrize("document", [{}, {"a": 1, "b": 2}])
def test_other_documents_are_not_scalars(document: dict[str, Any]) -> None:
    assert error_of(documents.scalar_of, encode_document(document).hex()) == -1260


def test_gen_bson_leaves_nulls_out_unless_they_are_kept() -> None:
    row = [7, None, Decimal("1.5"), dt.date(2026, 5, 4), dt.datetime(2026, 5, 4, 12), True, dt.time(1, 2)]
    names = list("abcdefg")
    made = decoded(documents.generated(names, row, keeps_nulls=False, has_id=False))
    moment = dt.datetime(2026, 5, 4, tzinfo=dt.UTC)
    assert made == {
        "a": 7, "c": 1.5, "d": moment, "e": moment.replace(hour=12), "f": True, "g": "01:02:00",
    }  # fmt: skip
    kept = decoded(documents.generated(names, row, keeps_nulls=True, has_id=True))
    assert list(kept)[:3] == ["_id", "a", "b"]
    assert isinstance(kept["_id"], ObjectId)
