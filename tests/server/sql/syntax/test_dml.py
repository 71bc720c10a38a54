"""INSERT, UPDATE, DELETE, MERGE, TRUNCATE."""

from __future__ import annotations

import pytest

from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from tests.server.sql.shapes import error_of, statement_shape


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("insert into t values (1, 'a', ?, null)", "Insert(t, [1, 'a', ?0, NULL])"),
        ("insert into t (a, b) values (1, 2)", "Insert(t, [a, b], [1, 2])"),
        ("insert into db:o.t (a) select b from u", "Insert(db:o.t, [a], (Select([b], [u])))"),
        ("insert into t select * from (select b from u union select c from v)",
         "Insert(t, (Select([*], [DerivedTable((SetOperation(union, Select([b], [u]), Select([c], [v]))))])))"),
        ("with c as (select 1 from u) insert into t (a) select * from c",
         "Insert(t, [a], Query(Select([*], [c]), [CommonTable(c, (Select([1], [u])))]))"),
        ("insert into t (select b from u)", "Insert(t, (Select([b], [u])))"),
        ("insert into t with c as (select 1 from u) select * from c",
         "Insert(t, Query(Select([*], [c]), [CommonTable(c, (Select([1], [u])))]))"),
        ("update t set a = 1", "Update(t, [Assignment([a], [1])])"),
        ("update t x set a = b + 1, c = ? where x.d = ?",
         "Update(t AS x, [Assignment([a], [Binary(+, b, 1)]), Assignment([c], [?0])], "
         "where=Comparison(=, x.d, ?1))"),
        ("update t set (a, b) = (1, 2) where c = 1",
         "Update(t, [Assignment([a, b], [1, 2])], where=Comparison(=, c, 1))"),
        ("update t set (a, b) = ((select x, y from u)), c = (select max(z) from v)",
         "Update(t, [Assignment([a, b], [Subquery((Select([x, y], [u])))]), Assignment([c], "
         "[Subquery((Select([Aggregate(max, z)], [v])))])])"),
        ("update t set * = (1, 2)", "Update(t, [Assignment([1, 2])])"),
        ("update t set a = null where current of cur", "Update(t, [Assignment([a], [NULL])], where=CurrentOf(cur))"),
        ("update statistics set a = 1", "Update(statistics, [Assignment([a], [1])])"),
        ("delete from t", "Delete(t)"),
        ("delete t where a = 1", "Delete(t, where=Comparison(=, a, 1))"),
        ("delete from t x where x.a = 1", "Delete(t AS x, where=Comparison(=, x.a, 1))"),
        ("delete from t where current of c1", "Delete(t, where=CurrentOf(c1))"),
        ("delete from t where current = 1", "Delete(t, where=Comparison(=, Current(YEAR TO FRACTION(3)), 1))"),
        ("merge into t using s on (t.a = s.a) when matched then update set t.b = s.b",
         "Merge(t, s, Comparison(=, t.a, s.a), [Assignment([b], [s.b])])"),
        ("merge into t x using s y on x.a = y.a when matched then update set b = y.b, c = 1 when not "
         "matched then insert (a, b) values (y.a, y.b)",
         "Merge(t AS x, s AS y, Comparison(=, x.a, y.a), [Assignment([b], [y.b]), Assignment([c], "
         "[1])], MergeInsert([a, b], [y.a, y.b]))"),
        ("merge into t using (select a from u) s on t.a = s.a when not matched then insert values "
         "(s.a) when matched then delete",
         "Merge(t, DerivedTable((Select([a], [u])), s), Comparison(=, t.a, s.a), has_delete, MergeInsert([s.a]))"),
        ("truncate t", "Truncate(t)"),
        ("truncate table o.t drop storage keep statistics", "Truncate(o.t)"),
        ('truncate table "o".t', "Truncate(o.t)"),
        ("truncate 'o'.t", "Truncate(o.t)"),
        ("truncate table t reuse storage", "Truncate(t)"),
        ("truncate table", "Truncate(table)"),
        ("merge into t using s on (t.a = s.a) when matched then update set t.b = s.b, c = 1 when not "
         "matched then insert (t.a, b) values (1, 2)",
         "Merge(t, s, Comparison(=, t.a, s.a), [Assignment([b], [s.b]), Assignment([c], [1])], "
         "MergeInsert([a, b], [1, 2]))"),
        ("merge into t x using s on (x.a = s.a) when matched then update set x.b = s.b",
         "Merge(t AS x, s, Comparison(=, x.a, s.a), [Assignment([b], [s.b])])"),
        ("insert into t (a) execute function f(1, b = 2)",
         "Insert(t, [a], (Select([*], [RoutineTable(Call(f, [1], [NamedArgument(b, 2)]))])))"),
        ("merge into t using s on (t.a = s.a) when matched then update set t = 1",
         "Merge(t, s, Comparison(=, t.a, s.a), [Assignment([t], [1])])"),
    ],
)  # fmt: skip
def test_changes(text: str, expected: str) -> None:
    assert statement_shape(text) == expected


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("insert into t (a) values (1)^, (2)", (-201, "")),
        ("insert into t values (^)", (-201, "")),
        ("insert into t execute procedure p^", (-201, "")),
        ("insert into t ^at 1 values (1)", (-999, "INSERT AT")),
        ("insert ^t values (1)", (-201, "")),
        ("insert into t ^default values", (-201, "")),
        ("insert into t select a from u ^union all select b from v", (-201, "")),
        ("with c as (select 1 from u) ^update t set a = 1", (-999, "WITH UPDATE")),
        ("with c as (select 1 from u) ^insert into t values (1)", (-201, "")),
        ("insert into t (a, b) values (1^", (-201, "")),
        ("update t set a^[1,2] = 'x'", (-999, "SUBSCRIPT")),
        ("update t set a = 1 ^from u", (-201, "")),
        ("update t ^where a = 1", (-201, "")),
        ("update ^only(t) set a = 1", (-999, "ONLY")),
        (
            "merge into t using s on t.a = s.a when not matched then insert values (1) "
            "^when not matched then insert values (1)",
            (-201, ""),
        ),
        ("delete from t^, u where a = 1", (-201, "")),
        ("merge into t using s on t.a = s.a^", (-201, "")),
        ("merge into t using s on t.a = s.a when matched then delete when ^matched then delete", (-201, "")),
        ("truncate table t drop^", (-201, "")),
        ("merge into t x using s on (x.a = s.a) when matched then update set t^.b = s.b", (-201, "")),
    ],
)
def test_what_is_not_a_change_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error


def test_insert_has_either_values_or_a_query() -> None:
    by_values = parse("INSERT INTO t VALUES (1)")
    by_query = parse("INSERT INTO t SELECT a FROM u")
    assert isinstance(by_values, nodes.Insert)
    assert isinstance(by_query, nodes.Insert)
    assert (by_values.values is None, by_values.query is None) == (False, True)
    assert (by_query.values is None, by_query.query is None) == (True, False)


def test_set_star_has_no_columns() -> None:
    statement = parse("UPDATE t SET * = (1, 2)")
    assert isinstance(statement, nodes.Update)
    assert statement.assignments[0].columns is None
