"""Every row is in exactly one partition, whatever its key is."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aioifx
from aioifx.partitions import MAX_PARTITIONS, Partition, Source, cut_at, plan, split

KEYS = st.integers(-(2**63) + 1, 2**63 - 1)
ITEM = Source("item", "id")


def holds(partition: Partition, key: int) -> bool:
    return (partition.low is None or partition.low <= key) and (partition.end is None or key < partition.end)


@given(KEYS, KEYS, st.integers(1, 50), KEYS)
def test_any_key_is_in_exactly_one_partition(one: int, other: int, count: int, key: int) -> None:
    partitions = split(min(one, other), max(one, other), count)
    assert sum(holds(partition, key) for partition in partitions) == 1
    assert [partition.number for partition in partitions] == [*range(len(partitions))]


@given(KEYS, st.integers(0, 10_000), st.integers(1, 50))
def test_partitions_are_as_many_as_wanted_and_equally_long(low: int, length: int, count: int) -> None:
    partitions = split(low, low + length, count)
    assert len(partitions) == min(count, length + 1)
    begins = [low, *(partition.low for partition in partitions[1:]), low + length + 1]
    widths = {int(end) - int(begin) for begin, end in pairwise(begins)}  # type: ignore[arg-type]
    assert min(widths) >= 1 and max(widths) - min(widths) <= 1


def test_bounds_of_ones_own_are_where_partitions_begin() -> None:
    assert cut_at([10, 500]) == (Partition(0, None, 10), Partition(1, 10, 500), Partition(2, 500, None))
    assert cut_at([]) == (Partition(0, None, None),)
    words = ["keys below 10, and NULL", "keys from 10 to 499", "keys from 500 on"]
    assert [str(partition) for partition in cut_at([10, 500])] == words
    assert str(cut_at([])[0]) == "all keys"


def test_the_query_of_a_partition() -> None:
    first, middle, last = cut_at([10, 500])
    assert ITEM.query(first) == ("select * from item where (id < ? or id is null)", (10,))
    assert ITEM.query(middle) == ("select * from item where id >= ? and id < ?", (10, 500))
    assert ITEM.query(last) == ("select * from item where id >= ?", (500,))
    assert ITEM.query(cut_at([])[0]) == ("select * from item", ())
    some = Source("shop:owner.item", "id", columns=("id", '"odd name"'))
    assert some.query(last) == ('select id, "odd name" from shop:owner.item where id >= ?', (500,))
    query = Source("SELECT id, name FROM item WHERE price > ?", "id", params=(3,))
    wrapped = "select * from (SELECT id, name FROM item WHERE price > ?\n) as aioifx_source where id >= ?"
    assert query.query(last) == (wrapped, (3, 500))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Source("item; drop table item", "id"), "relation: "),
        (lambda: Source("item", "id or 1 = 1"), "column: "),
        (lambda: Source("item", "id", columns="id"), "columns: expected a sequence"),
        (lambda: Source("item", "id", columns=()), "columns: expected a sequence"),
        (lambda: Source("item", "id", columns=("id", "1; --")), "columns: "),
        (lambda: Source("item", "id", params=(1,)), "params: "),
        (lambda: Source(None, "id"), "relation: expected a str"),  # type: ignore[arg-type]
        (lambda: cut_at([3, 3]), "bounds: expected ascending"),
        (lambda: cut_at([1.5]), "bounds: expected whole numbers, got float"),  # type: ignore[list-item]
        (lambda: cut_at(range(MAX_PARTITIONS)), "bounds: expected at most 9999 numbers, got 10000"),
        (lambda: split(1, 9, 0), "count: "),
        (lambda: split(1, 9, True), "count: "),
        (lambda: split(9, 1, 2), "high: "),
    ],
)
def test_nonsensical_arguments_are_rejected(make: Any, message: str) -> None:
    with pytest.raises(aioifx.InterfaceError, match=message):
        make()


@pytest.fixture
async def conn(dsn: str) -> Any:
    async with aioifx.connect(dsn, row_factory=aioifx.rows.tuple_row) as conn:
        await conn.execute("CREATE TABLE item (id INTEGER, name VARCHAR(20))")
        yield conn


async def read(conn: aioifx.Connection, source: Source, count: int) -> list[list[Any]]:
    return [
        await conn.fetch(sql, *params, row_factory=aioifx.rows.tuple_row)
        for sql, params in map(source.query, await plan(conn, source, count))
    ]


async def test_partitions_of_a_table_hold_each_row_once_with_gaps_and_nulls(conn: aioifx.Connection) -> None:
    keys = [None, -7, 0, 1, 2, 1000, 1001, 2**31 - 1, None]
    rows = [(key, f"name {number}") for number, key in enumerate(keys)]
    await conn.executemany("INSERT INTO item VALUES (?, ?)", rows)
    parts = await read(conn, ITEM, 4)
    assert len(parts) == 4
    assert sorted(chain(*parts), key=str) == sorted(rows, key=str)
    assert [row for row in parts[0] if row[0] is None] == [rows[0], rows[-1]]


async def test_partitions_of_a_query_take_its_parameters(conn: aioifx.Connection) -> None:
    await conn.executemany("INSERT INTO item VALUES (?, ?)", [(key, f"name {key % 3}") for key in range(60)])
    source = Source(
        "SELECT id * 2 AS twice, name FROM item WHERE name = ? -- of three", "twice", ("twice",), ("name 1",)
    )
    parts = await read(conn, source, 5)
    assert len(parts) == 5 and all(parts)
    assert sorted(chain(*parts)) == [(2 * key,) for key in range(60) if key % 3 == 1]


@pytest.mark.parametrize("keys", [[], [None, None], [5], [5, 5]])
async def test_a_table_without_a_range_of_keys_is_one_partition(
    conn: aioifx.Connection, keys: list[int | None]
) -> None:
    await conn.executemany("INSERT INTO item VALUES (?, 'x')", [(key,) for key in keys])
    parts = await read(conn, ITEM, 4)
    assert [len(part) for part in parts] == [len(keys)]


async def test_a_row_inserted_after_the_partitions_were_planned_belongs_to_one(
    conn: aioifx.Connection,
) -> None:
    await conn.executemany("INSERT INTO item VALUES (?, 'x')", [(key,) for key in range(10)])
    partitions = await plan(conn, ITEM, 3)
    await conn.executemany("INSERT INTO item VALUES (?, 'later')", [(-100,), (100,)])
    queries = map(ITEM.query, partitions)
    assert sum([len(await conn.fetch(sql, *params)) for sql, params in queries]) == 12


async def test_planning_is_one_query_and_needs_whole_numbers(conn: aioifx.Connection) -> None:
    await conn.executemany("INSERT INTO item VALUES (?, 'x')", [(key,) for key in range(10)])
    await plan(conn, ITEM, 3)
    before = conn.stats.round_trips
    await plan(conn, ITEM, 3)
    assert conn.stats.round_trips == before + 1
    with pytest.raises(aioifx.InterfaceError, match="expected whole numbers in name"):
        await plan(conn, Source("item", "name"), 3)
