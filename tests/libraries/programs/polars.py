"""polars: read_database and write_database, by SQLAlchemy and by the blocking dbapi."""

from __future__ import annotations

import polars as pl

import aioifx.dbapi

FRAME = pl.DataFrame({"id": [1, 2], "name": ["pen", "lamp €"], "price": [1.5, None]})


def test_a_frame_is_written_and_read(engine, url, dsn):
    assert FRAME.write_database("item", engine, if_table_exists="replace") == 2
    FRAME.write_database("item", engine, if_table_exists="append")
    read = pl.read_database("SELECT * FROM item WHERE id = :id", engine, execute_options={"parameters": {"id": 2}})
    assert read.equals(pl.concat([FRAME[1:], FRAME[1:]]))
    with aioifx.dbapi.connect(dsn) as connection:
        assert pl.read_database("SELECT * FROM item ORDER BY id", connection).height == 4
    batches = pl.read_database("SELECT id FROM item", engine, iter_batches=True, batch_size=1)
    assert sum(batch.height for batch in batches) == 4
