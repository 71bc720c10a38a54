"""Queries of push data on one row: names with owner and alias, conditions, columns, altered tables."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aioifx.server.engine.push_queries import PushQueries, Refused
from aioifx.server.engine.push_sessions import Registration
from aioifx.server.sqlite.undo_log import packed
from tests.server.talking import ServerCore, run_all, server_core


@pytest.fixture
def core() -> Iterator[ServerCore]:
    with server_core() as made:
        yield made


@pytest.fixture
def queries(core: ServerCore) -> Iterator[PushQueries]:
    engine = core.engine()
    run_all(
        engine,
        "CREATE TABLE orders (id INT PRIMARY KEY, qty INT, note VARCHAR(20), picture BLOB)",
        "ALTER TABLE orders ADD early INT BEFORE id",
    )
    made = PushQueries(engine._state, "demo")
    yield made
    made.close()


def registered(query: str, owner: str = "informix") -> Registration:
    return Registration("demo", owner, "orders", query, "")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, note FROM orders WHERE qty > 10",
        "select id, note from informix.orders where qty > 10",
        "SELECT id, note FROM demo:informix.orders WHERE orders.qty > 10",
        "SELECT o.id, o.note FROM informix.orders o WHERE o.qty > 10 AND o.note <> 'where'",
        "SELECT id, note FROM demo:orders AS o WHERE qty > 10 -- where",
    ],
)
def test_rows_are_selected_by_the_condition(queries: PushQueries, query: str) -> None:
    found = queries.query(registered(query))
    assert found is queries.query(registered(query))
    assert found.selected(packed([7, 15, "a", None, 1])) == '{"id":7,"note":"a"}'
    assert found.selected(packed([7, 5, "a", None, 1])) is None
    assert found.columns(packed([7, 5, "a", None, 1])) == '{"id":7,"note":"a"}'


def test_columns_have_the_order_of_the_table(queries: PushQueries) -> None:
    assert (
        queries.query(registered("SELECT early, id, qty, note FROM orders")).selected(
            packed([7, None, "a", b"locator", 1])
        )
        == '{"early":1,"id":7,"qty":null,"note":"a"}'
    )


@pytest.mark.parametrize("query", ["SELECT * FROM anna.orders", "SELECT id FROM stores:orders"])
def test_the_table_of_the_query_is_the_registered_one(queries: PushQueries, query: str) -> None:
    with pytest.raises(Refused, match=r"^the query is not of table orders$"):
        queries.query(registered(query))
