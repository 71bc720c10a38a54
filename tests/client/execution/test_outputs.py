from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

import aioifx
from aioifx import (
    Connection,
    ConnectionLost,
    DatabaseError,
    DataError,
    InterfaceError,
    NotSupportedError,
    Operation,
    ProgrammingError,
    ProtocolError,
)
from aioifx.rows import dict_row, tuple_row
from aioifx.server import running
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.testing.messages import EOT, error
from aioifx.testing.script import Chunking, Delayed, Disconnect, Exchange, byte_by_byte, whole
from aioifx.wire import routines
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.objects import Routine, put_returned, put_routine
from aioifx.wire.outbox import Outbox
from tests.scripted import (
    INTEGER,
    cancelled_or_late,
    end_early,
    played,
    talking,
)

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
    assert row == (dt.date(2025, 2, 3), "ab   ", moment, Decimal("1.50"), True, "long", {1})


async def test_rows_and_collections_are_objects_in_both_directions(conn: Connection) -> None:
    await conn.execute("CREATE ROW TYPE pair (a INT, b VARCHAR(10))")
    await conn.execute(
        "CREATE PROCEDURE r(OUT a pair, INOUT b LIST(INT NOT NULL), OUT c ROW(x INT), INOUT d pair)"
        " LET a = d; LET c = ROW(7); END PROCEDURE"
    )
    ((a, b, c, d),) = await conn.call("r", None, [2, 1], None, {"a": 1, "b": "x"}, row_factory=tuple_row)
    assert (a["b"], b, c["x"], d["a"]) == ("x", [2, 1], 7, 1)
    assert await conn.fetchval("SELECT COUNT(*) FROM systables") > 0


async def test_delimited_names() -> None:
    async with running() as dsn, aioifx.connect(dsn, environment={"DELIMIDENT": "y"}) as conn:
        await conn.execute(
            'CREATE PROCEDURE "o\'x"."My ""Proc"(OUT "Out P" INT, b INT) LET "Out P" = b; END PROCEDURE'
        )
        named = {'"Out P"': None, "B": 2}
        for found in (
            await conn.call('"o\'x"."My ""Proc"', None, 2),
            await conn.call('"My ""Proc"', named=named),
        ):
            assert found[0]["Out P"] == 2


async def test_callproc_puts_the_values_into_a_copy(conn: Connection) -> None:
    cursor, parameters = conn.cursor(), [None, "abc"]
    assert await cursor.callproc("p", parameters) == [3, "abc!"]
    assert parameters == [None, "abc"]
    assert cursor.description is None
    for bad in ("ab", {"a": 1, "b": 2}):
        with pytest.raises(InterfaceError, match=r"^parameters: expected a sequence, got"):
            await cursor.callproc("p", bad)  # type: ignore[arg-type]
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


