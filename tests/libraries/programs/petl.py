"""petl: tables from and to a database, by the blocking dbapi and by SQLAlchemy."""

from __future__ import annotations

import petl
import pytest

import aioifx.dbapi

TABLE = [["id", "name", "price"], [1, "pen", 1.5], [2, "lamp", 35.25]]


@pytest.fixture
def connection(dsn):
    with aioifx.dbapi.connect(dsn, environment={"DELIMIDENT": "y"}) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE item (id INTEGER, name VARCHAR(40), price FLOAT)")
        connection.commit()
        yield connection
        cursor.execute("DROP TABLE item")
        connection.commit()


def test_a_table_is_stored_and_read_by_the_dbapi(connection):
    petl.todb(TABLE, connection, "item")
    petl.appenddb([TABLE[0], [3, "ink", None]], connection, "item")
    table = petl.fromdb(connection, "SELECT * FROM item WHERE id > ? ORDER BY id", (1,))
    assert list(table) == [("id", "name", "price"), (2, "lamp", 35.25), (3, "ink", None)]
    named = petl.fromdb(connection, "SELECT name FROM item WHERE id = :id", {"id": 1})
    assert list(named) == [("name",), ("pen",)]


def test_a_table_is_made_by_sqlalchemy(engine):
    petl.todb(TABLE, engine, "made", create=True)
    made = petl.fromdb(engine, "SELECT * FROM made ORDER BY id")
    assert list(made) == [tuple(row) for row in TABLE]
