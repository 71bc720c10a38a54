"""Records: queries with named parameters, rows, exports and transactions."""

from __future__ import annotations

import pytest
import records


@pytest.fixture
def db(url):
    db = records.Database(url)
    with db.transaction() as conn:
        conn.query("CREATE TABLE item (id SERIAL PRIMARY KEY, name VARCHAR(40), price DECIMAL(8,2))")
    yield db
    with db.transaction() as conn:
        conn.query("DROP TABLE item")
    db.close()


def test_rows_exports_and_bulk(db):
    rows = [{"name": "pen", "price": 1}, {"name": "lamp €", "price": 35}]
    with db.transaction() as conn:
        conn.bulk_query("INSERT INTO item (name, price) VALUES (:name, :price)", rows)
    rows = db.query("SELECT * FROM item WHERE price > :least ORDER BY id", least=0)
    assert [row.name for row in rows] == ["pen", "lamp €"]
    assert rows.as_dict()[1]["price"] == 35
    assert rows.export("csv").splitlines()[0] == "id,name,price"
    assert db.query("SELECT name FROM item WHERE id = 2").first().name == "lamp €"
    assert "item" in db.get_table_names()


def test_a_failed_transaction_is_rolled_back(db):
    with db.transaction() as conn:  # which takes the error
        conn.query("INSERT INTO item (name) VALUES ('pen')")
        raise ZeroDivisionError
    assert db.query("SELECT COUNT(*) AS number FROM item").first().number == 0
