"""petl: tables from and to a database, by the blocking dbapi and by SQLAlchemy."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import petl
import pytest

import aioifx.dbapi

TABLE = [
    ["id", "name", "price", "made"],
    [1, "pen", Decimal("1.50"), dt.date(2026, 5, 4)],
    [2, "lamp €", Decimal("35.25"), None],
]
ROWS = [tuple(row) for row in TABLE]


@pytest.fixture
def connection(dsn):
    # petl quotes names
    with aioifx.dbapi.connect(dsn, environment={"DELIMIDENT": "y"}) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE item (id INTEGER, name VARCHAR(40), price DECIMAL(8,2), made DATE)")
        connection.commit()
        yield connection
        cursor.execute("DROP TABLE item")
        connection.commit()


def test_a_table_is_stored_and_read_by_the_dbapi(connection):
    petl.todb(TABLE, connection, "item")
    petl.appenddb([TABLE[0], [3, "ink", None, None]], connection, "item")
    table = petl.fromdb(connection, "SELECT * FROM item WHERE id > ? ORDER BY id", (1,))
    assert list(table) == [ROWS[0], ROWS[2], (3, "ink", None, None)]
    named = petl.fromdb(connection, "SELECT name FROM item WHERE id = :id", {"id": 1})
    assert list(named) == [("name",), ("pen",)]
    petl.todb(TABLE[:2], connection, "item")  # in the place of all rows
    assert petl.nrows(petl.fromdb(connection, "SELECT * FROM item")) == 1


def test_a_table_is_transformed_on_its_way(connection, dsn):
    petl.todb(TABLE, connection, "item")
    with aioifx.dbapi.connect(dsn, environment={"DELIMIDENT": "y"}) as source:
        dear = petl.fromdb(lambda: source.cursor(), "SELECT * FROM item").select(
            "price", lambda price: price > 2
        )
        dear = dear.convert("name", "upper").addfield("id", lambda row: row.id + 10).cutout(0)
        petl.appenddb(dear, connection, "item")
    assert petl.fromdb(connection, "SELECT id, name FROM item WHERE id > 10").data().list() == [
        (12, "LAMP €")
    ]


def test_a_table_is_made_by_sqlalchemy(engine):
    made = [["id", "name", "price", "day"], [1, "pen", 1.5, dt.date(2026, 5, 4)], [2, "lamp", 35.25, None]]
    rows = [tuple(row) for row in made]
    petl.todb(made, engine, "made", create=True)
    assert list(petl.fromdb(engine, "SELECT * FROM made ORDER BY id")) == rows
    petl.todb(made[:2], engine, "made", create=True, drop=True)
    with engine.connect() as conn:
        assert list(petl.fromdb(conn, "SELECT * FROM made")) == rows[:2]
