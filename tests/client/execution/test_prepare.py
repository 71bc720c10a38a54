"""Preparation of statements: what is described, and what is not sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from aioifx.client.api.connection import Connection
from aioifx.errors import (
    DataError,
    InterfaceError,
    ProgrammingError,
    ProtocolError,
    UndefinedTable,
)
from aioifx.sqltypes import TypeCode
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.opcodes import StatementType
from tests.scripted import (
    C1,
    EOT,
    INTEGER,
    PREPARE,
    closing,
    column,
    described,
    done,
    error,
    ints,
    opening,
    release,
    select_ints,
    takes,
    talking,
)

pytestmark = pytest.mark.usefixtures("tidy")


MARKS = ", ".join("?" * 32_768)
VERY_MANY = tuple(range(32_768))


@pytest.mark.parametrize(
    "call",
    [
        lambda conn: conn.fetch(f"select c1 from t where c1 in ({MARKS})", *VERY_MANY),
        lambda conn: conn.fetchrow(f"select c1 from t where c1 in ({MARKS})", *VERY_MANY),
        lambda conn: conn.execute(f"delete from t where c1 in ({MARKS})", *VERY_MANY),
        lambda conn: conn.execute(f"delete from t where c1 in ({MARKS})"),
        lambda conn: conn.executemany(f"delete from t where c1 in ({MARKS})", [VERY_MANY]),
        lambda conn: conn.prepare(f"select c1 from t where c1 in ({MARKS})"),
        lambda conn: conn.cursor().execute(f"select c1 from t where c1 in ({MARKS})", VERY_MANY),
        lambda conn: conn.cursor(scroll=True).execute(f"select c1 from t where c1 in ({MARKS})", VERY_MANY),
        lambda conn: anext(conn.stream(f"select c1 from t where c1 in ({MARKS})", *VERY_MANY)),
        lambda conn: conn.load("t", [VERY_MANY]),
        lambda conn: conn.call("p", *VERY_MANY),
        lambda conn: conn.fetch(
            "select c1 from t where c1 in (" + ", ".join(f":{n}" for n in range(1, 32_769)) + ")",
            named=VERY_MANY,
        ),
    ],
)
async def test_more_parameters_than_a_count_can_hold_are_rejected(
    call: Callable[[Connection], Awaitable[object]],
) -> None:
    async with talking() as (conn, _):
        with pytest.raises(InterfaceError, match="statement: expected at most 32767 parameters, got 32768"):
            await call(conn)


async def test_as_many_parameters_as_a_count_can_hold_are_sent() -> None:
    sql = f"delete from t where c1 in ({MARKS[3:]})"
    async with talking(
        (PREPARE, described(0, kind=StatementType.DELETE)),
        (None, takes(*[INTEGER] * 32_767)),
        (None, done(7) + EOT),
        release(0),
    ) as (conn, peer):
        assert (await conn.execute(sql, *VERY_MANY[1:])).rowcount == 7
        assert peer.groups[2].count(bytes.fromhex("0002 0000 0a00")) == 32_767


async def test_the_columns_of_an_insert_describe_its_parameters_when_the_server_does_not() -> None:
    capabilities = Capabilities(describe_input=False)
    async with talking(
        (PREPARE, described(1, column("a", TypeCode.SMALLINT, 2), kind=StatementType.INSERT)),
        (bytes.fromhex("0004 0001 0005 0001 0001 0000 0500 0007 0007 000c"), done(1) + EOT),
        release(1),
        capabilities=capabilities,
        peer_dialect=capabilities,
    ) as (conn, _):
        assert (await conn.execute("insert into t values(?)", 7)).rowcount == 1


async def test_a_parameter_without_a_described_type_goes_by_its_own() -> None:
    async with talking(
        (PREPARE, described(1, C1)),
        ("Id(1) DescribeInput", error(-201) + EOT),  # a server that cannot; its error is ignored
        (opening(1, bound=True), ints(4) + done(1) + EOT),
        closing(1),
    ) as (conn, peer):
        assert await conn.fetch("select c1 from t where a = ?", 7) == [(4,)]
        assert bytes.fromhex("0005 0001 0002 0000 0a00 00000007") in peer.groups[2]


async def test_a_statement_that_fails_to_prepare_leaves_nothing_to_release() -> None:
    async with talking(
        (PREPARE, error(-206, -111, offset=15, token="nowhere") + EOT),
        select_ints(0, 1),
    ) as (conn, _):
        with pytest.raises(UndefinedTable, match="nowhere") as caught:
            await conn.fetch("select c1 from nowhere")
        assert (caught.value.sqlstate, caught.value.offset, caught.value.row_index) == ("42S02", 15, None)
        assert await conn.fetch("select c1 from t") == [(1,)]


@pytest.mark.parametrize("answer", [EOT, done() + EOT, error(100) + EOT, error(0) + EOT])
async def test_a_prepare_without_a_description_ends_the_connection(answer: bytes) -> None:
    async with talking((PREPARE, answer)) as (conn, _):
        with pytest.raises(ProtocolError, match="describe") as caught:
            await conn.fetch("select c1 from t")
        assert conn.is_closed() and not caught.value.connection_usable


@pytest.mark.parametrize("sql", ["", "   ", "-- nothing", "/* only this", "select 'a\0b' from t"])
async def test_text_that_is_not_a_statement_is_not_sent(sql: str) -> None:
    async with talking() as (conn, peer):
        for call in (conn.fetch, conn.execute, conn.prepare, conn.fetchval, conn.cursor().execute):
            with pytest.raises(ProgrammingError):
                await call(sql)
        assert peer.received == b""


async def test_a_text_outside_of_the_code_set_is_not_sent() -> None:
    async with talking() as (conn, peer):
        for call in (conn.fetch, conn.execute, conn.prepare):
            with pytest.raises(DataError, match="offset 8"):
                await call("select '€' from t")
        assert peer.received == b""


@pytest.mark.parametrize("sql", [None, 7, b"select 1", ["select 1"]])
async def test_a_statement_that_is_not_text_is_not_sent(sql: Any) -> None:
    async with talking() as (conn, peer):
        with pytest.raises(InterfaceError, match="sql"):
            await conn.fetch(sql)
        assert peer.received == b""
