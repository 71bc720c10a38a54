from __future__ import annotations

from aioifx.server.sql.builtin_types import BYTE
from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.model.type_rules import INTEGER, char, decimal
from aioifx.server.sql.sqlite.render import render
from aioifx.server.sql.translate.relations import Block, Combined, Relation, is_shown, keeping
from aioifx.sqltypes import Column, SqlType, TypeCode
from tests.server.sql.trees import typed

ONE = Block(("k", "c"), (typed("s1.k", INTEGER, is_nullable=False), typed("s1.c", char(3))), " FROM t AS s1")
OTHER = Block(("x", "y"), (typed("1.5", decimal()), typed("s2.y", char(3))), " FROM u AS s2")
BOTH = (decimal(), char(3))
AS_DECIMAL = f"ifx_cast(s1.k, {type_number(INTEGER)}, {type_number(decimal())})"


def test_columns_are_named_by_position() -> None:
    assert render(ONE.query()) == "SELECT s1.k AS c1, s1.c AS c2 FROM t AS s1"


def test_columns_are_cast_to_the_types_that_are_asked_for() -> None:
    assert render(ONE.query(BOTH)) == f"SELECT {AS_DECIMAL} AS c1, s1.c AS c2 FROM t AS s1"


def test_distinct_rows_are_distinguished_by_their_types_collations() -> None:
    distinct = Block(ONE.names, ONE.outputs, ONE.tail, is_distinct=True)
    assert render(distinct.query()) == "SELECT DISTINCT s1.k AS c1, s1.c COLLATE RTRIM AS c2 FROM t AS s1"


def test_both_parts_of_a_union_have_the_common_types() -> None:
    union = Combined("UNION", ONE, OTHER, tuple(typed("", type_) for type_ in BOTH))
    assert union.names == ("k", "c")
    assert render(union.query()) == (
        f"SELECT {AS_DECIMAL} COLLATE ifx_decimal AS c1, s1.c COLLATE RTRIM AS c2 FROM t AS s1"
        " UNION SELECT 1.5 COLLATE ifx_decimal AS c1, s2.y COLLATE RTRIM AS c2 FROM u AS s2"
    )


def test_a_nested_right_part_is_wrapped_since_compound_selects_group_to_the_left() -> None:
    outputs = tuple(typed("", type_) for type_ in BOTH)
    inner = Combined("UNION ALL", ONE, OTHER, outputs)
    assert " EXCEPT SELECT * FROM (SELECT " in render(Combined("EXCEPT", ONE, inner, outputs).query())
    assert not render(Combined("EXCEPT", inner, ONE, outputs).query()).startswith("SELECT * FROM (")


def test_a_part_with_an_order_is_wrapped() -> None:
    ordered = Relation(ONE, order=" ORDER BY 1", limit=" LIMIT 1")
    assert render(ordered.query()).endswith(" FROM t AS s1 ORDER BY 1 LIMIT 1")
    assert render(ordered.part(None)) == f"SELECT * FROM ({render(ordered.query())})"
    assert Relation(ONE).part(None) == ONE.part(None)


def test_a_rowid_comes_after_the_columns() -> None:
    assert render(ONE.with_rowid("s1").query()).startswith(
        "SELECT s1.k AS c1, s1.c AS c2, s1.rowid AS c3 FROM"
    )


def test_a_description_has_names_types_and_not_null() -> None:
    assert Relation(ONE).described() == (Column("k", INTEGER, False), Column("c", char(3), True))


def test_values_of_unknown_types_are_not_shown() -> None:
    assert is_shown(char(3))
    assert is_shown(BYTE)
    assert not is_shown(SqlType(TypeCode.ROWREF))


def test_byte_and_text_values_of_a_cursor_are_kept() -> None:
    number, large = typed("n", INTEGER), typed("b", BYTE)
    block = Block(("n", "b"), (number, large), " FROM t")
    assert render(keeping(Relation(block, limit=" LIMIT 1"), 3).query()) == (
        "SELECT n AS c1, ifx_keep(b, ?3) AS c2 FROM t LIMIT 1"
    )
    both = Relation(Combined("UNION ALL", block, block, (number, large)), order=" ORDER BY 1")
    kept = keeping(both, 1)
    assert kept.names == ("n", "b")
    assert not kept.is_one_row
    assert render(kept.query()) == (
        "SELECT c1 AS c1, ifx_keep(c2, ?1) AS c2 FROM"
        " (SELECT n AS c1, b AS c2 FROM t UNION ALL SELECT n AS c1, b AS c2 FROM t) ORDER BY 1"
    )
