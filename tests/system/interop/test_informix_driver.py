"""informix-driver against the embedded server: a second client, proven on 12.10, 14.10 and 15."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

import informix_db
import pytest

import aioifx.server
from aioifx import parse_dsn

pytestmark = pytest.mark.interop

T = TypeVar("T")


def connect(dsn: str, **options: Any) -> Any:
    parsed = parse_dsn(dsn)
    defaults: dict[str, Any] = {
        "user": parsed.user,
        "password": "secret",
        "database": parsed.database,
        "server": parsed.server,
    }
    return informix_db.connect(parsed.host, parsed.port, **(defaults | options))


async def off_loop(work: Callable[[], T]) -> T:
    """Its sockets block; the embedded server runs on this test's loop."""
    return await asyncio.to_thread(work)


# Column type, value in, value out.
SCALARS: list[tuple[str, Any, Any]] = [
    ("SMALLINT", -32767, -32767),
    ("INTEGER", 2147483647, 2147483647),
    ("INT8", -(2**63) + 1, -(2**63) + 1),
    ("BIGINT", 2**63 - 1, 2**63 - 1),
    ("SMALLFLOAT", 1.5, 1.5),
    ("FLOAT", -2.25, -2.25),
    ("DECIMAL(10,2)", Decimal("-12345678.90"), Decimal("-12345678.90")),
    ("DECIMAL(32)", Decimal("1234567890.0987654321"), Decimal("1234567890.0987654321")),
    ("MONEY(16,2)", Decimal("19.99"), Decimal("19.99")),
    ("CHAR(10)", "Grüße", "Grüße"),
    ("NCHAR(6)", "nch", "nch"),
    ("VARCHAR(20)", "", ""),
    ("NVARCHAR(20)", "señal", "señal"),
    ("LVARCHAR(500)", "x" * 401, "x" * 401),
    ("BOOLEAN", True, True),
    ("BOOLEAN", False, False),
    ("DATE", datetime.date(1850, 1, 31), datetime.date(1850, 1, 31)),
    ("DATETIME YEAR TO SECOND", datetime.datetime(2026, 6, 20, 12, 34, 56),
     datetime.datetime(2026, 6, 20, 12, 34, 56)),
    ("DATETIME YEAR TO FRACTION(5)", datetime.datetime(2026, 6, 20, 12, 34, 56, 123450),
     datetime.datetime(2026, 6, 20, 12, 34, 56, 123450)),
    ("INTERVAL DAY(9) TO FRACTION(5)", datetime.timedelta(days=3, hours=4, microseconds=120000),
     datetime.timedelta(days=3, hours=4, microseconds=120000)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sqltype", "value", "expected"), SCALARS, ids=[f"{row[0]} {row[1]!r:.30}" for row in SCALARS]
)
async def test_a_value_that_it_binds_comes_back(server: str, sqltype: str, value: Any, expected: Any) -> None:
    def work() -> list[Any]:
        with connect(server) as conn:
            cursor = conn.cursor()
            cursor.execute(f"CREATE TABLE t (k INTEGER, v {sqltype}, tail SMALLINT)")
            cursor.execute("INSERT INTO t VALUES (?, ?, ?)", (1, value, 7))
            cursor.execute("INSERT INTO t VALUES (?, ?, ?)", (2, None, 7))
            conn.commit()
            cursor.execute("SELECT k, v, tail FROM t ORDER BY k")
            return list(cursor.fetchall())

    rows = await off_loop(work)
    values = [
        value.rstrip() if isinstance(value, str) and "CHAR(" in sqltype else value for _, value, _ in rows
    ]
    assert values == [expected, None]
    assert [(row[0], row[2]) for row in rows] == [(1, 7), (2, 7)]


MISREAD = pytest.mark.xfail(
    raises=(AssertionError, ValueError),
    strict=True,
    reason="it takes the first pair that was sent for the first field, whatever the exponent says",
)


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("DATETIME(00:00:00) HOUR TO SECOND", datetime.time(0, 0)),
        pytest.param("DATETIME(00:00:05) HOUR TO SECOND", datetime.time(0, 0, 5), marks=MISREAD),
        pytest.param("DATETIME(00:00:00.005) HOUR TO FRACTION(3)", datetime.time(0, 0, 0, 5000), marks=MISREAD),
        pytest.param("DATETIME(0001-01-01 00:00:00) YEAR TO SECOND", datetime.datetime(1, 1, 1), marks=MISREAD),
        pytest.param("DATETIME(0099-12-31 23:59:59) YEAR TO SECOND", datetime.datetime(99, 12, 31, 23, 59, 59),
            marks=MISREAD),
        ("INTERVAL(0 00:00:00) DAY TO SECOND", datetime.timedelta(0)),
        ("INTERVAL(0 00:00:07) DAY TO SECOND", datetime.timedelta(seconds=7)),
    ],
)  # fmt: skip
async def test_values_that_begin_with_zero_digits(server: str, literal: str, expected: Any) -> None:
    """Their base-100 form leaves the pairs of zeros out in front, and says so in its exponent."""
    name, qualifier = literal.split("(", 1)[0], literal.split(")", 1)[1]

    def work() -> Any:
        with contextlib.closing(connect(server)) as conn:
            cursor = conn.cursor()
            cursor.execute(f"CREATE TABLE t (v {name}{qualifier}, tail SMALLINT)")
            cursor.execute(f"INSERT INTO t VALUES ({literal}, 7)")
            conn.commit()
            cursor.execute("SELECT v, tail FROM t")
            return cursor.fetchall()

    assert await off_loop(work) == [(expected, 7)]


