"""Batches: how many rows are in one, and that none is lost between two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.client.bulk import batches
from aioifx.client.bulk.batches import Batch, Batches, check_block
from aioifx.client.bulk.sources import open_source
from aioifx.client.execution.insert_cursor import MAX_ROWS, InsertCursor
from aioifx.errors import InterfaceError
from aioifx.sqltypes import Row


class Widths:
    """Encodes a row as many bytes as its only value says."""

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.has_large_values = False

    def encode(self, rows: Sequence[Row], first: int, place: Callable[[int], str]) -> bytearray:
        assert place(first) == f"row {first}"
        self.firsts.append(first)
        return bytearray(sum(row[0] for row in rows))

    def messages(self, encoded: list[bytearray], count: int) -> list[bytearray]:
        return [*encoded, bytearray(count.to_bytes(4, "big"))]


async def all_batches(widths: Sequence[int], rows: int | None = None) -> list[Batch]:
    reader = open_source([(width,) for width in widths], None)
    await reader.peek_width()
    source = Batches(reader, cast(InsertCursor, Widths()), rows)
    made: list[Batch] = []
    while batch := await source.next():
        made.append(batch)
    assert await source.next() is None
    return made


@given(st.lists(st.integers(0, 5000), max_size=400), st.none() | st.integers(1, 50))
def test_every_row_is_in_one_block_and_the_blocks_follow_each_other(
    widths: list[int], rows: int | None
) -> None:
    made = asyncio.run(all_batches(widths, rows))
    assert [row[0] for batch in made for row in batch.rows] == widths
    first = 0
    for batch in made:
        assert batch.first == first
        assert sum(map(len, batch.messages)) == sum(row[0] for row in batch.rows) + 4
        assert int.from_bytes(batch.messages[-1], "big") == batch.count
        first += batch.count
    if rows is not None:
        assert all(batch.count == rows for batch in made[:-1])


@pytest.mark.parametrize("width", [1, 10, 100, 1000, 10_000, 1_000_000])
async def test_blocks_are_about_as_large_as_they_should_be(width: int) -> None:
    made = await all_batches([width] * (4 * batches.BATCH_SIZE // width + 40))
    for batch in made[1:-1]:
        size = batch.count * width
        assert size < batches.BATCH_SIZE + 2 * max(width, 256)
        assert size >= batches.BATCH_SIZE or batch.count == MAX_ROWS


async def test_rows_that_grow_all_at_once_make_no_huge_block() -> None:
    made = await all_batches([8] * 1000 + [batches.BATCH_SIZE] * 300)
    assert max(sum(map(len, batch.messages)) for batch in made) <= 257 * batches.BATCH_SIZE
    assert all(batch.count == 1 for batch in made[-20:])


async def test_a_block_of_stated_rows_may_be_as_large_as_it_gets() -> None:
    made = await all_batches([batches.BATCH_SIZE] * 7, rows=3)
    assert [batch.count for batch in made] == [3, 3, 1]


@pytest.mark.parametrize("rows", [0, -1, MAX_ROWS + 1])
def test_a_block_has_as_many_rows_as_one_message_can_count(rows: int) -> None:
    with pytest.raises(InterfaceError, match=f"block: expected a whole number from 1 to 32767, got {rows}"):
        check_block(rows)


def test_a_block_of_no_stated_size_is_fine() -> None:
    check_block(None)
    check_block(1)
    check_block(MAX_ROWS)


async def test_an_error_of_the_rows_source_comes_through() -> None:
    def broken() -> Any:
        yield (1,)
        raise ZeroDivisionError

    source = Batches(open_source(broken(), None), cast(InsertCursor, Widths()))
    with pytest.raises(ZeroDivisionError):
        await source.next()
