"""Rows, collections, DISTINCT types, JSON and BSON: IBM's JDBC driver and informix-driver against the embedded server.

JDBC reads rows and collections in a binary form and JSON and BSON as documents. aioifx and informix-driver read text.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest

import aioifx
import aioifx.server
from tests.system.interop.jdbc import Ask, cells, failing, url_of
from tests.system.interop.test_informix_driver import connect, off_loop

pytestmark = [pytest.mark.interop, pytest.mark.exhaustive, pytest.mark.timeout(300)]

SCHEMA = [
    "CREATE ROW TYPE person_t (name VARCHAR(20), age INT)",
    "CREATE ROW TYPE employee_t (salary INT) UNDER person_t",
    "CREATE DISTINCT TYPE dollar AS INT",
    "CREATE TABLE t (k INT, s SET(INT NOT NULL), m MULTISET(VARCHAR(5) NOT NULL), l LIST(DECIMAL(5,2) NOT NULL),"
    " r ROW(a INT, b VARCHAR(9), c DATE, d BOOLEAN), p person_t, j JSON, b BSON, d dollar,"
    " n LIST(SET(INT NOT NULL) NOT NULL), tail SMALLINT)",
    "INSERT INTO t VALUES (1, SET{3, 1}, MULTISET{'x', 'x'}, LIST{1.5, 2}, ROW(7, 'é', MDY(5, 4, 2026), 't'),"
    " ROW('Alice', 30), '{\"a\":1}', '{a:1}'::JSON, 5::dollar, LIST{SET{1}}, 9)",
    "INSERT INTO t (k, r, tail) VALUES (2, ROW(NULL, NULL, NULL, NULL), 8)",
    "INSERT INTO t (k, s, m, tail) VALUES (3, SET{}, MULTISET{}, 7)",
]


@pytest.fixture
async def dsn() -> AsyncIterator[str]:
    async with aioifx.server.running(password="secret", user="anna") as dsn:
        async with aioifx.connect(dsn) as conn:
            for statement in SCHEMA:
                await conn.execute(statement)
        yield dsn


@pytest.fixture
async def conn(ask: Ask, dsn: str) -> AsyncIterator[str]:
    await ask("connect", "types", url_of(dsn))
    yield "types"
    await ask("close", "types")


async def test_jdbc_reads_objects(ask: Ask, conn: str) -> None:
    rows = cells(await ask("objects", conn, "SELECT s, m, l, r, p, j, b, d, tail FROM t ORDER BY k"))
    assert rows == [
        [
            "HashSet[1, 3]", "ArrayList [x, x]", "ArrayList [1.50, 2.00]", "Struct[7, é, 2026-05-04, true]",
            "Struct[Alice, 30]", 'String {"a":1}', 'IfxBSONObject { "a" : 1 }', "Integer 5", "Short 9",
        ],
        [None, None, None, "Struct[null, null, null, null]", None, None, None, None, "Short 8"],
        ["HashSet[]", "ArrayList []", None, None, None, None, None, None, "Short 7"],
    ]  # fmt: skip


async def test_jdbc_does_not_read_nested_collections_but_their_text(ask: Ask, conn: str) -> None:
    sql = "SELECT n, n::LVARCHAR, r.b, p.name, b::JSON, tail FROM t WHERE k = 1"
    assert cells(await ask("objects", conn, sql)) == [
        ["SQLException", "String LIST{SET{1}}", "String é", "String Alice", 'String {"a":1}', "Short 9"]
    ]


@pytest.mark.parametrize(
    ("column", "kind", "value", "expected"),
    [
        ("s", "set of ints", "7,8,7", "HashSet[7, 8]"),
        ("s", "list of ints", "7,8,7", "HashSet[7, 8]"),
        ("s", "set of ints", "", "HashSet[]"),
        ("s", "string", "SET{5}", "HashSet[5]"),
        ("m", "list of strings", "a,bcdefg", "ArrayList [a, bcdef]"),
        ("l", "list of ints", "1,2", "ArrayList [1.00, 2.00]"),
        ("r", "string", "ROW(1,'x',NULL,'f')", "Struct[1, x, null, false]"),
        ("p", "string", "ROW('Bob',NULL)", "Struct[Bob, null]"),
        ("p", "null", "2002", None),
        ("s", "null", "2003", None),
        ("j", "string", '{"a":[1,2]}', 'String {"a":[1,2]}'),
        ("j", "null", "12", None),
        ("b", "bson", "hello", 'IfxBSONObject { "text" : "hello" }'),
        ("b", "null", "12", None),
        ("d", "int", "77", "Integer 77"),
        ("n", "string", "LIST{SET{1,2},SET{}}", "SQLException"),
    ],
)
async def test_jdbc_binds(
    ask: Ask, conn: str, column: str, kind: str, value: str, expected: str | None
) -> None:
    await ask("prepare", conn, "p", f"INSERT INTO t (k, {column}, tail) VALUES (?, ?, ?)")
    await ask("set", "p", 1, "int", 50)
    await ask("set", "p", 2, kind, value)
    await ask("set", "p", 3, "short", 6)
    assert await ask("run", "p") == [["1"]]
    await ask("release", "p")
    assert cells(await ask("objects", conn, f"SELECT {column}, tail FROM t WHERE k = 50")) == [
        [expected, "Short 6"]
    ]


@pytest.mark.parametrize(
    ("column", "kind", "values", "expected"),
    [
        ("s", "set of ints", ["1", "2,3"], ["HashSet[1]", "HashSet[2, 3]"]),
        ("s", "string", ["SET{1}", "SET{2,3}"], ["HashSet[1]", "HashSet[2, 3]"]),
        ("r", "string", ["ROW(1,'x',NULL,'f')"] * 2, ["Struct[1, x, null, false]"] * 2),
        ("j", "string", ['{"a":1}', '{"a":2}'], ['String {"a":1}', 'String {"a":2}']),
        ("b", "bson", ["x", "y"], ['IfxBSONObject { "text" : "x" }', 'IfxBSONObject { "text" : "y" }']),
        ("d", "int", ["1", "2"], ["Integer 1", "Integer 2"]),
    ],
)
async def test_jdbc_binds_in_batches(
    ask: Ask, conn: str, column: str, kind: str, values: list[str], expected: list[str]
) -> None:
    await ask("prepare", conn, "p", f"INSERT INTO t (k, {column}, tail) VALUES (?, ?, ?)")
    for number, value in enumerate(values):
        await ask("set", "p", 1, "int", 70 + number)
        await ask("set", "p", 2, kind, value)
        await ask("set", "p", 3, "short", 6)
        await ask("add", "p")
    assert await ask("batch", "p") == [["1"] * len(values)]
    await ask("release", "p")
    rows = cells(await ask("objects", conn, f"SELECT {column} FROM t WHERE k >= 70 ORDER BY k"))
    assert rows == [[value] for value in expected]


async def test_jdbc_gets_errors_of_values(ask: Ask, conn: str) -> None:
    await ask("prepare", conn, "p", "INSERT INTO t (s) VALUES (?)")
    await ask("set", "p", 1, "list of strings", "a,b")
    assert (await failing(ask, "run", "p")).code == -1213
    await ask("set", "p", 1, "set of ints", "4")
    assert await ask("run", "p") == [["1"]]
    await ask("release", "p")


async def test_jdbc_scrolls_over_rows_and_not_over_collections(ask: Ask, conn: str) -> None:
    answer = await ask("scroll", conn, "SELECT tail, p FROM t ORDER BY k", "last", "first", "next")
    assert answer == [["last", "7"], ["first", "9"], ["next", "8"]]
    assert (await failing(ask, "scroll", conn, "SELECT tail, s FROM t ORDER BY k", "last")).code == -9605


async def test_jdbc_finds_types_in_the_catalog(ask: Ask, conn: str) -> None:
    types = cells(await ask("types", conn, "%"))
    found = sorted((name, kind) for _, _, name, _, kind, *_ in types)
    assert found == [("dollar", "2001"), ("employee_t", "2002"), ("person_t", "2002")]
    attributes = cells(await ask("attributes", conn, "person_t"))
    assert [fields[3:6] for fields in attributes] == [["name", "13", "varchar"], ["age", "2", "int"]]
    attributes = cells(await ask("attributes", conn, "employee_t"))  # without those of its supertype
    assert [fields[3:6] for fields in attributes] == [["salary", "2", "int"]]
    columns = cells(await ask("columns", conn, "t"))
    assert [(fields[3], fields[5]) for fields in columns] == [
        ("k", "integer"), ("s", "set"), ("m", "multiset"), ("l", "list"), ("r", "row"), ("p", "person_t"),
        ("j", "json"), ("b", "bson"), ("d", "dollar"), ("n", "list"), ("tail", "smallint"),
    ]  # fmt: skip


VALUES: list[tuple[str, Any]] = [
    ("SET(INT NOT NULL)", {1, 2}),
    ("MULTISET(VARCHAR(9) NOT NULL)", ["a", "it's", "a"]),
    ("LIST(DECIMAL(8,2) NOT NULL)", [Decimal("1.50"), Decimal("-2.00")]),
    ("LIST(DATE NOT NULL)", [date(2026, 5, 4)]),
    ("LIST(DATETIME YEAR TO SECOND NOT NULL)", [datetime(2026, 5, 4, 1, 2, 3)]),
    ("LIST(DATETIME HOUR TO MINUTE NOT NULL)", [time(1, 2)]),
    ("LIST(INTERVAL DAY TO SECOND NOT NULL)", [timedelta(days=3, seconds=5), -timedelta(hours=1)]),
    ("LIST(INTERVAL YEAR TO MONTH NOT NULL)", [aioifx.IntervalYM(1, 2)]),
    ("LIST(BOOLEAN NOT NULL)", [True, False]),
    ("LIST(FLOAT NOT NULL)", [1.5, -2e100]),
    ("LIST(BIGINT NOT NULL)", [2**62]),
    ("LIST(INT8 NOT NULL)", [-5]),
    ("LIST(CHAR(4) NOT NULL)", ["ab  "]),
    ("LIST(LVARCHAR(300) NOT NULL)", ["x" * 290]),
    ("LIST(SET(INT NOT NULL) NOT NULL)", [{1, 2}, set()]),
    ("LIST(ROW(a INT, b VARCHAR(5)) NOT NULL)", [(1, "x"), (None, None)]),
    ("ROW(a INT, b ROW(c DATE, d LIST(INT NOT NULL)))", (1, (date(2026, 1, 1), [1, 2]))),
    ("ROW(j VARCHAR(20), m MONEY(8,2))", ("q{}'\"()", Decimal("1.25"))),
    ("person_t", ("Alice", 30)),
    ("LIST(person_t NOT NULL)", [("Alice", None)]),
    ("JSON", {"a": [1, None, "é"]}),
    ("BSON", {"a": [1, 2.5, None, True], "b": {"c": "x"}}),
    ("dollar", 5),
    ("LIST(dollar NOT NULL)", [5]),
]


@pytest.mark.parametrize(("sqltype", "value"), VALUES, ids=[sqltype for sqltype, _ in VALUES])
async def test_what_aioifx_binds_comes_back(dsn: str, sqltype: str, value: Any) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute(f"CREATE TABLE v (k INT, v {sqltype}, tail INT)")
        for key, each in enumerate((value, None)):
            await conn.execute("INSERT INTO v VALUES (?, ?, ?)", key, each, 7)
        rows = [tuple(row) for row in await conn.fetch("SELECT v, tail FROM v ORDER BY k")]
    assert rows == [(value, 7), (None, 7)]


async def test_informix_driver_reads_text(dsn: str) -> None:
    def work() -> list[Any]:
        with connect(dsn) as conn:
            cursor = conn.cursor()
            cursor.execute("SELECT k, s, r, p, j::LVARCHAR, b::JSON::LVARCHAR, d, tail FROM t ORDER BY k")
            return list(cursor.fetchall())

    rows = await off_loop(work)
    values = [tuple(getattr(value, "raw", value) for value in row) for row in rows]
    text = "ROW(7          ,'é',".encode("latin-1")
    assert values[0][:2] == (1, b"SET{3,1}")
    assert values[0][2].startswith(text)
    assert values[0][3] == b"ROW('Alice',30         )"
    assert values[0][4:] == ('{"a":1}', '{"a":1}', 5, 9)  # it does not read JSON and BSON columns as they are
    assert values[2] == (3, b"SET{}", None, None, None, None, None, 7)


async def test_informix_driver_binds_text(dsn: str) -> None:
    def work() -> list[Any]:
        with connect(dsn) as conn:
            cursor = conn.cursor()
            sql = "INSERT INTO t (k, s, r, p, j, d, b) VALUES (?, ?, ?, ?, ?, ?, ?::JSON::BSON)"
            row = "ROW(1,'x',NULL,NULL)"
            cursor.execute(sql, (60, "SET{4,4}", row, "ROW('Bob',NULL)", '{"a":2}', 6, '{"b":[true]}'))
            cursor.execute(
                "INSERT INTO t (k, s, p, j, b) VALUES (?, ?, ?, ?, ?)", (61, None, None, None, None)
            )
            conn.commit()
            cursor.execute(
                "SELECT k, CARDINALITY(s), r.b, p.name, BSON_VALUE_INT(j, 'a'), d::INT, b::JSON::LVARCHAR"
                " FROM t WHERE k >= 60 ORDER BY k"
            )
            return list(cursor.fetchall())

    assert await off_loop(work) == [(60, 1, "x", "Bob", 2, 6, '{"b":[true]}'), (61, *[None] * 6)]
