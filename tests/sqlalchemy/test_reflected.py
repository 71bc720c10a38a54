"""Entries of the catalog in SQLAlchemy's form."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from aioifx.sqlalchemy.catalog import ColumnEntry, IndexEntry, TableEntry
from aioifx.sqlalchemy.catalog_text import Key
from aioifx.sqlalchemy.reflected import column, index_of, options_of
from aioifx.sqlalchemy.types import BIGSERIAL
from aioifx.sqltypes import SqlType, TypeCode


def entry(kind: TypeCode) -> ColumnEntry:
    return ColumnEntry(1, "id", SqlType(kind), False, "", "")


def test_a_serial_key_is_an_integer_that_the_server_numbers() -> None:
    found = column(entry(TypeCode.BIGSERIAL), ["id"])
    assert type(found["type"]) is sa.BIGINT and found.get("autoincrement")
    found = column(entry(TypeCode.BIGSERIAL), [])
    assert isinstance(found["type"], BIGSERIAL) and found.get("autoincrement")
    assert "autoincrement" not in column(entry(TypeCode.INTEGER), ["id"])


def test_an_unknown_type_is_null_type_with_a_warning() -> None:
    unknown = ColumnEntry(1, "c", SqlType(99), True, "", "")
    with pytest.warns(exc.SAWarning, match="TYPE 99.*'c'"):
        assert isinstance(column(unknown, [])["type"], sa.types.NullType)


def test_keys_of_a_functional_index_are_expressions() -> None:
    keys = (Key("a", "a", True), Key(None, "soundex_of(b)", False))
    assert index_of(IndexEntry("ix", True, True, keys)) == {
        "name": "ix",
        "column_names": ["a", None],
        "expressions": ["a", "soundex_of(b)"],
        "column_sorting": {"a": ("desc",)},
        "unique": True,
        "dialect_options": {"informix_cluster": True},
    }


def test_options_are_those_of_the_table() -> None:
    view = TableEntry(100, "v", "ann", "V", "", 0, 0, "", 0, True)
    assert options_of(view) == {}
    result = options_of(view._replace(kind="T", lock_level="R", first_extent=64, dbspace="dbs1"))
    assert result == {"informix_lock_mode": "row", "informix_extent_size": 64, "informix_in": "dbs1"}
