"""What is a value by itself."""

from __future__ import annotations

from decimal import Decimal

import pytest

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from tests.server.sql.shapes import error_of, select_of, shape, value_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c[1,3]", "Subscript(c, first=1, 3)"),
        ("t.c[2]", "Subscript(t.c, first=2)"),
        ("'o.k'.t.a", "o.k.t.a"),
        ("db:o.t.a", "db:o.t.a"),
        ("db@srv:t.a", "db@srv:t.a"),
        ("f()", "Call(f)"),
        ("db:o.f(1)", "Call(db:o.f, [1])"),
        ("s.nextval", "SequenceValue(s, nextval)"),
        ("o.s.currval", "SequenceValue(o.s, currval)"),
        ("today", "SessionConstant(today)"),
        ("today.x", "today.x"),
        ("today(1)", "Call(today, [1])"),
        ("user", "SessionConstant(user)"),
        ("current", "Current(YEAR TO FRACTION(3))"),
        ("current year to second", "Current(YEAR TO SECOND)"),
        ("current hour to fraction(2)", "Current(HOUR TO FRACTION(2))"),
        ("sysdate", "Current(YEAR TO FRACTION(5), is_sysdate)"),
        ("interval(3) day to day", "IntervalLiteral(3, DAY TO DAY)"),
        ("interval(3)", "Call(interval, [3])"),
        ("interval", "interval"),
        ("date('1')", "Call(date, ['1'])"),
        ("case", "case"),
        ("case -a when +1 then 2 end", "(case (- a) when 1 then 2)"),
        ("case - 1", "(case - 1)"),
        ("case when a = 1 then 2 end", "Case([When(Comparison(=, a, 1), 2)])"),
        ("case (a) when 1 then 2 else 3 end", "Case(a, [When(1, 2)], 3)"),
        ("case ? when 1 then 2 end", "Case(?0, [When(1, 2)])"),
        ("count(*)", "Aggregate(count)"),
        ("count", "count"),
        ("count(distinct a)", "Aggregate(count, a, is_distinct)"),
        ("count(unique)", "Aggregate(count, unique)"),
        ("sum(all a)", "Aggregate(sum, a)"),
        ("units", "units"),
        ("trim(a)", "Trim(both, a)"),
        ("trim(leading from a)", "Trim(leading, a)"),
        ("trim(trailing 'x' from a)", "Trim(trailing, 'x', a)"),
        ("trim('x' from a)", "Trim(both, 'x', a)"),
        ("trim(both)", "Trim(both, both)"),
        ("substring(a from 2 for 3)", "Call(substring, [a, 2, 3])"),
        ("cast(a as decimal(8,2))", "Cast(a, DECIMAL(8,2))"),
        ("extend(a, year to day)", "Extend(a, YEAR TO DAY)"),
        ("extend(a)", "Extend(a)"),
        ("rank() over (order by a)", "Window(Call(rank), order_by=[OrderItem(a)])"),
        ("sum(a) over ()", "Window(Aggregate(sum, a))"),
        ("first", "first"),
        ("skip", "skip"),
        ("set", "set"),
        ("(select 1 from t)", "Subquery((Select([1], [t])))"),
        ("1.5e3", "1.5e3"),
        (".5", ".5"),
        ("decode(a, null, 'n', 'x')", "Call(decode, [a, NULL, 'n', 'x'])"),
        ("null", "NULL"),
        ("case when a then b when c then d else e end", "Case([When(a, b), When(c, d)], e)"),
    ],
)
def test_words_are_special_only_in_the_right_company(text: str, expected: str) -> None:
    assert value_shape(text) == expected


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("SELECT max(a^, b) FROM t", (-201, "")),
        ("SELECT row(^) FROM t", (-201, "")),
        ("SELECT case a ^else 1 end FROM t", (-201, "")),
        ("SELECT d:a ^FROM t", (-201, "")),
        ("SELECT set{1 ^FROM t", (-201, "")),
        ("SELECT multiset(SELECT item 1 FROM t ^UNION SELECT 2 FROM t) FROM t", (-201, "")),
        ("SELECT exists (select ^1 from t) FROM t", (-201, "")),
        ("SELECT a. FROM t^", (-201, "")),
    ],
)
def test_an_invalid_value_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error


def test_a_number_keeps_its_text_and_its_exact_value() -> None:
    numbers = [
        item.expression for item in select_of(parse("SELECT 007, 1.50, .5, 1., 2e3, 1.5E-3 FROM t")).items
    ]
    assert [(each.text, each.value) for each in numbers if isinstance(each, nodes.Number)] == [
        ("007", 7),
        ("1.50", Decimal("1.50")),
        (".5", Decimal("0.5")),
        ("1.", Decimal(1)),
        ("2e3", Decimal(2000)),
        ("1.5E-3", Decimal("0.0015")),
    ]


def test_an_integer_is_an_int_however_long() -> None:
    (item,) = select_of(parse(f"SELECT {'9' * 200} FROM t")).items
    assert isinstance(item.expression, nodes.Number)
    assert item.expression.value == int("9" * 200)


def test_a_string_keeps_blanks_and_loses_doubled_quotes() -> None:
    (item,) = select_of(parse("SELECT '  it''s \\ ' FROM t")).items
    assert item.expression == nodes.String(8, "  it's \\ ")


def test_double_quotes_make_a_string_or_with_delimident_a_column() -> None:
    assert shape(parse('SELECT "It" FROM t')) == "(Select(['It'], [t]))"
    assert shape(parse('SELECT "It", "S".nextval FROM "T"', delimident=True)) == (
        "(Select([It, SequenceValue(S, nextval)], [T]))"
    )


def test_a_delimited_word_is_never_special() -> None:
    statement = parse('SELECT "today", "case", "count" FROM t', delimident=True)
    assert shape(statement) == "(Select([today, case, count], [t]))"
    assert all(isinstance(item.expression, nodes.Column) for item in select_of(statement).items)


def test_the_text_of_a_literal_is_kept_as_written() -> None:
    (item,) = select_of(parse("SELECT INTERVAL( -5 - 3 ) YEAR TO MONTH FROM t")).items
    assert isinstance(item.expression, nodes.IntervalLiteral)
    assert item.expression.text == "-5 - 3"


def test_sysdate_says_that_it_is_not_current() -> None:
    assert value_shape("SYSDATE") == "Current(YEAR TO FRACTION(5), is_sysdate)"
