"""aiosql: methods from SQL in a file, on the blocking dbapi, whose parameters are named."""

from __future__ import annotations

import aiosql
import pytest

import aioifx.dbapi

SQL = """
-- name: create_tables()!
CREATE TABLE author (id SERIAL PRIMARY KEY, name VARCHAR(40));

-- name: add_author(name)<!
INSERT INTO author (name) VALUES (:name)

-- name: add_many(name)*!
INSERT INTO author (name) VALUES (:name)

-- name: get_all()
SELECT id, name FROM author ORDER BY id

-- name: get_by_name(name)^
SELECT id, name FROM author WHERE name = :name

-- name: count_them()$
SELECT COUNT(*) FROM author

-- name: rename(id, name)!
UPDATE author SET name = :name WHERE id = :id
"""


@pytest.fixture
def connection(dsn):
    with aioifx.dbapi.connect(dsn) as connection:
        yield connection


def test_every_kind_of_query(connection):
    queries = aiosql.from_str(SQL, "sqlite3")  # the adapter for :name
    queries.create_tables(connection)
    assert queries.add_author(connection, name="Ada") == 1
    queries.add_many(connection, [{"name": "Grace"}, {"name": "Mary €"}])
    assert list(queries.get_all(connection)) == [(1, "Ada"), (2, "Grace"), (3, "Mary €")]
    assert queries.get_by_name(connection, name="Mary €") == (3, "Mary €")
    assert queries.rename(connection, id=1, name="Ada L.") == 1
    assert queries.count_them(connection) == 3