async def test_executemany_commit_and_rollback(server: str) -> None:
    def work() -> tuple[list[Any], list[Any]]:
        with connect(server) as conn:
            cursor = conn.cursor()
            cursor.execute("CREATE TABLE t (k INTEGER, v VARCHAR(20))")
            conn.commit()
            cursor.executemany("INSERT INTO t VALUES (?, ?)", [(k, f"row {k}") for k in range(1000)])
            conn.commit()
            cursor.execute("DELETE FROM t WHERE k >= ?", (500,))
            cursor.execute("SELECT COUNT(*) FROM t")
            inside = cursor.fetchall()
            conn.rollback()
            cursor.execute("SELECT k, v FROM t ORDER BY k")
            return inside, list(cursor.fetchall())

    inside, rows = await off_loop(work)
    assert inside == [(500,)]
    assert rows == [(k, f"row {k}") for k in range(1000)]


async def test_a_failed_row_of_a_batch_is_an_integrity_error_and_the_session_goes_on(server: str) -> None:
    def work() -> tuple[str, list[Any]]:
        with connect(server) as conn:
            cursor = conn.cursor()
            cursor.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
            conn.commit()
            try:
                cursor.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (1,), (3,)])
            except informix_db.IntegrityError as error:
                name = str(error)
            else:
                name = "no error"
            conn.rollback()
            cursor.execute("SELECT k FROM t")
            return name, list(cursor.fetchall())

    message, rows = await off_loop(work)
    assert "-268" in message or "duplicate" in message.lower() or "unique" in message.lower()
    assert rows == []


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELEC 1", -201),
        ("SELECT * FROM missing", -206),
        ("SELECT missing FROM systables", -217),
        ("INSERT INTO t VALUES (1)", -268),
        ("INSERT INTO t VALUES (1, 2)", -236),
    ],
)
async def test_errors_have_informix_codes(server: str, sql: str, code: int) -> None:
    def work() -> int:
        with connect(server) as conn:
            cursor = conn.cursor()
            cursor.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
            cursor.execute("INSERT INTO t VALUES (1)")
            conn.commit()
            with pytest.raises(informix_db.DatabaseError) as caught:
                cursor.execute(sql)
            cursor = conn.cursor()
            cursor.execute("SELECT k FROM t")
            assert cursor.fetchall() == [(1,)]
            return int(getattr(caught.value, "sqlcode", 0))

    assert await off_loop(work) == code


async def test_a_wrong_password_is_refused() -> None:
    async with aioifx.server.running(user="app", password="right") as dsn:
        with pytest.raises(informix_db.Error):
            await off_loop(lambda: connect(dsn))


async def test_its_asyncio_interface_works_too(server: str) -> None:
    from informix_db import aio

    parsed = parse_dsn(server)
    conn = await aio.connect(
        host=parsed.host,
        port=parsed.port,
        user=parsed.user,
        password="secret",
        database=parsed.database,
        server=parsed.server,
    )
    cursor = await conn.cursor()
    await cursor.execute("SELECT FIRST 2 tabname FROM systables ORDER BY tabid")
    assert [row[0].rstrip() for row in await cursor.fetchall()] == ["systables", "syscolumns"]
    await conn.close()
