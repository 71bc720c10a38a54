from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.type_rules import DATE, INTEGER, char, decimal, interval
from aioifx.server.sql.model.type_rules import datetime as datetime_type
from aioifx.server.sql.sqlite.render import render
from aioifx.server.sql.sqlite.tree import NULL
from aioifx.server.sql.translate.arithmetic import aggregated, arithmetic, concatenation
from aioifx.server.sql.translate.typed import UNTYPED_NULL, Typed
from aioifx.sqltypes import Qualifier, SqlType, Unit, Value
from tests.server.sql.trees import typed
from tests.server.sql.workbench import EACH_TYPE, Workbench

BENCH = Workbench(*EACH_TYPE)

DAYS = interval(Qualifier(Unit.DAY, Unit.SECOND, 2))
TO_SECOND = datetime_type(Unit.YEAR, Unit.SECOND)


@pytest.mark.parametrize(
    ("left", "operator", "right", "result", "function"),
    [
        (INTEGER, "+", INTEGER, INTEGER, "ifx_add"),
        (INTEGER, "/", INTEGER, decimal(), "ifx_div"),
        (DATE, "+", INTEGER, DATE, "ifx_date_add"),
        (DATE, "-", INTEGER, DATE, "ifx_date_sub"),
        (TO_SECOND, "-", TO_SECOND, DAYS, "ifx_datetime_diff"),
        (TO_SECOND, "+", DAYS, TO_SECOND, "ifx_datetime_add"),
        (DAYS, "-", DAYS, DAYS, "ifx_interval_sub"),
        (DAYS, "*", INTEGER, DAYS, "ifx_interval_mul"),
    ],
)
def test_each_pair_of_types_has_its_function(
    left: SqlType, operator: str, right: SqlType, result: SqlType, function: str
) -> None:
    node = arithmetic(operator, typed("a", left), typed("b", right), result)
    assert render(node).startswith(f"{function}(a, ")


def test_days_between_dates_are_computed_by_sqlite() -> None:
    assert render(arithmetic("-", typed("a", DATE), typed("b", DATE), INTEGER)) == "(a - b)"


def test_null_beside_a_text_has_the_texts_type() -> None:
    assert concatenation(UNTYPED_NULL, typed("a", char(3))) == Typed(NULL, char(3))


@pytest.mark.parametrize("name", ["sum", "avg", "stdev"])
def test_only_numbers_and_intervals_are_added_up(name: str) -> None:
    with pytest.raises(SqlError) as caught:
        aggregated(name, typed("a", DATE), "", 9)
    assert (caught.value.sqlcode, caught.value.offset) == (-1260, 9)


@pytest.mark.parametrize(
    ("expression", "type_", "value"),
    [
        ("COUNT(*)", "DECIMAL(15,0)", Decimal(2)),
        ("COUNT(d)", "DECIMAL(15,0)", Decimal(1)),
        ("COUNT(DISTINCT k)", "DECIMAL(15,0)", Decimal(2)),
        ("SUM(k)", "DECIMAL(32,0)", Decimal(3)),
        ("SUM(d)", "DECIMAL(32)", Decimal("4.5")),
        ("SUM(f)", "FLOAT", 0.5),
        ("AVG(k)", "DECIMAL(32)", Decimal("1.5")),
        ("MIN(c)", "CHAR(5)", "ab   "),
        ("MAX(day)", "DATE", date(2026, 5, 4)),
        ("MAX(d)", "DECIMAL(8,2)", Decimal("4.50")),
        ("SUM(iv)", "INTERVAL DAY(2) TO SECOND", timedelta(1, 7384)),
        ("SUM(k) + 1", "DECIMAL(32)", Decimal(4)),
        ("SUM(DISTINCT k)", "DECIMAL(32,0)", Decimal(3)),
    ],
)
def test_an_aggregate_has_informixs_value_and_type(expression: str, type_: str, value: Value) -> None:
    assert BENCH.rows(f"SELECT {expression} FROM t") == [(value,)]
    assert BENCH.described(f"SELECT {expression} FROM t")[0][1] == type_


def test_aggregates_over_no_rows_are_null_but_count_is_zero() -> None:
    (row,) = BENCH.rows("SELECT COUNT(*), COUNT(k), SUM(k), AVG(d), MIN(c), MAX(day) FROM t WHERE k = 0")
    assert row == (Decimal(0), Decimal(0), None, None, None, None)


# -- chains ------------------------------------------------------------------------------------------------------------

CHAIN = Workbench(
    "CREATE TABLE t (a INT, d DECIMAL(8,2), f FLOAT, s SMALLINT, n INT)",
    "INSERT INTO t (a, d, f, s) VALUES (3, 1.25, 0.5, 2)",
)
STEPS = st.tuples(st.sampled_from("+-*/"), st.sampled_from(["a", "d", "f", "s", "n", "2", "1.5", "'4'"]))


@given(st.lists(STEPS, min_size=9, max_size=25))
def test_a_chain_has_the_value_of_nested_calls(steps: list[tuple[str, str]]) -> None:
    query = f"SELECT a{''.join(f' {operator} {operand}' for operator, operand in steps)} FROM t"

    def outcome() -> object:
        try:
            return CHAIN.rows(query), CHAIN.described(query)
        except SqlError as error:
            return error.sqlcode

    chained = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("aioifx.server.sql.translate.arithmetic._SHORT_CHAIN", 1000)
        assert outcome() == chained


def test_a_chain_may_be_long() -> None:
    assert CHAIN.rows(f"SELECT {'+'.join(['a'] * 150)}, {'-'.join(['d'] * 150)} FROM t") == [
        (450, Decimal("-185.00"))
    ]
    assert CHAIN.error(f"SELECT {'+'.join(['a'] * 20)} + 2147483647 FROM t")[0] == -1215
    assert CHAIN.error(f"SELECT {'+'.join(['a'] * 20)} / 0 FROM t")[0] == -1202
