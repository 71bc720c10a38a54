"""Names and types as DDL writes them."""

from __future__ import annotations

import pytest

from aioifx.catalog.names import owned, type_text, with_owner
from aioifx.catalog.texts import quoted
from aioifx.sqltypes import DISTINCT, Column, SqlType, TypeCode


def test_names_are_quoted_only_if_they_were_delimited() -> None:
    assert [quoted(name) for name in ("item", "a$1", "Item", 'a"b', "1a", "a b")] == [
        "item", "a$1", '"Item"', '"a""b"', '"1a"', '"a b"',
    ]  # fmt: skip
    assert (owned("ann     ", "Item"), owned("", "item")) == ('"ann"."Item"', "item")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("create view v as select 1", 'create view "ann".v as select 1'),
        ('CREATE OR REPLACE DBA FUNCTION "bert".f()', 'CREATE OR REPLACE DBA FUNCTION "ann".f()'),
        ("create procedure bert . p (a int)", 'create procedure "ann".p (a int)'),
        (
            "create trigger if not exists 'bert'.t insert on x",
            'create trigger if not exists "ann".t insert on x',
        ),
        (
            "{x} create /* create view q.w */ dba procedure -- a.b\n p() end procedure",
            '{x} create /* create view q.w */ dba procedure -- a.b\n "ann".p() end procedure',
        ),
        ("create view v as select a.b from a", 'create view "ann".v as select a.b from a'),
    ],
)
def test_a_statement_gets_another_owner(sql: str, expected: str) -> None:
    assert with_owner(sql, "ann") == expected
    assert with_owner(sql, "") == expected.replace('"ann".', "")
    assert with_owner(expected, "ann") == expected


@pytest.mark.parametrize(
    ("sql_type", "text"),
    [
        (SqlType(TypeCode.VARCHAR, 0x4114), "varchar(20,65)"),
        (SqlType(TypeCode.NVARCHAR, 20), "nvarchar(20)"),
        (SqlType(TypeCode.UDTVAR, 3000, 1, "informix", "lvarchar"), "lvarchar(3000)"),
        (SqlType(TypeCode.UDTFIXED, 1, 5, "informix", "boolean"), "boolean"),
        (SqlType(TypeCode.UDTFIXED, 72, 10, "informix", "blob"), "blob"),
        (SqlType(TypeCode.UDTVAR, 0, 2050, "ann", "circle"), '"ann".circle'),
        (SqlType(TypeCode.DECIMAL, 0x0802, 2049, "ann", "euro", flags=DISTINCT), '"ann".euro'),
        (SqlType(TypeCode.ROW, 0, 2051, "ann", "place", fields=(Column("a", SqlType(2, 4)),)), '"ann".place'),
        (SqlType(TypeCode.SET, fields=(Column("", SqlType(2, 4)),)), "set(integer not null)"),
        (
            SqlType(TypeCode.ROW, fields=(Column("a", SqlType(2, 4), False), Column("B", SqlType(7, 4)))),
            'row(a integer not null, "B" date)',
        ),
        (SqlType(TypeCode.DATETIME, 0x1208), "datetime year to minute"),
    ],
)
def test_types_are_written_as_in_create_table(sql_type: SqlType, text: str) -> None:
    assert type_text(sql_type) == text
