"""dlt with Informix as the source and as the destination of pipelines."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import dlt
import pytest
import sqlalchemy as sa
from dlt.destinations import sqlalchemy as destination
from dlt.destinations.impl.sqlalchemy import dialect
from dlt.sources.sql_database import sql_database, sql_table
from page import run_example
from suite_plugin import URL

COLUMNS = {"price": {"data_type": "decimal", "precision": 12, "scale": 2}}
ROWS = [
    {
        "id": 1,
        "name": "pen",
        "price": Decimal("1.50"),
        "made": dt.datetime(2026, 5, 4, 9, 30, tzinfo=dt.UTC),
        "day": dt.date(2026, 5, 4),
        "new": True,
        "picture": b"\0\1",
        "marks": [{"word": "blue"}, {"word": "new"}],
    },
    {"id": 2, "name": "tinte €", "made": dt.datetime(2026, 5, 5, tzinfo=dt.UTC), "new": False, "weight": 0.5},
]


@pytest.fixture
def pipeline(tmp_path):
    """One that loads into the tables of an owner."""
    pipeline = dlt.pipeline(
        "shop", destination=destination(URL), dataset_name="informix", pipelines_dir=f"{tmp_path}"
    )
    yield pipeline
    pipeline.destination_client().sql_client.engine.dispose()


def read(engine, table, *columns):
    with engine.connect() as conn:
        found = sa.Table(table, sa.MetaData(), autoload_with=conn)
        query = sa.select(*(found.c[name] for name in columns)).order_by(found.c[columns[0]])
        return [tuple(row) for row in conn.execute(query)]


def test_rows_are_appended_with_their_types_and_children(pipeline, engine):
    for _ in range(2):
        pipeline.run(ROWS, table_name="item", write_disposition="append", columns=COLUMNS)
    assert read(engine, "item", "id", "name") == [(1, "pen")] * 2 + [(2, "tinte €")] * 2
    made = ROWS[0]["made"]
    values = (1, Decimal("1.5"), made, ROWS[0]["day"], True, b"\0\1")
    assert read(engine, "item", "id", "price", "made", "day", "new", "picture")[0] == values
    assert read(engine, "item__marks", "word") == [("blue",)] * 2 + [("new",)] * 2


def test_rows_replace_those_of_the_load_before(pipeline, engine):
    pipeline.run(ROWS, table_name="item_r", write_disposition="replace", columns=COLUMNS)
    pipeline.run(ROWS[:1], table_name="item_r", write_disposition="replace", columns=COLUMNS)
    assert read(engine, "item_r", "id") == [(1,)]


def test_new_columns_are_added(pipeline, engine):
    pipeline.run([{"id": 1}], table_name="item_n")
    pipeline.run([{"id": 2, "made": ROWS[0]["made"], "words": "x" * 5_000}], table_name="item_n")
    assert read(engine, "item_n", "id", "made", "words") == [
        (1, None, None),
        (2, ROWS[0]["made"], "x" * 5_000),
    ]


def test_the_state_is_read_back_from_the_database(pipeline, engine, tmp_path):
    @dlt.resource
    def numbers(after=dlt.sources.incremental("id", initial_value=0)):  # noqa: B008
        yield [{"id": number} for number in range(4) if number > after.last_value]

    pipeline.run(numbers)
    other = dlt.pipeline(
        "shop", destination=destination(URL), dataset_name="informix", pipelines_dir=f"{tmp_path}/other"
    )
    other.run(numbers)
    assert read(engine, "numbers", "id") == [(1,), (2,), (3,)]
    assert other.last_trace.last_normalize_info.row_counts.get("numbers") is None


def test_the_examples_of_the_page_run(engine, tmp_path, monkeypatch):
    """With the page's types, dlt's schema is as long as it needs to be."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DLT_DATA_DIR", f"{tmp_path}")
    monkeypatch.setenv("DESTINATION__FILESYSTEM__BUCKET_URL", f"{tmp_path}/files")
    monkeypatch.setattr(dialect, "DIALECT_CAPS_REGISTRY", dialect.DIALECT_CAPS_REGISTRY.copy())
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.exec_driver_sql("CREATE TABLE sale (sale_id SERIAL PRIMARY KEY, town VARCHAR(20))")
        conn.exec_driver_sql("INSERT INTO sale (town) VALUES ('Bonn')")
    sales = run_example("dlt", 0, {}, URL)["pipeline"]
    assert sales.last_trace.last_normalize_info.row_counts["sale"] == 1
    server = sa.create_engine(sa.make_url(URL).set(database=None), isolation_level="AUTOCOMMIT")
    with server.connect() as conn:
        conn.exec_driver_sql("CREATE DATABASE large WITH LOG")
        conn.exec_driver_sql("CLOSE DATABASE")
    server.dispose()
    large = sa.make_url(URL).set(database="large", username="app", password="secret")
    pipeline = run_example("dlt", 1, {}, large)["pipeline"]
    wide = {"id": 2, "name": "ink", "price": Decimal("1.5")} | {
        f"column_{number}": 2 for number in range(100)
    }
    pipeline.run([wide], table_name="item")
    engine = sa.create_engine(large)
    rows = read(engine, "item", "id", "name", "price", "column_99")
    assert rows == [(1, "pen", None, None), (2, "ink", Decimal("1.5"), 2)]
    assert max(len(schema) for _, schema in read(engine, "_dlt_version", "version", "schema")) > 8_000
    engine.dispose()
    pipeline.destination_client().sql_client.engine.dispose()


@pytest.mark.parametrize("backend", ["sqlalchemy", "pandas"])
def test_a_table_is_extracted_incrementally(engine, tmp_path, backend):
    metadata = sa.MetaData()
    key = sa.Column("id", sa.Integer, primary_key=True)
    sale = sa.Table(f"sale_{backend}", metadata, key, sa.Column("amount", sa.Numeric(8, 2)))
    metadata.create_all(engine)
    pipeline = dlt.pipeline(f"out_{backend}", destination="filesystem", pipelines_dir=f"{tmp_path}/p")
    pipeline.destination.config_params["bucket_url"] = f"{tmp_path}/files"

    def load(numbers):
        with engine.begin() as conn:
            conn.execute(sale.insert(), [{"id": n, "amount": Decimal("1.5") * n} for n in numbers])
        table = sql_table(URL, table=sale.name, incremental=dlt.sources.incremental("id"), backend=backend)
        pipeline.run(table, dataset_name="out")
        return pipeline.last_trace.last_normalize_info.row_counts[sale.name]

    assert [load(range(1, 4)), load([4])] == [3, 1]
    assert sale.name in sql_database(URL).resources
    amount = pipeline.default_schema.tables[sale.name]["columns"]["amount"]
    assert (amount["data_type"], amount["precision"], amount["scale"]) == ("decimal", 8, 2)
