"""dlt with Informix as the source and as the destination of a pipeline."""

from __future__ import annotations

import datetime as dt

import dlt
import pytest
import sqlalchemy as sa
from dlt.destinations import sqlalchemy as destination
from dlt.sources.sql_database import sql_database, sql_table

UTC = dt.timezone.utc
ROWS = [
    {"id": 1, "name": "pen", "price": 1.5, "made": dt.datetime(2026, 5, 4, 9, 30, tzinfo=UTC), "new": True},
    {"id": 2, "name": "tinte €", "price": None, "made": dt.datetime(2026, 5, 5, tzinfo=UTC), "new": False},
]


@pytest.fixture
def pipeline(url, tmp_path):
    engine = sa.create_engine(url)
    yield dlt.pipeline("shop", destination=destination(engine), dataset_name="informix", pipelines_dir=f"{tmp_path}")
    engine.dispose()


@pytest.mark.parametrize("disposition", ["replace", "append"])
def test_loads_rows_twice(pipeline, engine, disposition):
    table = f"item_{disposition}"
    for _ in range(2):
        pipeline.run(ROWS, table_name=table, write_disposition=disposition, primary_key="id")
    with engine.connect() as conn:
        names = conn.scalars(sa.text(f"SELECT name FROM {table} ORDER BY id, name")).all()
    assert names == sorted(["pen", "tinte €"] * (2 if disposition == "append" else 1))


@pytest.mark.parametrize("backend", ["sqlalchemy", "pyarrow", "pandas"])
def test_extracts_a_table_incrementally(engine, url, tmp_path, backend):
    metadata = sa.MetaData()
    sale = sa.Table(
        f"sale_{backend}", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("amount", sa.Numeric(8, 2))
    )
    metadata.create_all(engine)
    with engine.begin() as conn:
        conn.execute(sale.insert(), [{"id": n, "amount": n} for n in range(1, 4)])
    pipeline = dlt.pipeline(f"out_{backend}", destination="filesystem", pipelines_dir=f"{tmp_path}/p")
    pipeline.destination.config_params["bucket_url"] = f"{tmp_path}/files"
    source = sql_table(url, table=sale.name, incremental=dlt.sources.incremental("id"), backend=backend)
    pipeline.run(source, dataset_name="out")
    with engine.begin() as conn:
        conn.execute(sale.insert(), {"id": 4, "amount": 4})
    source = sql_table(url, table=sale.name, incremental=dlt.sources.incremental("id"), backend=backend)
    pipeline.run(source, dataset_name="out")
    assert pipeline.last_trace.last_normalize_info.row_counts[sale.name] == 1
    assert sale.name in sql_database(url).resources
