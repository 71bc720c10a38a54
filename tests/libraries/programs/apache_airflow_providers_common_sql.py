"""Airflow's DbApiHook on the blocking dbapi, as the page about libraries defines it."""

from __future__ import annotations

import os
import tempfile

import pytest

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp()  # before Airflow is imported, which writes there

from page import run_example
from suite_plugin import URL


@pytest.fixture
def sale(engine):
    with engine.begin() as conn:
        conn.exec_driver_sql("CREATE TABLE sale (sale_id SERIAL PRIMARY KEY, town VARCHAR(20))")
    yield
    with engine.begin() as conn:
        conn.exec_driver_sql("DROP TABLE sale")


@pytest.fixture
def hook(sale, dsn, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", dsn)
    return run_example("Airflow", 0, {"__name__": "shop"}, URL)["hook"]


def test_rows_are_read(hook):
    assert hook.get_records("SELECT * FROM sale ORDER BY sale_id") == [(1, "Bonn"), (2, "Kiel")]
    assert hook.get_records("SELECT town FROM sale WHERE sale_id = :id", parameters={"id": 1}) == [("Bonn",)]
    assert hook.get_first("SELECT town FROM sale WHERE sale_id = 3") is None


def test_statements_run_in_a_transaction_or_without(hook):
    statements = ["UPDATE sale SET town = 'Rome'", "INSERT INTO sale VALUES (1, 'twice')"]
    with pytest.raises(Exception, match="SQLCODE -268"):
        hook.run(statements)
    assert hook.get_first("SELECT town FROM sale") == ("Bonn",)
    with pytest.raises(Exception, match="SQLCODE -268"):
        hook.run(statements, autocommit=True)
    assert hook.get_first("SELECT town FROM sale") == ("Rome",)
    hook.run("DELETE FROM sale WHERE sale_id = ?", parameters=(1,))
    hook.run("DELETE FROM sale; INSERT INTO sale (town) VALUES ('Oslo')", split_statements=True)
    assert hook.get_records("SELECT town FROM sale") == [("Oslo",)]


def test_a_handler_gets_the_cursor(hook):
    described = hook.run(
        "SELECT * FROM sale", handler=lambda cursor: [column[0] for column in cursor.description]
    )
    assert described == ["sale_id", "town"]


def test_frames_are_read_and_rows_inserted_one_by_one(hook):
    hook.insert_rows("sale", [(7, "Rome")], target_fields=["sale_id", "town"], commit_every=1)
    frame = hook.get_df("SELECT town FROM sale WHERE sale_id > ?", parameters=(1,))
    assert sorted(frame["town"]) == ["Kiel", "Rome"]
    assert hook.get_df("SELECT town FROM sale", df_type="polars").height == 3


def test_engines_and_inspectors_are_those_of_the_dialect(hook):
    assert hook.get_sqlalchemy_engine().dialect.name == "informix"
    assert hook.get_table_schema("sale") == [
        {"name": "sale_id", "type": "INTEGER"},
        {"name": "town", "type": "VARCHAR(20)"},
    ]
    assert hook.test_connection() == (True, "Connection successfully tested")
