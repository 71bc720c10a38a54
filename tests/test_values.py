"""What a value may be, from end to end: over the wire, through the embedded server, and back."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from typing import Any

import pytest

import aioifx
from aioifx import Datetime
from aioifx.rows import tuple_row


@pytest.fixture
async def conn(dsn: str) -> AsyncIterator[aioifx.Connection]:
    async with aioifx.connect(dsn) as conn:
        yield conn


async def stored(conn: aioifx.Connection, column_type: str, *values: Any) -> list[Any]:
    """What a column gives for each value, stored by a single execution, a run of them, and a load."""
    await conn.execute(f"CREATE TEMP TABLE kept (place SERIAL, v {column_type})")
    for value in values:
        await conn.execute("INSERT INTO kept (v) VALUES (?)", value)
    await conn.executemany("INSERT INTO kept (v) VALUES (?)", [(value,) for value in values])
    await conn.load("kept", [(value,) for value in values], columns=["v"])
    found = [row[0] for row in await conn.fetch("SELECT v FROM kept ORDER BY place", row_factory=tuple_row)]
    await conn.execute("DROP TABLE kept")
    one, many, loaded = (found[start : start + len(values)] for start in range(0, len(found), len(values)))
    assert one == many == loaded
    assert [*map(type, one)] == [*map(type, many)] == [*map(type, loaded)]
    return one


# --- dates and times ------------------------------------------------------------------------------------------------

MOMENT = dt.datetime(2024, 2, 29, 12, 34, 56, 123_456)


@pytest.mark.parametrize(
    ("qualifier", "expected"),
    [
        ("YEAR TO YEAR", Datetime(2024)),
        ("YEAR TO MONTH", Datetime(2024, 2)),
        ("YEAR TO DAY", dt.date(2024, 2, 29)),
        ("YEAR TO HOUR", dt.datetime(2024, 2, 29, 12)),
        ("YEAR TO MINUTE", dt.datetime(2024, 2, 29, 12, 34)),
        ("YEAR TO SECOND", dt.datetime(2024, 2, 29, 12, 34, 56)),
        ("YEAR TO FRACTION(2)", dt.datetime(2024, 2, 29, 12, 34, 56, 120_000)),
        ("MONTH TO DAY", Datetime(month=2, day=29)),
        ("DAY TO SECOND", Datetime(day=29, hour=12, minute=34, second=56)),
        ("HOUR TO HOUR", Datetime(hour=12)),
        ("HOUR TO MINUTE", dt.time(12, 34)),
        ("HOUR TO SECOND", dt.time(12, 34, 56)),
        ("MINUTE TO SECOND", Datetime(minute=34, second=56)),
        ("SECOND TO FRACTION(3)", Datetime(second=56, microsecond=123_000)),
    ],
)
async def test_a_datetime_is_cut_to_the_fields_of_its_column(
    conn: aioifx.Connection, qualifier: str, expected: Any
) -> None:
    assert await stored(conn, f"DATETIME {qualifier}", MOMENT) == [expected]


async def test_a_time_is_cut_to_the_fields_of_its_column(conn: aioifx.Connection) -> None:
    assert await stored(conn, "DATETIME HOUR TO MINUTE", MOMENT.time()) == [dt.time(12, 34)]


async def test_a_datetime_is_a_date_at_midnight(conn: aioifx.Connection) -> None:
    assert await stored(conn, "DATE", dt.datetime(2024, 2, 29), dt.date(2024, 3, 1)) == [
        dt.date(2024, 2, 29),
        dt.date(2024, 3, 1),
    ]
    await conn.execute("CREATE TEMP TABLE kept (v DATE)")
    refused = "datetime with a time of day or zone does not fit DATE"
    with pytest.raises(aioifx.DataError, match=f"parameter 1: {refused}"):
        await conn.execute("INSERT INTO kept VALUES (?)", MOMENT)
    with pytest.raises(aioifx.DataError, match=f"row 0, column 'v': {refused}"):
        await conn.load("kept", [(MOMENT,)])
    assert await conn.fetchval("SELECT COUNT(*) FROM kept") == 0
