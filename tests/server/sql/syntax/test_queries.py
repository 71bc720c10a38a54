"""SELECT from WITH to INTO TEMP."""

from __future__ import annotations

import pytest

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from tests.server.sql.shapes import error_of, select_of, statement_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select a from t", "(Select([a], [t]))"),
        ("select skip 1 first 2 a from t", "(Select([a], [t], skip=1, first=2))"),
        ("select skip ? limit ? a from t", "(Select([a], [t], skip=?0, first=?1))"),
        ("select limit 5 a from t", "(Select([a], [t], first=5))"),
        ("select first from t", "(Select([first], [t]))"),
        ("select first, skip from t", "(Select([first, skip], [t]))"),
        ("select distinct a from t", "(Select([a], [t], is_distinct))"),
        ("select unique a from t", "(Select([a], [t], is_distinct))"),
        ("select unique from t", "(Select([unique], [t]))"),
        ("select all a, b from t", "(Select([a, b], [t]))"),
        ("select distinct, a from t", "(Select([distinct, a], [t]))"),
        ("select distinct (a) from t", "(Select([a], [t], is_distinct))"),
        ("select distinct * from t", "(Select([*], [t], is_distinct))"),
        ("select *, t.*, o.t.*, db:t.*, db:o.t.*, db@s:o.t.* from t",
         "(Select([*, t.*, o.t.*, db:t.*, db:o.t.*, db@s:o.t.*], [t]))"),
        ("select a from t limit 5", "Query(Select([a], [t]), limit=5)"),
        ("select a from t skip 2 limit 5", "Query(Select([a], [t]), skip=2, limit=5)"),
        ("select a from t where limit = 5", "(Select([a], [t], where=Comparison(=, limit, 5)))"),
        ("select a from t union select b from u", "(SetOperation(union, Select([a], [t]), Select([b], [u])))"),
        ("select a from t union all select b from u intersect select c from v minus select d from w "
         "except select e from x",
         "(SetOperation(minus, SetOperation(minus, SetOperation(intersect, SetOperation(union, is_all, "
         "Select([a], [t]), Select([b], [u])), Select([c], [v])), Select([d], [w])), Select([e], "
         "[x])))"),
        ("(select a from t) union (select b from u) order by 1",
         "Query(SetOperation(union, (Select([a], [t])), (Select([b], [u]))), order_by=[OrderItem(1)])"),
        ("select a from t union (select b from u order by 1)",
         "(SetOperation(union, Select([a], [t]), Query(Select([b], [u]), order_by=[OrderItem(1)])))"),
        ("(select a from t)", "(Select([a], [t]))"),
        ("((select a from t))", "(Select([a], [t]))"),
        ("(select a from t order by 1) limit 3", "Query(Query(Select([a], [t]), order_by=[OrderItem(1)]), limit=3)"),
        ("select a from t group by a, b having count(*) > 1",
         "(Select([a], [t], group_by=[a, b], having=Comparison(>, Aggregate(count), 1)))"),
        ("select a from t having count(*) > 1", "(Select([a], [t], having=Comparison(>, Aggregate(count), 1)))"),
        ("select a from t group by 1", "(Select([a], [t], group_by=[1]))"),
        ("with c as (select a from t) select a from c",
         "Query(Select([a], [c]), [CommonTable(c, (Select([a], [t])))])"),
        ("with c (x, y) as (select a, b from t), d as (select 1 from c) select * from c, d",
         "Query(Select([*], [c, d]), [CommonTable(c, [x, y], (Select([a, b], [t]))), CommonTable(d, "
         "(Select([1], [c])))])"),
        ("with recursive c(n) as (select 1 from t union all select n + 1 from c where n < 5) select n from c",
         "Query(Select([n], [c]), [CommonTable(c, [n], (SetOperation(union, is_all, Select([1], [t]), "
         "Select([Binary(+, n, 1)], [c], where=Comparison(<, n, 5)))))], is_recursive)"),
        ("select a from t for update", "Query(Select([a], [t]), ForUpdate())"),
        ("select a from t for update of a, b", "Query(Select([a], [t]), ForUpdate([a, b]))"),
        ("select a from t for read only", "Query(Select([a], [t]), for_read_only)"),
        ("select a from t into temp x", "Query(Select([a], [t]), IntoTemp(x))"),
        ("select a from t order by a into temp x with no log",
         "Query(Select([a], [t]), order_by=[OrderItem(a)], IntoTemp(x, no_log))"),
        ("select a from t order by a into x",
         "CreateTableAs(x, Query(Select([a], [t]), order_by=[OrderItem(a)]), is_select)"),
        ("select a from t into raw 'ann'.x in dbs lock mode row extent size 32 next size 8",
         "CreateTableAs(ann.x, (Select([a], [t])), row, 32, 8, is_select)"),
        ("select a from t into standard temp", "CreateTableAs(temp, (Select([a], [t])), is_select)"),
        ("select a from t into raw", "CreateTableAs(raw, (Select([a], [t])), is_select)"),
        ("select a from t;", "(Select([a], [t]))"),
        ("select a, (select max(b) from u where u.x = t.x) m from t",
         "(Select([a, Subquery((Select([Aggregate(max, b)], [u], where=Comparison(=, u.x, t.x)))) AS m], [t]))"),
        ("select a from t where (select count(*) from u) > 3",
         "(Select([a], [t], where=Comparison(>, Subquery((Select([Aggregate(count)], [u]))), 3)))"),
        ("select ? from t where a = ? and b in (?, ?)",
         "(Select([?0], [t], where=And([Comparison(=, a, ?1), InList(b, [?2, ?3])])))"),
        ("select limit ? a from t where b = ? union select c from u where d = ? order by 1 skip ? limit ?",
         "Query(SetOperation(union, Select([a], [t], where=Comparison(=, b, ?1), first=?0), "
         "Select([c], [u], where=Comparison(=, d, ?2))), order_by=[OrderItem(1)], skip=?3, limit=?4)"),
        ("select set, list, date, user.x, units, year from date",
         "(Select([set, list, date, user.x, units, year], [date]))"),
        ("select case from case case", "(Select([case], [case AS case]))"),
        ("select year(d) year, month from t year", "(Select([Call(year, [d]) AS year, month], [t AS year]))"),
        ("select interval(3 04:05:06) day to second, datetime(2026-05-04 12:34) year to minute from t",
         "(Select([IntervalLiteral(3 04:05:06, DAY TO SECOND), DatetimeLiteral(2026-05-04 12:34, YEAR "
         "TO MINUTE)], [t]))"),
        ("select interval(-5-3) year to month, interval(1) day(3) to day from t",
         "(Select([IntervalLiteral(-5-3, YEAR TO MONTH), IntervalLiteral(1, DAY(3) TO DAY)], [t]))"),
        ("select datetime(12:34:56.5) hour to fraction(1) from t",
         "(Select([DatetimeLiteral(12:34:56.5, HOUR TO FRACTION(1))], [t]))"),
        ("with recursive as (select 1 from t) select 1 from recursive",
         "Query(Select([1], [recursive]), [CommonTable(recursive, (Select([1], [t])))])"),
        ("select a from t start with a = 1 connect by nocycle prior a = b and c = prior (d + 1)",
         "(Select([a], [t], hierarchy=Hierarchy(Comparison(=, a, 1), "
         "And([Comparison(=, Ancestor(prior, a), b), Comparison(=, c, Ancestor(prior, Binary(+, d, 1)))]), "
         "is_nocycle)))"),
        ("select prior, connect_by_root, connect_by_root a b from t connect by nocycle = prior order siblings by a",
         "Query(Select([prior, connect_by_root, Ancestor(root, a) AS b], [t], "
         "hierarchy=Hierarchy(Comparison(=, nocycle, prior))), order_by=[OrderItem(a)], orders_siblings)"),
        ("select from from from", "(Select([from], [from]))"),
    ],
)  # fmt: skip
def test_queries(text: str, expected: str) -> None:
    assert statement_shape(text) == expected


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("select first 5 ^from t", (-201, "")),
        ("select first ^2.5 a from t", (-201, "")),
        ("select a from t intersect ^all select b from u", (-201, "")),
        ("select a from t group by ^grouping sets (a)", (-999, "GROUPING SETS")),
        ("select a from t start with a = 1^", (-201, "")),
        ("select a from t connect by a = 1 ^start with a = 1", (-201, "")),
        ("select prior a ^b from t", (-201, "")),
        ("select a from t for ^fetch only", (-201, "")),
        ("select a from t into ^external x using (datafiles ('disk:/x'))", (-999, "INTO EXTERNAL")),
        ("select a from t for update ^into x", (-201, "")),
        ("select a from (select b from u ^into x) v", (-201, "")),
        ("select a from t into temp x ^lock mode row", (-201, "")),
        ("select a ^into x from t", (-201, "")),
        ("select 1^", (-201, "")),
        ("select^", (-201, "")),
        ("select ^from t", (-201, "")),
        ("select a from^", (-201, "")),
        ("select a from t where^", (-201, "")),
        ("select a from t where a in (^select first 1 b from u)", (-944, "")),
        ("select a from t where a in (^select 1 from u union select first 1 b from u)", (-944, "")),
        ("select (^select b from u limit 1) from t", (-944, "")),
        ("select a from t order ^siblings by a", (-201, "")),
        ("select a from t connect by a = 1 union select a from t order ^siblings by a", (-201, "")),
        ("select a from t; ^select b from u", (-201, "")),
        ("select a from t,^", (-201, "")),
        ("select a b ^c from t", (-201, "")),
        ("select a from t where current ^of c", (-201, "")),
        ("select datetime(^'x') year to day from t", (-201, "")),
        ("select interval(1) ^day to month from t", (-1268, "")),
        ("select interval(1) ^minute to hour from t", (-1268, "")),
        ("select a, ^from t", (-201, "")),
        ("select a from t where b = ^'x", (-282, "")),
        ("select a from t ^{ open", (-283, "")),
        ("select a from t ^/* open", (-943, "")),
        ("select a from t where b = ^#", (-202, "")),
        ("select {+ first_rows} a^ --+ hint", (-201, "")),
    ],
)
def test_what_is_not_a_query_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error


def test_a_select_item_begins_where_its_expression_does() -> None:
    select = select_of(parse("SELECT  a + 1 AS x,\n b.* FROM t  u"))
    assert [item.offset for item in select.items] == [9, 22]
    assert select.items[0].label == nodes.Name(18, "x")
    (table,) = select.from_items
    assert isinstance(table, nodes.TableRef)
    assert (table.offset, table.table.offset, table.alias) == (31, 31, nodes.Name(34, "u"))


def test_hints_are_comments() -> None:
    assert statement_shape("SELECT {+ FIRST_ROWS} /*+ x */ a --+ y\n FROM t") == "(Select([a], [t]))"


def test_words_are_read_in_any_case_and_names_in_lower_case() -> None:
    assert statement_shape("SeLeCt Ab FrOm Tt WhErE cD = 'Ef'") == (
        "(Select([ab], [tt], where=Comparison(=, cd, 'Ef')))"
    )
