"""OVER, and the keys of ORDER BY."""

from __future__ import annotations

import pytest

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from tests.server.sql.shapes import error_of, statement_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select a from t order by 1 desc, b asc nulls last, c + 1",
         "Query(Select([a], [t]), order_by=[OrderItem(1, is_descending), OrderItem(b, nulls_last), "
         "OrderItem(Binary(+, c, 1))])"),
        ("select sum(a) over (partition by b order by c rows between 2 preceding and current row) from t",
         "(Select([Window(Aggregate(sum, a), partition_by=[b], order_by=[OrderItem(c)], Frame(rows, "
         "FrameBound(preceding, 2), FrameBound(current)))], [t]))"),
        ("select lag(a, 1, 0) over (order by b desc) from t",
         "(Select([Window(Call(lag, [a, 1, 0]), order_by=[OrderItem(b, is_descending)])], [t]))"),
        ("select sum(a) over (order by b range unbounded preceding) from t",
         "(Select([Window(Aggregate(sum, a), order_by=[OrderItem(b)], Frame(range, "
         "FrameBound(preceding), FrameBound(current)))], [t]))"),
        ("select rank() over (order by b rows between current row and unbounded following) from t",
         "(Select([Window(Call(rank), order_by=[OrderItem(b)], Frame(rows, FrameBound(current), "
         "FrameBound(following)))], [t]))"),
    ],
)  # fmt: skip
def test_windows(text: str, expected: str) -> None:
    assert statement_shape(text) == expected


@pytest.mark.parametrize(
    ("marked", "error"), [("select lag(a) ^ignore nulls over (order by b) from t", (-999, "IGNORE NULLS"))]
)
def test_what_is_not_a_window_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error


def test_nothing_said_about_nulls_is_neither_first_nor_last() -> None:
    query = parse("SELECT a FROM t ORDER BY a, b NULLS FIRST, c NULLS LAST")
    assert isinstance(query, nodes.Query)
    assert [item.nulls_first for item in query.order_by] == [None, True, False]


@pytest.mark.parametrize(
    "marked",
    [
        "SELECT SUM(a) OVER (PARTITION ^b) FROM t",
        "SELECT SUM(a) OVER (ORDER BY ^) FROM t",
        "SELECT SUM(a) OVER (ORDER BY b ROWS ^) FROM t",
        "SELECT SUM(a) OVER (ORDER BY b ROWS BETWEEN 1 PRECEDING ^) FROM t",
        "SELECT SUM(a) OVER (ORDER BY b ROWS 1 ^) FROM t",
        "SELECT SUM(a) OVER ^w FROM t",
        "SELECT a FROM t ORDER BY a NULLS ^b",
    ],
)
def test_a_misspelt_window_is_refused(marked: str) -> None:
    assert error_of(marked) == (-201, "")