class Observer:
    """Collects the operations."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, int, bool]] = []

    def on_start(self, operation: Operation, /) -> None: ...

    def on_end(self, operation: Operation, /) -> None:
        self.ended.append((operation.name, operation.round_trips, operation.error is None))


async def test_a_call_is_one_operation() -> None:
    observer = Observer()
    async with running(seed=f"{P};") as dsn, aioifx.connect(dsn, observer=observer) as conn:
        observer.ended.clear()
        await conn.call("p", None, "abc")
        await conn.cursor().callproc("p", [None, "abc"])
        assert observer.ended == [("call", 4, True), ("cursor", 4, True)]
    async with running(seed=f"{P};") as dsn, aioifx.create_pool(dsn, observer=observer) as pool:
        observer.ended.clear()
        await pool.call("p", None, "abc")
        assert [name for name, _, _ in observer.ended] == ["acquire", "call"]


async def test_a_failed_call_has_its_statement_and_leaves_no_transaction() -> None:
    async with running(log_mode="ansi") as dsn, aioifx.connect(dsn) as conn, aioifx.connect(dsn) as other:
        await conn.execute("CREATE TABLE t (k INT)")
        await conn.execute(
            "CREATE PROCEDURE bad(OUT n INT) INSERT INTO t VALUES (1); LET n = 1 / 0; END PROCEDURE"
        )
        with pytest.raises(DatabaseError) as caught:
            await conn.call("bad", None)
        assert (caught.value.sqlcode, caught.value.sql) == (-1202, "execute procedure bad(?)")
        await conn.ping()  # after the deferred COMMIT
        assert await other.fetchval("SELECT COUNT(*) FROM t") == 1


async def test_values_are_checked_before_a_transaction_begins() -> None:
    async with running(seed=f"{P};") as dsn, aioifx.connect(dsn, autocommit=False) as conn:
        with pytest.raises(DataError, match=r"^parameter 2: unsupported type object"):
            await conn.call("p", None, object())
        assert not conn.is_in_transaction()
        await conn.call("p", None, "abc")
        assert conn.is_in_transaction()


async def test_a_routine_is_created_again(conn: Connection) -> None:
    parameters = ["n INT", "OUT n INT", "OUT n VARCHAR(9)", "n INT", "INOUT n INT"]
    for declared in parameters:
        await conn.execute("DROP PROCEDURE IF EXISTS again")
        await conn.execute(f"CREATE PROCEDURE again({declared}) LET n = 7; END PROCEDURE")
        result = {"OUT n VARCHAR(9)": [("7",)], "n INT": []}.get(declared, [(7,)])
        for _ in range(2):
            assert await conn.call("again", None, row_factory=tuple_row) == result


async def test_the_error_of_a_routine_calls_no_other(conn: Connection) -> None:
    number = await conn.fetchval("SELECT procid FROM sysprocedures WHERE procname = 'p'")
    await conn.execute(
        f"CREATE PROCEDURE bad(a INT, b INT) RAISE EXCEPTION -9752, 0, 'demo:{number}:'; END PROCEDURE"
    )
    with pytest.raises(DatabaseError, match=r"-9752"):
        await conn.call("bad", 1, 2)
    with pytest.raises(DatabaseError, match=r"-9752"):
        await conn.cursor().callproc("bad", [1, 2])


async def test_another_statement_is_told_of_call(conn: Connection) -> None:
    with pytest.raises(ProgrammingError) as caught:
        await conn.fetch("EXECUTE PROCEDURE p(?, ?)", None, "abc")
    assert caught.value.sqlcode == -9752 and "call() of a connection" in caught.value.__notes__[0]
    with pytest.raises(ProgrammingError) as caught:
        await conn.execute("CREATE PROCEDURE r() CALL p(1, 'a'); END PROCEDURE")
    assert caught.value.sqlcode == -9752 and "call()" not in "".join(caught.value.__notes__)


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
        assert caught.value.sqlcode == -9752
        with pytest.raises(DatabaseError):
            await conn.cursor().callproc("p", [None])


def described(name: str = "a", sql_type: SqlType = INTEGER, mode: int = 4) -> bytes:
    outbox = Outbox()
    parameter = routines.RoutineParameter(mode, name, sql_type)
    routines.put_routine_parameters(outbox, Capabilities(), [parameter])
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


@pytest.mark.parametrize("mode", [1, 2, 4])
@pytest.mark.parametrize(
    ("sql_type", "name"),
    [
        (SqlType(TypeCode.TEXT, 56), "TEXT"),
        (SqlType(TypeCode.UDTFIXED, 72, extended_id=10, extended_name="blob"), "BLOB"),
    ],
)
async def test_large_objects_are_refused_before_the_call(sql_type: SqlType, name: str, mode: int) -> None:
    async with talking(REFUSED, ("DescribeRoutine", described(sql_type=sql_type, mode=mode))) as (conn, _):
        with pytest.raises(NotSupportedError, match=f"^parameter 1: {name} values are not supported$"):
            await conn.call("p", "x")


# -- what JDBC was answered -------------------------------------------------------------------------------------------

JDBC = played("outputs15", "outputs")[:4]


@pytest.mark.parametrize("chunks", [whole, byte_by_byte])
async def test_a_call_sends_what_jdbc_sends(chunks: Chunking) -> None:
    async with talking(*JDBC, chunks=chunks) as (conn, _):
        assert await conn.call("p", None, "abc", row_factory=tuple_row) == [(3, "abc!")]


@pytest.mark.parametrize("index", range(1, 4))
async def test_a_reply_that_ends_early_ends_the_connection(index: int) -> None:
    request, reply = JDBC[index]
    assert isinstance(reply, bytes)
    for size in range(len(reply)):
        async with talking(*JDBC[:index], (request, Disconnect(reply[:size]))) as (conn, _):
            with pytest.raises(ConnectionLost):
                await conn.call("p", None, "abc")


async def test_a_server_may_know_no_such_message() -> None:
    async with talking(JDBC[0], (None, error(-408) + EOT)) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.call("p", None, "abc")
        assert (caught.value.sqlcode, caught.value.sql) == (-408, "execute procedure p(?, ?)")
        assert not conn.is_closed()


@cancelled_or_late
@pytest.mark.parametrize("index", range(4))
async def test_a_call_that_ends_early_leaves_a_usable_connection(index: int, end: str) -> None:
    request, reply = JDBC[index]
    assert isinstance(reply, bytes)
    delayed = Delayed(reply)
    async with talking(*JDBC[:index], (request, delayed), *JDBC, command_timeout=60) as (conn, _):
        await end_early(end, delayed, conn, conn.call("p", None, "abc"))
        assert await conn.call("p", None, "abc", row_factory=tuple_row) == [(3, "abc!")]
