"""polars: read_database and write_database, by SQLAlchemy and by the blocking dbapi."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import polars as pl
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

import aioifx.dbapi

FRAME = pl.DataFrame(
    {
        "id": [1, 2],
        "name": ["pen", "lamp €"],
        "price": [1.5, None],
        "made": [dt.date(2026, 5, 4), None],
        "at": [None, dt.datetime(2026, 5, 4, 9, 30, 1, 250_000)],
        "new": [True, False],
    }
)


@pytest.fixture
def item(engine):
    assert FRAME.write_database("item", engine, if_table_exists="replace") == 2
    return FRAME


def test_a_frame_is_written_and_read(engine, item):
    assert pl.read_database("SELECT * FROM item ORDER BY id", engine).equals(item)
    assert item[1:].write_database("item", engine, if_table_exists="append") == 1
    query = sa.text("SELECT * FROM item WHERE id = :id")
    read = pl.read_database(query, engine, execute_options={"parameters": {"id": 2}})
    assert read.select("name", "at", "new").equals(
        pl.concat([item[1:], item[1:]]).select("name", "at", "new")
    )
    with pytest.raises(ValueError, match="already exists"):
        item.write_database("item", engine)


def test_types_are_those_of_the_columns(engine, item):
    with engine.connect() as conn:
        conn.execute(
            sa.text("CREATE TEMP TABLE sum (paid DECIMAL(8,2), small SMALLINT, big BIGINT, body LVARCHAR)")
        )
        conn.execute(sa.text("INSERT INTO sum VALUES (35.25, 1, 1234567890123, 'x')"))
        frame = pl.read_database("SELECT * FROM sum", conn, schema_overrides={"small": pl.Int16})
    assert frame.rows() == [(Decimal("35.25"), 1, 1234567890123, "x")]
    assert frame.dtypes == [pl.Decimal(38, 2), pl.Int16, pl.Int64, pl.String]


def test_batches_bound_the_memory(engine, item):
    batches = pl.read_database("SELECT id FROM item", engine, iter_batches=True, batch_size=1)
    assert [batch.height for batch in batches] == [1, 1]


def test_the_blocking_module_reads_and_ingests(dsn, item):
    with aioifx.dbapi.connect(dsn) as connection:
        options = {"parameters": {"id": 1}}
        read = pl.read_database("SELECT * FROM item WHERE id > :id", connection, execute_options=options)
        assert read.select("id", "name").equals(item[1:].select("id", "name"))
        with connection.cursor() as cursor:
            cursor.execute("SELECT id, name FROM item ORDER BY id")
            assert pl.DataFrame(cursor.fetch_record_batch()).equals(item.select("id", "name"))


async def test_an_asyncio_engine_reads(url, item):
    engine = create_async_engine(url)
    async with engine.connect() as conn:
        assert pl.read_database("SELECT id, name FROM item ORDER BY id", conn).equals(
            item.select("id", "name")
        )
    await engine.dispose()
