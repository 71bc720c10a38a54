"""Blocks: how many rows go together, and that none is lost between two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.bulk import batches
from aioifx.client.bulk.batches import Block, Blocks, check_block
from aioifx.client.bulk.sources import open_source
from aioifx.client.execution.insert_cursor import MAX_ROWS, InsertCursor
from aioifx.errors import InterfaceError
from aioifx.sqltypes import Row


class Widths:
    """Encodes a row as many bytes as its only value says."""

    def __init__(self) -> None:
        self.firsts: list[int] = []

    def encode(self, rows: Sequence[Row], first: int, place: Callable[[int], str]) -> bytearray:
        assert place(first) == f"row {first}"
        self.firsts.append(first)
        return bytearray(sum(row[0] for row in rows))

    def messages(self, data: bytearray, count: int) -> bytearray:
        return data + count.to_bytes(4, "big")


async def all_blocks(widths: Sequence[int], rows: int | None = None) -> list[Block]:
    feed = open_source([(width,) for width in widths], None)
    await feed.begin()
    making = Blocks(feed, cast(InsertCursor, Widths()), rows)
    made: list[Block] = []
    while block := await making.make():
        made.append(block)
    assert await making.make() is None
    return made


@given(st.lists(st.integers(0, 5000), max_size=400), st.none() | st.integers(1, 50))
def test_every_row_is_in_one_block_and_the_blocks_follow_each_other(
    widths: list[int], rows: int | None
) -> None:
    made = asyncio.run(all_blocks(widths, rows))
    assert [row[0] for block in made for row in block.rows] == widths
    first = 0
    for block in made:
        assert block.first == first
        assert len(block.messages) == sum(row[0] for row in block.rows) + 4
        assert int.from_bytes(block.messages[-4:], "big") == len(block.rows)
        first += len(block.rows)
    if rows is not None:
        assert all(len(block.rows) == rows for block in made[:-1])


@pytest.mark.parametrize("width", [1, 10, 100, 1000, 10_000, 1_000_000])
async def test_blocks_are_about_as_large_as_they_should_be(width: int) -> None:
    made = await all_blocks([width] * (4 * batches.BLOCK // width + 40))
    for block in made[1:-1]:
        size = len(block.rows) * width
        assert size < batches.BLOCK + 2 * max(width, 256)
        assert size >= batches.BLOCK or len(block.rows) == MAX_ROWS


async def test_rows_that_grow_all_at_once_make_no_huge_block() -> None:
    made = await all_blocks([8] * 1000 + [batches.BLOCK] * 300)
    assert max(len(block.messages) for block in made) <= 257 * batches.BLOCK
    assert all(len(block.rows) == 1 for block in made[-20:])


async def test_a_block_of_stated_rows_may_be_as_large_as_it_gets() -> None:
    made = await all_blocks([batches.BLOCK] * 7, rows=3)
    assert [len(block.rows) for block in made] == [3, 3, 1]


@pytest.mark.parametrize("rows", [0, -1, MAX_ROWS + 1])
def test_a_block_has_as_many_rows_as_one_message_can_count(rows: int) -> None:
    with pytest.raises(InterfaceError, match="block: expected 1 to 32767 rows"):
        check_block(rows)


def test_a_block_of_no_stated_size_is_fine() -> None:
    check_block(None)
    check_block(1)
    check_block(MAX_ROWS)


async def test_an_error_of_the_rows_source_comes_through() -> None:
    def broken() -> Any:
        yield (1,)
        raise ZeroDivisionError

    making = Blocks(open_source(broken(), None), cast(InsertCursor, Widths()))
    with pytest.raises(ZeroDivisionError):
        await making.make()
