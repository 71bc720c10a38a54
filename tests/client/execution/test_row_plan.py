"""The rows that tuples become, and tuples that are not rows."""

from __future__ import annotations

import asyncio

import pytest

from aioifx.errors import ConnectionLost, DataError, NotSupportedError, ProtocolError
from aioifx.sqltypes import TypeCode
from aioifx.testing.messages import EOT, column, described, done, ints, raw_row
from aioifx.testing.script import PREPARE, Chunking, closing, opening, release, select_ints
from tests.scripted import C1, CHUNKINGS, talking

buffered_or_not = pytest.mark.parametrize("read_ahead", [True, False], ids=["in runs", "field by field"])
any_chunks = pytest.mark.parametrize("chunks", CHUNKINGS, ids=lambda chunks: chunks.__name__)


@buffered_or_not
@any_chunks
async def test_a_bad_value_in_the_middle_of_a_block_keeps_the_framing(
    read_ahead: bool, chunks: Chunking
) -> None:
    name = column("name", TypeCode.VARCHAR, 10)
    answer = raw_row(b"\2ok") + raw_row(b"\3\xff\xfe!") + raw_row(b"\5later") + done(3) + EOT
    async with talking(
        (PREPARE, described(2, name)),
        (opening(2), answer),
        closing(2),
        select_ints(2, 1),
        read_ahead=read_ahead,
        chunks=chunks,
        locale="en_US.utf8",
    ) as (conn, _):
        with pytest.raises(DataError, match="column 'name'"):
            await conn.fetch("select name from t")
        assert await conn.fetch("select c1 from t") == [(1,)]


async def test_a_bad_value_before_the_end_of_rows_closes_the_cursor() -> None:
    name = column("name", TypeCode.VARCHAR, 10)
    async with talking(
        (PREPARE, described(2, name)), (opening(2), raw_row(b"\1\xff") + EOT), closing(2), locale="en_US.utf8"
    ) as (conn, _):
        with pytest.raises(DataError):
            await conn.fetch("select name from t")


async def test_a_column_that_cannot_be_decoded_is_refused_before_the_cursor_opens() -> None:
    unknown = column("b", 99, 4)
    async with talking((PREPARE, described(2, unknown)), release(2)) as (conn, _):
        with pytest.raises(NotSupportedError, match="'b'"):
            await conn.fetch("select b from t")


@buffered_or_not
@any_chunks
@pytest.mark.parametrize(
    "row",
    [raw_row(b"\0\0\0\1\0"), raw_row(b"\0\0\1"), bytes.fromhex("000e 0000 ffffffff 00000001")],
    ids=["too long", "too short", "of negative size"],
)
async def test_a_row_whose_fields_do_not_fill_it_ends_the_connection(
    row: bytes, read_ahead: bool, chunks: Chunking
) -> None:
    async with talking(
        (PREPARE, described(2, C1)),
        (opening(2), ints(1) + row + done(2) + EOT),
        read_ahead=read_ahead,
        chunks=chunks,
    ) as (conn, _):
        with pytest.raises(ProtocolError):
            await conn.fetch("select c1 from t")
        assert conn.is_closed()
        with pytest.raises(ConnectionLost):
            await conn.fetch("select c1 from t")


async def test_a_negative_row_count_closes_the_connection_and_does_not_hang() -> None:
    async with talking((PREPARE, described(2, C1)), (opening(2), ints(1) + done(-7) + EOT)) as (conn, _):
        with pytest.raises(ProtocolError, match="-7 rows"):
            await conn.fetch("select c1 from t")
        assert conn.is_closed()


async def test_a_block_that_does_not_end_is_cut_off() -> None:
    endless = ints(*range(1000)) * 100  # 1.2 MB, for a buffer of 4 KB
    async with talking((PREPARE, described(2, C1)), (opening(2, 4096), endless), fetch_size=4096) as (
        conn,
        _,
    ):
        with pytest.raises(ProtocolError, match="longer than"):
            await asyncio.wait_for(conn.fetch("select c1 from t"), 10)
