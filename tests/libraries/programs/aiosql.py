"""aiosql: methods from SQL in a file, on the blocking dbapi, whose parameters are named."""

from __future__ import annotations

from dataclasses import dataclass

import aiosql
import pytest

import aioifx.dbapi

SQL = """
-- name: create_tables()!
CREATE TABLE author (id SERIAL PRIMARY KEY, name VARCHAR(40), born INTEGER);

-- name: add_author(name, born)<!
-- The new author's key.
INSERT INTO author (name, born) VALUES (:name, :born)

-- name: add_many(name, born)*!
INSERT INTO author (name, born) VALUES (:name, :born)

-- name: get_all()
SELECT id, name, born FROM author ORDER BY id

-- name: get_by_name(name)^
-- record_class: Author
SELECT id, name, born FROM author WHERE name = :name

-- name: between(low, high)
-- record_class: Author
SELECT id, name, born FROM author WHERE born BETWEEN :low AND :high OR born = :low ORDER BY id

-- name: count_them()$
SELECT COUNT(*) FROM author

-- name: rename(id, name)!
UPDATE author SET name = :name WHERE id = :id

-- name: remove(id)!
DELETE FROM author WHERE id = :id
"""


@dataclass
class Author:
    id: int
    name: str
    born: int


@pytest.fixture
def queries():
    return aiosql.from_str(SQL, "sqlite3", record_classes={"Author": Author})  # the adapter for :name


@pytest.fixture
def connection(dsn, queries):
    with aioifx.dbapi.connect(dsn) as connection:
        queries.create_tables(connection)
        queries.add_many(connection, [{"name": "Grace", "born": 1906}, {"name": "Mary €", "born": 1797}])
        connection.commit()
        yield connection
        connection.rollback()
        connection.cursor().execute("DROP TABLE author")
        connection.commit()


def test_rows_are_added_and_changed(connection, queries):
    assert queries.add_author(connection, name="Ada", born=1815) == 3
    assert queries.rename(connection, id=3, name="Ada L.") == 1
    assert queries.remove(connection, id=1) == 1
    assert queries.rename(connection, id=1, name="nobody") == 0
    assert list(queries.get_all(connection)) == [(2, "Mary €", 1797), (3, "Ada L.", 1815)]
    assert queries.count_them(connection) == 2


def test_rows_are_read_as_records(connection, queries):
    assert queries.get_by_name(connection, name="Mary €") == Author(2, "Mary €", 1797)
    assert queries.get_by_name(connection, name="nobody") is None
    assert [author.name for author in queries.between(connection, low=1797, high=1900)] == ["Mary €"]


def test_a_cursor_is_given_and_a_transaction_rolled_back(connection, queries):
    queries.add_author(connection, name="Ada", born=1815)
    with queries.get_all_cursor(connection) as cursor:
        assert [column[0] for column in cursor.description] == ["id", "name", "born"]
        assert len(cursor.fetchmany(2)) == 2
    connection.rollback()
    assert queries.count_them(connection) == 2
