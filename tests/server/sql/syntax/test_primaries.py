"""What is a value by itself."""

from __future__ import annotations

from decimal import Decimal

import pytest

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from tests.server.sql.shapes import error_of, select_of, shape, statement_shape, value_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "c[1,3]",
            "Subscript(c, first=1, 3)",
        ),
        (
            "t.c[2]",
            "Subscript(t.c, first=2)",
        ),
        (
            "'o.k'.t.a",
            "o.k.t.a",
        ),
        (
            "db:o.t.a",
            "db:o.t.a",
        ),
        (
            "db@srv:t.a",
            "db@srv:t.a",
        ),
        (
            "f()",
            "Call(f)",
        ),
        (
            "db:o.f(1)",
            "Call(db:o.f, [1])",
        ),
        (
            "s.nextval",
            "SequenceValue(s, nextval)",
        ),
        (
            "o.s.currval",
            "SequenceValue(o.s, currval)",
        ),
        (
            "today",
            "SessionConstant(today)",
        ),
        (
            "today.x",
            "today.x",
        ),
        (
            "today(1)",
            "Call(today, [1])",
        ),
        (
            "user",
            "SessionConstant(user)",
        ),
        (
            "current",
            "Current(YEAR TO FRACTION(3))",
        ),
        (
            "current year to second",
            "Current(YEAR TO SECOND)",
        ),
        (
            "current hour to fraction(2)",
            "Current(HOUR TO FRACTION(2))",
        ),
        (
            "sysdate",
            "Current(YEAR TO FRACTION(5))",
        ),
        (
            "interval(3) day to day",
            "IntervalLiteral(3, DAY TO DAY)",
        ),
        (
            "interval(3)",
            "Call(interval, [3])",
        ),
        (
            "interval",
            "interval",
        ),
        (
            "date('1')",
            "Call(date, ['1'])",
        ),
        (
            "case",
            "case",
        ),
        (
            "case -a when +1 then 2 end",
            "Case(Unary(-, a), [When(Unary(+, 1), 2)])",
        ),
        ("case - 1", "Binary(-, case, 1)"),
        (
            "case when a = 1 then 2 end",
            "Case([When(Comparison(=, a, 1), 2)])",
        ),
        (
            "case (a) when 1 then 2 else 3 end",
            "Case(a, [When(1, 2)], 3)",
        ),
        (
            "case ? when 1 then 2 end",
            "Case(?0, [When(1, 2)])",
        ),
        (
            "count(*)",
            "Aggregate(count)",
        ),
        (
            "count",
            "count",
        ),
        (
            "count(distinct a)",
            "Aggregate(count, a, is_distinct)",
        ),
        (
            "count(unique)",
            "Aggregate(count, unique)",
        ),
        (
            "sum(all a)",
            "Aggregate(sum, a)",
        ),
        (
            "units",
            "units",
        ),
        (
            "trim(a)",
            "Trim(both, a)",
        ),
        (
            "trim(leading from a)",
            "Trim(leading, a)",
        ),
        (
            "trim(trailing 'x' from a)",
            "Trim(trailing, 'x', a)",
        ),
        (
            "trim('x' from a)",
            "Trim(both, 'x', a)",
        ),
        (
            "trim(both)",
            "Trim(both, both)",
        ),
        (
            "substring(a from 2 for 3)",
            "Call(substring, [a, 2, 3])",
        ),
        (
            "cast(a as decimal(8,2))",
            "Cast(a, DECIMAL(8,2))",
        ),
        (
            "extend(a, year to day)",
            "Extend(a, YEAR TO DAY)",
        ),
        (
            "extend(a)",
            "Extend(a)",
        ),
        (
            "rank() over (order by a)",
            "Window(Call(rank), order_by=[OrderItem(a)])",
        ),
        (
            "sum(a) over ()",
            "Window(Aggregate(sum, a))",
        ),
        (
            "first",
            "first",
        ),
        (
            "skip",
            "skip",
        ),
        (
            "set",
            "set",
        ),
        (
            "(select 1 from t)",
            "Subquery((Select([1], [t])))",
        ),
        (
            "1.5e3",
            "1.5e3",
        ),
        (
            ".5",
            ".5",
        ),
        (
            "decode(a, null, 'n', 'x')",
            "Call(decode, [a, NULL, 'n', 'x'])",
        ),
        (
            "null",
            "NULL",
        ),
        (
            "case when a then b when c then d else e end",
            "Case([When(a, b), When(c, d)], e)",
        ),
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
    assert value_shape("SYSDATE") == "Current(YEAR TO FRACTION(5))"


# --- Windows -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "select a from t order by 1 desc, b asc nulls last, c + 1",
            "Query(Select([a], [t]), order_by=[OrderItem(1, is_descending), OrderItem(b, nulls_last), "
            "OrderItem(Binary(+, c, 1))])",
        ),
        (
            "select sum(a) over (partition by b order by c rows between 2 preceding and current row) from t",
            "(Select([Window(Aggregate(sum, a), partition_by=[b], order_by=[OrderItem(c)], Frame(rows, "
            "FrameBound(preceding, 2), FrameBound(current)))], [t]))",
        ),
        (
            "select lag(a, 1, 0) over (order by b desc) from t",
            "(Select([Window(Call(lag, [a, 1, 0]), order_by=[OrderItem(b, is_descending)])], [t]))",
        ),
        (
            "select sum(a) over (order by b range unbounded preceding) from t",
            "(Select([Window(Aggregate(sum, a), order_by=[OrderItem(b)], Frame(range, "
            "FrameBound(preceding), FrameBound(current)))], [t]))",
        ),
        (
            "select rank() over (order by b rows between current row and unbounded following) from t",
            "(Select([Window(Call(rank), order_by=[OrderItem(b)], Frame(rows, FrameBound(current), "
            "FrameBound(following)))], [t]))",
        ),
    ],
)
def test_windows(text: str, expected: str) -> None:
    assert statement_shape(text) == expected


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("select lag(a) ^ignore nulls over (order by b) from t", (-999, "IGNORE NULLS")),
    ],
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
