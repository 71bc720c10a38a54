"""Type objects of PEP 249 against type codes of descriptions."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from aioifx import SqlType, TypeCode, dbapi
from aioifx.sqltypes import DISTINCT, EXTENDED_BLOB, EXTENDED_BOOLEAN, EXTENDED_CLOB, EXTENDED_LVARCHAR

ALL = (dbapi.STRING, dbapi.BINARY, dbapi.NUMBER, dbapi.DATETIME, dbapi.ROWID)

OPAQUE = {
    "LVARCHAR": (SqlType(TypeCode.UDTVAR, 100, EXTENDED_LVARCHAR), dbapi.STRING),
    "BLOB": (SqlType(TypeCode.UDTFIXED, 72, EXTENDED_BLOB), dbapi.BINARY),
    "CLOB": (SqlType(TypeCode.UDTFIXED, 72, EXTENDED_CLOB), dbapi.STRING),
    "DISTINCT of CLOB": (SqlType(TypeCode.UDTFIXED, 72, 2050, source=EXTENDED_CLOB, flags=DISTINCT), dbapi.STRING),
    "BOOLEAN": (SqlType(TypeCode.UDTFIXED, 1, EXTENDED_BOOLEAN), None),
    "JSON": (SqlType(TypeCode.UDTVAR, 2048, 2500, extended_name="json"), None),
}  # fmt: skip

NONE = {"INTERVAL", "NULL", "BOOLEAN", "OPAQUE", "UDTVAR", "UDTFIXED"}
NONE |= {"SET", "MULTISET", "LIST", "ROW", "COLLECTION", "ROWREF"}


@pytest.mark.parametrize("code", TypeCode, ids=lambda code: code.name)
def test_each_built_in_type_belongs_to_one_type_object_or_none(code: TypeCode) -> None:
    matching = [one for one in ALL if SqlType(code, 10) == one]
    assert len(matching) == (code.name not in NONE)
    if "CHAR" in code.name or code is TypeCode.TEXT:
        assert matching == [dbapi.STRING]


@pytest.mark.parametrize("name", OPAQUE)
def test_opaque_types_belong_to_the_type_object_of_their_values(name: str) -> None:
    sqltype, expected = OPAQUE[name]
    assert [one for one in ALL if one == sqltype] == ([] if expected is None else [expected])


def test_type_objects_differ() -> None:
    assert len(set(ALL)) == len(ALL) and dbapi.STRING != dbapi.NUMBER
    assert dbapi.STRING == dbapi.STRING and dbapi.STRING != "STRING" and repr(dbapi.ROWID) == "ROWID"


def test_constructors_make_values_of_the_standard_library() -> None:
    assert dbapi.Date(2002, 12, 25) == dt.date(2002, 12, 25)
    assert dbapi.Time(13, 45, 30) == dt.time(13, 45, 30)
    assert dbapi.Timestamp(2002, 12, 25, 13, 45, 30) == dt.datetime(2002, 12, 25, 13, 45, 30)
    assert dbapi.Binary(bytearray(b"x")) == b"x"
    ticks = time.mktime((2002, 12, 25, 13, 45, 30, 0, 0, -1))
    assert dbapi.DateFromTicks(ticks) == dt.date(2002, 12, 25)
    assert dbapi.TimeFromTicks(ticks) == dt.time(13, 45, 30)
    assert dbapi.TimestampFromTicks(ticks) == dt.datetime(2002, 12, 25, 13, 45, 30)
