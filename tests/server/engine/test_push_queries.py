"""Queries of push data on one row: names with owner and alias, conditions, columns, altered tables."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aioifx.server.engine.push_queries import PushQueries
from aioifx.server.engine.push_sessions import Refused, Registration
from aioifx.server.sql.errors import SqlError
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
        "SELECT nowhere.id, nowhere.note FROM orders nowhere WHERE nowhere.qty > 10",
        "SELECT id, note FROM orders {where } WHERE qty > 10",
        "SELECT id, note FROM orders -- where '\n WHERE qty > 10;",
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


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) FROM orders WHERE qty > 10",
        "SELECT 1 + MAX(qty) FROM orders",
        "SELECT id FROM orders HAVING COUNT(*) > 10",
        "SELECT FIRST 1 id FROM orders",
        "SELECT SKIP 1 id FROM orders",
        "SELECT id FROM orders LIMIT 1",
        "SELECT id FROM orders FOR UPDATE",
        "SELECT id, RANK() OVER (ORDER BY qty) FROM orders",
        "SELECT id FROM orders START WITH id = 1 CONNECT BY PRIOR id = qty",
        "SELECT id FROM orders WHERE qty > ?",
        "SELECT id FROM orders WHERE EXISTS (SELECT 1 FROM orders)",
    ],
)
def test_a_query_is_a_list_of_columns_and_a_condition(queries: PushQueries, query: str) -> None:
    with pytest.raises(Refused, match=r"^the query has more than a list of columns and a condition$"):
        queries.query(registered(query))


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT id, id FROM orders", "two columns have the name id"),
        ("SELECT qty + 1, qty + 2 FROM orders", r"two columns have the name \(expression\)"),
        ("SELECT id FROM orders WHERE orders.ROWID > 1", "the query has a ROWID"),
        ("SELECT id FROM orders WHERE twice(qty) > 1", "the query calls the routine twice"),
    ],
)
def test_what_a_row_does_not_have_is_refused(
    core: ServerCore, queries: PushQueries, query: str, reason: str
) -> None:
    run_all(core.engine(), "CREATE FUNCTION twice(a INT) RETURNING INT; RETURN a * 2; END FUNCTION")
    with pytest.raises(Refused, match=f"^{reason}$"):
        queries.query(registered(query))


def test_a_row_without_a_result_leaves_the_query_usable(queries: PushQueries) -> None:
    found = queries.query(registered("SELECT 10 / qty AS share FROM orders"))
    with pytest.raises(SqlError) as raised:
        found.selected(packed([7, 0, "a", None, 1]))
    assert raised.value.sqlcode == -1202
    assert found.selected(packed([7, 5, "a", None, 1])) == '{"share":2}'
    with pytest.raises(Refused, match=r"^table orders has other columns than a row that was changed$"):
        found.selected(packed([7, 0]))
