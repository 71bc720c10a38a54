from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from aioifx.server.sql.sqlite import tree
from aioifx.server.sql.sqlite.render import render
from aioifx.server.sql.sqlite.tree import (
    Case,
    Column,
    In,
    Is,
    Literal,
    Node,
    Parameter,
    call,
    logic,
    sql,
    transformed,
    walk,
)

A, B = Column("s1", "a b"), Column("", "c1", is_quoted=False)


def test_a_template_needs_a_piece_for_each_place() -> None:
    with pytest.raises(ValueError, match="zip"):
        sql("{} {}", A)


def test_a_walk_visits_each_node_once_in_the_order_of_the_text() -> None:
    node = Case(((Is(A), call("f", Parameter(1))),), sql("({})", In(B, (Literal(1), Literal(2)))))
    kinds = ["Case", "Is", "Column", "Call", "Parameter", "Text", "In", "Column", "Literal", "Literal"]
    assert [type(each).__name__ for each in walk(node)] == kinds


def test_only_what_changes_is_made_again() -> None:
    kept = Is(A)
    node = logic("AND", [kept, call("f", Parameter(1))])

    def change(each: Node) -> Node | None:
        return Parameter(2) if isinstance(each, Parameter) else None

    changed = transformed(node, change)
    assert render(changed) == '((s1."a b" IS NULL) AND f(?2))'
    assert next(tree.children(changed)) is kept
    assert transformed(kept, change) is kept


@pytest.mark.parametrize("count", [1, 50, 51, 10_000])
def test_many_conditions_make_no_high_tree(count: int) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        text = render(logic("AND", [Literal(1)] * count))
        assert text.count("1") == count
        assert connection.execute(f"SELECT {text}").fetchone() == (1,)
        assert connection.execute(
            "SELECT " + render(logic("OR", [*[Literal(0)] * count, Literal(1)]))
        ).fetchone() == (1,)
