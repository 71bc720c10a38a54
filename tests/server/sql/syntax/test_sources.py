"""FROM: tables, joins, aliases."""

from __future__ import annotations

import pytest

from tests.server.sql.shapes import error_of, statement_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select a x, b as y, 'z' from t u, v as w", "(Select([a AS x, b AS y, 'z'], [t AS u, v AS w]))"),
        ("select a from t limit", "(Select([a], [t AS limit]))"),
        ("select a from t left", "(Select([a], [t AS left]))"),
        ("select a from t left join u on t.a = u.a", "(Select([a], [Join(left, t, u, Comparison(=, t.a, u.a))]))"),
        ("select a from t l right outer join u r on l.a = r.a full join v on 1 = 1",
         "(Select([a], [Join(full, Join(right, t AS l, u AS r, Comparison(=, l.a, r.a)), v, "
         "Comparison(=, 1, 1))]))"),
        ("select a from t cross join u", "(Select([a], [Join(cross, t, u)]))"),
        ("select a from t join u join v on u.a = v.a on t.a = u.a",
         "(Select([a], [Join(inner, t, Join(inner, u, v, Comparison(=, u.a, v.a)), Comparison(=, t.a, u.a))]))"),
        ("select a from (t join u on t.a = u.a) join v on v.a = t.a",
         "(Select([a], [Join(inner, Join(inner, t, u, Comparison(=, t.a, u.a)), v, Comparison(=, v.a, t.a))]))"),
        ("select a from a, outer b", "(Select([a], [a, OuterTables([b])]))"),
        ("select a from a, outer (b, c)", "(Select([a], [a, OuterTables([b, c])]))"),
        ("select a from a, outer \"i\".b, outer('i'.c cc)",
         "(Select([a], [a, OuterTables([i.b]), OuterTables([i.c AS cc])]))"),
        ("select a from a, outer (b bb, outer c)", "(Select([a], [a, OuterTables([b AS bb, OuterTables([c])])]))"),
        ("select a from outer", "(Select([a], [outer]))"),
        ("select a from outer where a = 1", "(Select([a], [outer], where=Comparison(=, a, 1)))"),
        ("select a from outer, b", "(Select([a], [outer, b]))"),
        ("select x.a from (select a from t) x", "(Select([x.a], [DerivedTable((Select([a], [t])), x)]))"),
        ("select a from (select first 3 a from t order by 1)",
         "(Select([a], [DerivedTable(Query(Select([a], [t], first=3), order_by=[OrderItem(1)]))]))"),
        ("select x.p from (select a from t) as x (p)", "(Select([x.p], [DerivedTable((Select([a], [t])), x, [p])]))"),
        ("select x.p from (select a from t) x (p, q)",
         "(Select([x.p], [DerivedTable((Select([a], [t])), x, [p, q])]))"),
        ("select a from table(multiset(select a from t)) x (a)",
         "(Select([a], [DerivedTable((Select([a], [t])), x, [a])]))"),
        ("select a from table(set{1, 2}) as t(a)", "(Select([a], [CollectionTable(set, [1, 2], t, [a])]))"),
        ("select a from table(procedure f(1)) as t(a)", "(Select([a], [RoutineTable(Call(f, [1]), t, [a])]))"),
        ("select 1 from table(set{1})", "(Select([1], [CollectionTable(set, [1])]))"),
        ("select a from table", "(Select([a], [table]))"),
        ("select a from t start", "(Select([a], [t AS start]))"),
        ("select a from t for", "(Select([a], [t AS for]))"),
        ("select a from t where a in (select b from (select first 1 b from u))",
         "(Select([a], [t], where=InQuery(a, (Select([b], [DerivedTable((Select([b], [u], first=1)))])))))"),
        ("select a from sysmaster:sysdual", "(Select([a], [sysmaster:sysdual]))"),
        ("select a from db@server:owner.t", "(Select([a], [db@server:owner.t]))"),
        ("select a from lateral (select b from u) x",
         "(Select([a], [DerivedTable((Select([b], [u])), x, is_lateral)]))"),
        ("select a from t left join lateral (select b from u) as x (c) on a = c",
         "(Select([a], [Join(left, t, DerivedTable((Select([b], [u])), x, [c], is_lateral), Comparison(=, a, c))]))"),
        ("select a from t, lateral, lateral l", "(Select([a], [t, lateral, lateral AS l]))"),
        ("select a from 'informix'.systables", "(Select([a], [informix.systables]))"),
    ],
)  # fmt: skip
def test_sources(text: str, expected: str) -> None:
    assert statement_shape(text) == expected


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("select a from t inner join u^", (-201, "")),
        ("select a from t ^natural join u", (-201, "")),
        ("select a from t join u ^using (a)", (-201, "")),
        ("select a from table(function f^) x", (-201, "")),
        ("select a from table(function f(1)^, 2) x", (-201, "")),
        ("select a from t, lateral (^t) x", (-201, "")),
        ("select a from ^only(t)", (-999, "ONLY")),
        ("select a from t u ^v", (-201, "")),
        ("select a from f^(1)", (-201, "")),
    ],
)
def test_anything_but_a_source_is_rejected(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error


@pytest.mark.parametrize(
    "word", ["first", "order", "group", "left", "cross", "limit", "skip", "with", "union", "outer"]
)
def test_a_clauses_word_is_an_alias_in_other_company(word: str) -> None:
    assert statement_shape(f"SELECT a FROM t {word} WHERE b = 1") == (
        f"(Select([a], [t AS {word}], where=Comparison(=, b, 1)))"
    )
    assert statement_shape(f"SELECT a FROM t AS {word}, u") == f"(Select([a], [t AS {word}, u]))"
