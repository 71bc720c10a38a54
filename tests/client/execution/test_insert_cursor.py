"""The insert cursor: rows in the form of SQ_PUT, errors that name row and column, and the requests around them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.execution.insert_cursor import InsertCursor
from aioifx.client.execution.prepare import prepare
from aioifx.codecs.text import code_set_of
from aioifx.errors import DataError, InterfaceError, NotSupportedError
from aioifx.sqltypes import Column, Row, SqlType, TypeCode
from aioifx.testing.messages import EOT, column, described, done, error, takes
from aioifx.testing.script import PREPARE, Exchange, close
from aioifx.wire import requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.inbox import Inbox
from aioifx.wire.opcodes import StatementType
from tests.codecs.samples import decode_row
from tests.scripted import C1, FLAG, talking

NAME = column("name", TypeCode.VARCHAR, 20)
CODE = column("code", TypeCode.CHAR, 3)


@asynccontextmanager
async def inserting(
    *columns: Column, script: tuple[Exchange, ...] = (), **options: Any
) -> AsyncIterator[InsertCursor]:
    """An insert cursor for a table with these columns, and the exchanges after its PREPARE."""
    async with talking(
        (PREPARE, described(2, *columns, kind=StatementType.INSERT)),
        ("Id(2) DescribeInput", takes(*(column.type for column in columns))),
        *script,
        **options,
    ) as (conn, _):
        async with conn._session:
            statement = await prepare(conn._session, f"insert into t values({','.join('?' * len(columns))})")
            yield InsertCursor(statement)


def puts(messages: bytes | bytearray) -> list[requests.Put]:
    """SQ_PUT messages, read as a server reads them."""
    inbox = Inbox()
    inbox.feed(bytes(messages) + EOT)
    reading = requests.read_request(inbox, Capabilities())
    try:
        reading.send(None)
    except StopIteration as stop:
        group: list[requests.Put] = stop.value
        return group
    raise AssertionError("the messages are not whole")


async def test_rows_of_one_size_go_into_one_message() -> None:
    async with inserting(C1, CODE) as cursor:
        assert cursor.is_fixed_width
        data = [cursor.encode([(1, "a"), (2, None)], 0), cursor.encode([(3, "abc")], 2)]
        (put,) = puts(b"".join(cursor.messages(data, 3)))
    assert put == requests.Put(7, (b"\0\0\0\1a  ", b"\0\0\0\2\0  ", b"\0\0\0\3abc"))


async def test_rows_of_many_sizes_have_a_message_each() -> None:
    async with inserting(C1, NAME) as cursor:
        assert not cursor.is_fixed_width
        data = [cursor.encode([(1, "a"), (2, None)], 0), cursor.encode([(3, "")], 2)]
        assert cursor.messages(data, 3) == data
    assert puts(b"".join(data)) == [
        requests.Put(6, (b"\0\0\0\1\1a",)),
        requests.Put(6, (b"\0\0\0\2\1\0",)),
        requests.Put(5, (b"\0\0\0\3\0",)),
    ]


async def test_no_rows_are_no_bytes() -> None:
    for columns in ((C1, CODE), (C1, NAME)):
        async with inserting(*columns) as cursor:
            assert cursor.encode([], 0) == b""


VALUES = {
    C1: st.integers(-(2**31) + 1, 2**31 - 1),
    CODE: st.text("abc", min_size=3, max_size=3),
    NAME: st.text("abcde ", max_size=20),
    column("ratio", TypeCode.FLOAT, 8): st.floats(allow_nan=False),
    column("flag", TypeCode.BOOLEAN, 1): st.booleans(),
}


@given(st.data())
def test_rows_that_were_put_are_read_back(data: st.DataObject) -> None:
    import asyncio

    columns = data.draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=5))
    row = st.tuples(*(st.none() | VALUES[column] for column in columns))
    rows = data.draw(st.lists(row, min_size=1, max_size=9))

    async def encoded() -> bytes | bytearray:
        async with inserting(*columns) as cursor:
            return b"".join(cursor.messages([cursor.encode(rows, 0)], len(rows)))

    payloads = [payload for put in puts(asyncio.run(encoded())) for payload in put.rows]
    latin = code_set_of("en_US.8859-1")
    assert [decode_row(payload, columns, latin) for payload in payloads] == rows


@pytest.mark.parametrize(
    ("bad", "place"),
    [
        ((2**31, "x"), "row 12, column 'c1'"),
        (("1", "x"), "row 12, column 'c1'"),
        ((1, "x" * 21), "row 12, column 'name'"),
        ((1, "secret €"), "row 12, column 'name'"),
        ((1, 5), "row 12, column 'name'"),
    ],
)
async def test_a_value_that_does_not_fit_is_named_by_row_and_column(bad: Row, place: str) -> None:
    async with inserting(C1, NAME) as cursor:
        with pytest.raises(DataError, match=f"^{place}: ") as caught:
            cursor.encode([(1, "a"), (2, "b"), bad, (1, 2, 3)], 10)
    assert caught.value.row_index == 12
    assert "secret" not in str(caught.value)


async def test_a_row_of_another_length_is_named() -> None:
    async with inserting(C1, NAME) as cursor:
        for bad in ((1,), (1, "b", 3), ()):
            with pytest.raises(InterfaceError, match=f"^row 11: expected 2 values, got {len(bad)}"):
                cursor.encode([(1, "a"), bad], 10)


async def test_types_are_sent_once_and_only_where_rows_have_many_sizes() -> None:
    types = "Id(2) CurName Open RetType(2) Put(6)"
    twice: tuple[Exchange, ...] = ((types, done(1) + EOT), ("Id(2) CurName Open Put(6)", done(1) + EOT))
    async with inserting(C1, NAME, script=(*twice, close(2))) as cursor:
        messages = cursor.messages([cursor.encode([(1, "a")], 0)], 1)
        for _ in range(2):
            reply = await cursor.statement.session.dispatcher.reply(cursor.send(messages))
            assert reply.done is not None and reply.done.rows == 1
            assert await cursor.finish_block() is None  # nothing is sent
        await cursor.statement.close_and_wait()
        await cursor.statement.close_and_wait()


async def test_after_rows_of_one_size_the_id_is_sent_alone() -> None:
    script: tuple[Exchange, ...] = (
        ("Id(2) CurName Open Put(4)", done(1) + EOT),
        ("Id(2)", error(-268, -100) + EOT),
    )
    async with inserting(C1, script=script) as cursor:
        await cursor.statement.session.dispatcher.reply(
            cursor.send(cursor.messages([cursor.encode([(1,)], 0)], 1))
        )
        wrong = await cursor.finish_block()
        assert wrong is not None and wrong.sqlcode == -268
        cursor.on_transaction_end()
        await cursor.statement.close_and_wait()  # the transaction has done it


async def test_an_error_in_reply_to_close_is_ignored() -> None:
    script: tuple[Exchange, ...] = (
        ("Id(2) CurName Open Put(4)", error(-268, -100) + EOT),
        ("Id(2) Close", error(-259) + EOT),
    )
    async with inserting(C1, script=script) as cursor:
        await cursor.statement.session.dispatcher.reply(
            cursor.send(cursor.messages([cursor.encode([(1,)], 0)], 1))
        )
        await cursor.statement.close_and_wait()


async def test_rows_and_collections_are_not_put() -> None:
    async with inserting(C1, column("odd", TypeCode.SET, extended_name="SET(integer not null)")) as cursor:
        assert not cursor.can_put
    async with inserting(C1, column("scan", TypeCode.UDTFIXED, 72, extended_id=10)) as cursor:
        assert not cursor.can_put
    async with inserting(C1) as cursor:
        assert cursor.can_put


async def test_booleans_are_binary_as_a_client_requests_them() -> None:
    async with inserting(FLAG) as cursor:
        rows = [
            payload for put in puts(cursor.encode([(True,), (False,), (None,)], 0)) for payload in put.rows
        ]
    assert [row.hex() for row in rows] == ["000000000101", "000000000100", "0100000000"]


async def test_an_insert_of_values_of_its_own_is_refused() -> None:
    async with talking(
        (PREPARE, described(2, C1, CODE, kind=StatementType.INSERT)),
        ("Id(2) DescribeInput", takes(SqlType(2, 4))),
    ) as (conn, _):
        async with conn._session:
            statement = await prepare(conn._session, "insert into t values(?, 'x')")
            with pytest.raises(NotSupportedError, match="did not describe the columns"):
                InsertCursor(statement)
