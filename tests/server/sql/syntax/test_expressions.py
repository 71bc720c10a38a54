"""Operators, conditions, and how they bind."""

from __future__ import annotations

import pytest

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from tests.server.sql.shapes import condition_shape, error_of, select_of, value_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", "Binary(+, 1, Binary(*, 2, 3))"),
        ("(1 + 2) * 3", "Binary(*, Binary(+, 1, 2), 3)"),
        ("1 - 2 - 3", "Binary(-, Binary(-, 1, 2), 3)"),
        ("'a' || 1 + 2", "Binary(||, 'a', Binary(+, 1, 2))"),
        ("a || b || c", "Binary(||, Binary(||, a, b), c)"),
        ("-a * b", "Binary(*, Unary(-, a), b)"),
        ("-a::INT", "Cast(Unary(-, a), INTEGER)"),
        ("- 5 UNITS DAY", "Unary(-, Units(5, DAY))"),
        ("2 * n UNITS DAY", "Binary(*, 2, Units(n, DAY))"),
        ("(a + 1) UNITS HOUR", "Units(Binary(+, a, 1), HOUR)"),
        ("a::INT UNITS DAY", "Units(Cast(a, INTEGER), DAY)"),
        ("a::CHAR(5)::INT", "Cast(Cast(a, CHAR(5)), INTEGER)"),
        ("+a - -b", "Binary(-, Unary(+, a), Unary(-, b))"),
        ("c[1,3] || 'x'", "Binary(||, Subscript(c, first=1, 3), 'x')"),
        ("NULL::INT", "Cast(NULL, INTEGER)"),
        ("units units day", "Units(units, DAY)"),
        ("?::int", "Cast(?0, INTEGER)"),
        ("(case when a > 1 then 2 end) + 1", "Binary(+, Case([When(Comparison(>, a, 1), 2)]), 1)"),
    ],
)
def test_operators_bind_as_documented(text: str, expected: str) -> None:
    assert value_shape(text) == expected


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("SELECT a ^= b FROM t", (-201, "")),
        ("SELECT (a ^= b) FROM t", (-201, "")),
        ("SELECT a and ^b FROM t", (-201, "")),
    ],
)
def test_a_condition_is_not_a_value(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1", "Comparison(=, a, 1)"),
        ("(a) = 1", "Comparison(=, a, 1)"),
        ("(a = 1)", "Comparison(=, a, 1)"),
        ("a = 1 and b = 2 or c = 3", "Or([And([Comparison(=, a, 1), Comparison(=, b, 2)]), Comparison(=, c, 3)])"),
        ("a = 1 and (b = 2 or c = 3)", "And([Comparison(=, a, 1), Or([Comparison(=, b, 2), Comparison(=, c, 3)])])"),
        ("a = 1 and (b = 2 and c = 3)",
         "And([Comparison(=, a, 1), And([Comparison(=, b, 2), Comparison(=, c, 3)])])"),
        ("not a = 1", "Not(Comparison(=, a, 1))"),
        ("not not a = 1", "Not(Not(Comparison(=, a, 1)))"),
        ("not (a = 1 or b = 2)", "Not(Or([Comparison(=, a, 1), Comparison(=, b, 2)]))"),
        ("a not in (1, 2)", "InList(a, [1, 2], is_negated)"),
        ("a in (select x from y)", "InQuery(a, (Select([x], [y])))"),
        ("a in ((select x from y))", "InList(a, [Subquery((Select([x], [y])))])"),
        ("a between 1 and 2 and b = 1", "And([Between(a, 1, 2), Comparison(=, b, 1)])"),
        ("a not between 1 and 2", "Between(a, 1, 2, is_negated)"),
        ("a like 'x%' escape '!'", "Match(like, a, 'x%', '!')"),
        ("a not matches 'x*'", "Match(matches, a, 'x*', is_negated)"),
        ("a is null", "IsNull(a)"),
        ("a is not null", "IsNull(a, is_negated)"),
        ("a + 1 is null", "IsNull(Binary(+, a, 1))"),
        ("a = any (select 1 from t)", "Quantified(=, a, any, (Select([1], [t])))"),
        ("a <> all (select 1 from t)", "Quantified(<>, a, all, (Select([1], [t])))"),
        ("a = some (select 1 from t)", "Quantified(=, a, any, (Select([1], [t])))"),
        ("a != b", "Comparison(<>, a, b)"),
        ("a == b", "Comparison(=, a, b)"),
        ("a", "a"),
        ("f(a)", "Call(f, [a])"),
        ("((a + 1) * 2) > 3", "Comparison(>, Binary(*, Binary(+, a, 1), 2), 3)"),
        ("((a = 1))", "Comparison(=, a, 1)"),
        ("exists (select 1 from t)", "Exists((Select([1], [t])))"),
        ("not exists (select 1 from t)", "Not(Exists((Select([1], [t]))))"),
        ("not.a = 1", "Comparison(=, not.a, 1)"),
        ("a = (select max(b) from u)", "Comparison(=, a, Subquery((Select([Aggregate(max, b)], [u]))))"),
        ("case when a then b end", "Case([When(a, b)])"),
        ("any = 3", "Comparison(=, any, 3)"),
        ("a = any", "Comparison(=, a, any)"),
    ],
)  # fmt: skip
def test_conditions(text: str, expected: str) -> None:
    assert condition_shape(text) == expected


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("SELECT 1 FROM t WHERE a = b ^= c", (-201, "")),
        ("SELECT 1 FROM t WHERE 1^", (-201, "")),
        ("SELECT 1 FROM t WHERE a or 1^", (-201, "")),
        ("SELECT 1 FROM t WHERE 1 ^or a", (-201, "")),
        ("SELECT 1 FROM t WHERE (a = 1) ^= 't'", (-201, "")),
        ("SELECT 1 FROM t WHERE (a = 1) ^+ 2 > 3", (-201, "")),
        ("SELECT 1 FROM t WHERE a = 1 and^", (-201, "")),
        ("SELECT 1 FROM t WHERE a in (^)", (-201, "")),
        ("SELECT 1 FROM t WHERE a in set{1} ^= 2", (-201, "")),
        ("SELECT 1 FROM t WHERE a like^", (-201, "")),
        ("SELECT 1 FROM t WHERE (a^, b) in (select 1, 2 from t)", (-201, "")),
    ],
)
def test_what_is_not_a_condition_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error


@pytest.mark.parametrize("operator", ["=", "<>", "<", "<=", ">", ">="])
def test_every_comparison(operator: str) -> None:
    assert condition_shape(f"a {operator} 1") == f"Comparison({operator}, a, 1)"


def test_an_operator_knows_its_own_place_and_its_operands() -> None:
    where = select_of(parse("SELECT 1 FROM t WHERE ab + 2 >= c")).where
    assert isinstance(where, nodes.Comparison)
    assert isinstance(where.left, nodes.Binary)
    assert (where.offset, where.operator_offset, where.right.offset) == (23, 30, 33)
    assert (where.left.offset, where.left.operator_offset, where.left.right.offset) == (23, 26, 28)


def test_a_long_chain_of_and_is_one_node() -> None:
    condition = " AND ".join(f"c{index} = {index}" for index in range(2000))
    where = select_of(parse(f"SELECT 1 FROM t WHERE {condition}")).where
    assert isinstance(where, nodes.And)
    assert len(where.operands) == 2000
