from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

import aioifx
from aioifx import Connection, DatabaseError, DataError, InterfaceError, NotSupportedError, ProtocolError
from aioifx.client.execution.outputs import refused_routine
from aioifx.rows import dict_row, tuple_row
from aioifx.server import running
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.testing.messages import EOT, error
from aioifx.testing.script import Exchange
from aioifx.wire import routines
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.objects import Routine, put_returned, put_routine
from aioifx.wire.outbox import Outbox
from tests.scripted import talking

P = (
    "CREATE PROCEDURE p(OUT size INT, INOUT text VARCHAR(20)) LET size = LENGTH(text); LET text = text || '!';"
    " END PROCEDURE"
)
REFUSED: Exchange = ("Prepare Describe WantDone", error(-9752, token="shop:77:") + EOT)


@pytest.fixture
async def conn() -> AsyncIterator[Connection]:
    async with running() as dsn, aioifx.connect(dsn) as connection:
        await connection.execute(P)
        yield connection


async def test_the_values_are_the_row_of_a_call(conn: Connection) -> None:
    (row,) = await conn.call("p", None, "abc")
    assert (row["size"], row["text"]) == (3, "abc!")
    assert await conn.call("p", named={"TEXT": "x", "size": None}, row_factory=tuple_row) == [(1, "x!")]
    assert await conn.call("p", None, None, row_factory=dict_row) == [{"size": None, "text": None}]


async def test_the_values_have_the_types_and_conversions_of_columns(conn: Connection) -> None:
    await conn.execute(
        "CREATE PROCEDURE q(OUT a DATE, OUT b CHAR(5), n INT, OUT c DATETIME YEAR TO SECOND, OUT d DECIMAL(9,2),"
        " OUT e BOOLEAN, OUT f LVARCHAR, OUT g SET(INT NOT NULL)) LET a = MDY(2, n, 2025); LET b = 'ab';"
        " LET c = '2025-01-02 03:04:05'; LET d = 1.5; LET e = 't'; LET f = 'long'; LET g = 'SET{1}'; END PROCEDURE"
    )
    values = (*[None] * 2, 3, *[None] * 5)
    (row,) = await conn.call("q", *values, row_factory=tuple_row)
    moment = dt.datetime(2025, 1, 2, 3, 4, 5)
    assert row == (dt.date(2025, 2, 3), "ab   ", moment, Decimal("1.50"), True, "long", "SET{1}")


async def test_callproc_puts_the_values_into_a_copy(conn: Connection) -> None:
    cursor, parameters = conn.cursor(), [None, "abc"]
    assert await cursor.callproc("p", parameters) == [3, "abc!"]
    assert parameters == [None, "abc"]
    assert cursor.description is None
    await conn.execute("CREATE FUNCTION f(n INT) RETURNING INT; RETURN n + 1; END FUNCTION")
    assert await cursor.callproc("f", (1,)) == [1]
    assert await cursor.fetchall() == [(2,)]


async def test_a_pool_calls_them() -> None:
    async with running() as dsn, aioifx.create_pool(dsn) as pool:
        await pool.execute(P)
        assert await pool.call("p", None, "abc", row_factory=tuple_row) == [(3, "abc!")]


async def test_the_call_is_part_of_the_transaction(conn: Connection) -> None:
    await conn.execute("CREATE TABLE t (k INT)")
    await conn.execute(
        "CREATE PROCEDURE add(OUT n INT) INSERT INTO t VALUES (1); SELECT COUNT(*) INTO n FROM t; END PROCEDURE"
    )
    with pytest.raises(ZeroDivisionError):
        async with conn.transaction():
            assert await conn.call("add", None, row_factory=tuple_row) == [(1,)]
            raise ZeroDivisionError
    assert await conn.call("add", None, row_factory=tuple_row) == [(1,)]


async def test_bad_arguments_are_errors(conn: Connection) -> None:
    with pytest.raises(DataError, match=r"^parameter 2: unsupported type object"):
        await conn.call("p", None, object())
    await conn.execute("CREATE PROCEDURE d(b INT DEFAULT 1, OUT a INT) LET a = b; END PROCEDURE")
    with pytest.raises(InterfaceError, match=r"^named: expected the parameters b, a, got a$"):
        await conn.call("d", named={"a": None})
    await conn.execute("CREATE PROCEDURE bad(OUT a INT) LET a = 1 / 0; END PROCEDURE")
    with pytest.raises(DatabaseError) as caught:
        await conn.call("bad", None)
    assert caught.value.sqlcode == -1202


@pytest.mark.parametrize("token", ["p", ""])
async def test_another_token_is_the_servers_error(token: str) -> None:
    refused: Exchange = ("Prepare Describe WantDone", error(-9752, token=token) + EOT)
    async with talking(refused, refused) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.call("p", None)
        assert caught.value.sqlcode == -9752 and refused_routine(caught.value) is None
        with pytest.raises(DatabaseError):
            await conn.cursor().callproc("p", [None])


def described(name: str = "a", count: int = 1) -> bytes:
    outbox = Outbox()
    parameter = routines.RoutineParameter(4, name, SqlType(TypeCode.INTEGER, 4))
    routines.put_routine_parameters(outbox, Capabilities(), [parameter] * count)
    return outbox.detach() + EOT


def found() -> bytes:
    outbox = Outbox()
    put_routine(outbox, Routine(b"shop", 9))
    return outbox.detach() + EOT


def called(*modes: bool) -> bytes:
    outbox = Outbox()
    routines.put_outputs(outbox, modes or None)
    put_returned(outbox, [])
    return outbox.detach() + EOT


CALL = "CallRoutine Bind(1) Outputs"


@pytest.mark.parametrize(
    ("exchanges", "message"),
    [
        ([("DescribeRoutine", EOT)], "the server did not answer SQ_FPDESCRIBE"),
        (
            [("DescribeRoutine", described()), ("FindNumbered", EOT)],
            "the server did not answer SQ_GETROUTINE",
        ),
        (
            [("DescribeRoutine", described()), ("FindNumbered", found()), (CALL, called())],
            "the server did not answer SQ_FPARAM",
        ),
        (
            [("DescribeRoutine", described()), ("FindNumbered", found()), (CALL, called(True))],
            "the routine returned other parameters than the server described",
        ),
    ],
)
async def test_replies_without_an_answer_are_errors(exchanges: list[Exchange], message: str) -> None:
    async with talking(REFUSED, *exchanges) as (conn, _):
        with pytest.raises(ProtocolError, match=f"^{message}(\n|$)"):
            await conn.call("p", 1)
        assert conn.is_closed()


async def test_arguments_that_the_server_does_not_describe_are_errors() -> None:
    async with talking(REFUSED, ("DescribeRoutine", described())) as (conn, _):
        with pytest.raises(InterfaceError, match=r"^expected at most 1 arguments, got 2$"):
            await conn.call("p", 1, 2)
    async with talking(REFUSED, ("DescribeRoutine", described(""))) as (conn, _):
        with pytest.raises(NotSupportedError, match=r"^named: the server did not name the parameters"):
            await conn.call("p", named={"a": 1})
