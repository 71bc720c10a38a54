"""What only a real Informix can prove: each test checks a fact that aioifx depends on, on a real server.

    AIOIFX_TEST_DSN='informix://informix:in4mix@127.0.0.1:9088/aioifx?server=informix' python -m pytest -m informix

They make nothing but temporary tables, and one table named aioifx_live that they drop. The database must be logged.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

import aioifx
from aioifx import Connection, IntervalYM

pytestmark = [pytest.mark.informix, pytest.mark.timeout(120)]


@pytest.fixture
async def conn(informix_dsn: str) -> AsyncIterator[Connection]:
    async with aioifx.connect(informix_dsn) as conn:
        yield conn


async def test_the_server_says_who_it_is(conn: Connection) -> None:
    assert "Informix" in conn.server_version
    assert await conn.fetchval("SELECT DBINFO('version', 'full') FROM systables WHERE tabid = 1")


# Column type, value in, value out. The column after it shows when a width is wrong.
SCALARS: list[tuple[str, Any, Any]] = [
    ("SMALLINT", -32767, -32767),
    ("INTEGER", 2147483647, 2147483647),
    ("INT8", -(2**63) + 1, -(2**63) + 1),
    ("BIGINT", 2**63 - 1, 2**63 - 1),
    ("SMALLFLOAT", 1.5, 1.5),
    ("FLOAT", -2.25e300, -2.25e300),
    ("DECIMAL(10,2)", Decimal("-12345678.90"), Decimal("-12345678.90")),
    ("DECIMAL(8,4)", Decimal("0.5"), Decimal("0.5000")),
    ("DECIMAL(32)", Decimal("1234567890.0987654321"), Decimal("1234567890.0987654321")),
    ("DECIMAL(16)", Decimal("-1E-100"), Decimal("-1E-100")),
    ("MONEY(16,2)", Decimal("19.99"), Decimal("19.99")),
    ("CHAR(10)", "Grüße", "Grüße     "),
    ("NCHAR(6)", "nch", "nch   "),
    ("VARCHAR(20)", "", ""),
    ("NVARCHAR(20)", "señal", "señal"),
    ("LVARCHAR(500)", "x" * 401, "x" * 401),
    ("BOOLEAN", True, True),
    ("BOOLEAN", False, False),
    ("DATE", dt.date(1850, 1, 31), dt.date(1850, 1, 31)),
    ("DATETIME YEAR TO DAY", dt.date(2024, 2, 29), dt.date(2024, 2, 29)),
    ("DATETIME YEAR TO SECOND", dt.datetime(1, 1, 1, 0, 0, 7), dt.datetime(1, 1, 1, 0, 0, 7)),
    ("DATETIME YEAR TO FRACTION(5)", dt.datetime(2026, 6, 2, 1, 2, 3, 98765), dt.datetime(2026, 6, 2, 1, 2, 3, 98760)),
    ("DATETIME HOUR TO SECOND", dt.time(0, 0), dt.time(0, 0)),
    ("DATETIME HOUR TO MINUTE", dt.time(23, 59), dt.time(23, 59)),
    ("INTERVAL DAY(9) TO FRACTION(5)", -dt.timedelta(days=3, microseconds=10), -dt.timedelta(days=3, microseconds=10)),
    ("INTERVAL HOUR(3) TO SECOND", dt.timedelta(hours=100, seconds=1), dt.timedelta(hours=100, seconds=1)),
    ("INTERVAL YEAR(4) TO MONTH", IntervalYM(-5, -3), IntervalYM(-5, -3)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sqltype", "value", "expected"), SCALARS, ids=[f"{row[0]} {row[1]!r:.24}" for row in SCALARS]
)
async def test_a_value_and_a_null_of_every_type_come_back(
    conn: Connection, sqltype: str, value: Any, expected: Any
) -> None:
    await conn.execute(f"CREATE TEMP TABLE live (k INTEGER, v {sqltype}, tail SMALLINT)")
    await conn.execute("INSERT INTO live VALUES (?, ?, ?)", 1, value, 7)
    await conn.execute("INSERT INTO live VALUES (?, ?, ?)", 2, None, 7)
    rows = await conn.fetch("SELECT k, v, tail FROM live ORDER BY k")
    assert [tuple(row) for row in rows] == [(1, expected, 7), (2, None, 7)]
    assert type(rows[0]["v"]) is type(expected)


async def test_rows_of_many_blocks_come_whole_and_once(conn: Connection, informix_dsn: str) -> None:
    # Settles whether SQ_DONE with rows ends the result on this release: if it came earlier, rows would be missing.
    await conn.execute("CREATE TEMP TABLE live (k INTEGER, v VARCHAR(60))")
    await conn.executemany("INSERT INTO live VALUES (?, ?)", ((k, f"row {k}") for k in range(5000)))
    expected = [(k, f"row {k}") for k in range(5000)]
    assert [tuple(row) for row in await conn.fetch("SELECT k, v FROM live ORDER BY k")] == expected
    streamed = [tuple(row) async for row in conn.stream("SELECT k, v FROM live ORDER BY k")]
    assert streamed == expected
    async with aioifx.connect(informix_dsn, fetch_size=4096) as small:
        await small.execute("CREATE TEMP TABLE live (k INTEGER, v VARCHAR(60))")
        await small.executemany("INSERT INTO live VALUES (?, ?)", expected[:1000])
        assert [tuple(row) for row in await small.fetch("SELECT k, v FROM live ORDER BY k")] == expected[
            :1000
        ]


async def test_statements_are_addressed_by_their_ids(conn: Connection) -> None:
    # Two cursors and a third statement in turn; a client that always addressed statement 0 could not.
    await conn.execute("CREATE TEMP TABLE live (k INTEGER)")
    await conn.executemany("INSERT INTO live VALUES (?)", [(k,) for k in range(3000)])
    up, down = conn.stream("SELECT k FROM live ORDER BY k"), conn.stream("SELECT k FROM live ORDER BY k DESC")
    for k in range(3000):
        assert ((await anext(up))[0], (await anext(down))[0]) == (k, 2999 - k)
    count = await conn.prepare("SELECT COUNT(*) FROM live WHERE k < ?")
    assert [await count.fetchval(limit) for limit in (10, 3000, 0)] == [10, 3000, 0]
    await count.close()
    await up.aclose()
    await down.aclose()


@pytest.mark.parametrize("failing", [0, 499, 999])
async def test_every_pipelined_row_has_its_reply_also_after_a_failure(conn: Connection, failing: int) -> None:
    await conn.execute("DROP TABLE IF EXISTS aioifx_live")
    await conn.execute("CREATE TABLE aioifx_live (k INTEGER PRIMARY KEY)")
    try:
        await conn.execute("INSERT INTO aioifx_live VALUES (?)", failing)
        with pytest.raises(aioifx.UniqueViolation) as caught:
            await conn.executemany("INSERT INTO aioifx_live VALUES (?)", ((k,) for k in range(1000)))
        assert caught.value.row_index == failing
        assert await conn.fetchval("SELECT COUNT(*) FROM aioifx_live") == 1
        assert not conn.is_in_transaction()
    finally:
        await conn.execute("DROP TABLE aioifx_live")


async def test_commit_keeps_and_rollback_undoes(conn: Connection) -> None:
    await conn.execute("CREATE TEMP TABLE live (k SERIAL, v CHAR(1))")
    async with conn.transaction():
        done = await conn.execute("INSERT INTO live (v) VALUES (?)", "a")
        assert (done.rowcount, done.serial) == (1, 1)
    with pytest.raises(ZeroDivisionError):
        async with conn.transaction():
            await conn.execute("INSERT INTO live (v) VALUES ('b')")
            raise ZeroDivisionError
    assert [tuple(row) for row in await conn.fetch("SELECT k, v FROM live")] == [(1, "a")]


@pytest.mark.parametrize(
    ("sql", "error", "code"),
    [
        ("SELEC 1 FROM systables", aioifx.SQLSyntaxError, -201),
        ("SELECT * FROM no_such_table", aioifx.UndefinedTable, -206),
        ("SELECT no_such_column FROM systables", aioifx.UndefinedColumn, -217),
        ("INSERT INTO live VALUES (1)", aioifx.ProgrammingError, -236),
        ("INSERT INTO live VALUES (NULL, 1)", aioifx.NotNullViolation, -391),
        ("SELECT 1 / (tabid - 1) FROM systables WHERE tabid = 1", aioifx.DataError, -1202),
    ],
)
async def test_errors_have_codes_and_leave_the_connection_usable(
    conn: Connection, sql: str, error: type[aioifx.DatabaseError], code: int
) -> None:
    await conn.execute("CREATE TEMP TABLE live (k INTEGER NOT NULL, v INTEGER)")
    with pytest.raises(error) as caught:
        await (conn.fetch if sql.startswith("SEL") else conn.execute)(sql)
    assert caught.value.sqlcode == code
    assert await conn.fetchval("SELECT COUNT(*) FROM live") == 0


async def test_a_wrong_password_and_an_unknown_database_or_server_have_different_errors(
    informix_dsn: str,
) -> None:
    options = aioifx.parse_dsn(informix_dsn)
    with pytest.raises(aioifx.AuthenticationError):
        await aioifx.connect(informix_dsn, password="certainly not this one")
    with pytest.raises(aioifx.ConnectError) as missing:
        await aioifx.connect(informix_dsn, database="no_such_database")
    assert missing.value.sqlcode == -329
    with pytest.raises(aioifx.ConnectError, match=options.server) as unknown:
        await aioifx.connect(informix_dsn, server="no_such_server")
    assert unknown.value.sqlcode == -761
