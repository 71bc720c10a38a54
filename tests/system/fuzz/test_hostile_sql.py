"""Hostile SQL: whatever a client sends, the server answers with rows or an error of Informix, and goes on.

Nothing may be an internal error (-768) or end the session. Texts are deep, long, wide, or cut and spliced at random.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax.tokens import TokenKind, tokenize
from aioifx.sqltypes import Value
from tests.server.talking import ServerCore, run, server_core

ONE = "FROM sysmaster:sysdual"
N = 5000

_SETUP = (
    "CREATE TABLE t (a SERIAL, p INT, b VARCHAR(20), d DECIMAL(8,2), f FLOAT, k DATE, dt DATETIME YEAR TO SECOND,"
    " s SET(INT NOT NULL), j BSON)",
    "CREATE TABLE u (a INT, c DECIMAL(8,2), e DATE)",
    "INSERT INTO t (a, p, b, d, f, k, dt, s) VALUES (1, 2, 'abc', 1.5, 2.5, TODAY, CURRENT, SET{1,2})",
    "INSERT INTO t (a, p, b, d) VALUES (2, 1, 'x', 3)",
    "INSERT INTO u VALUES (1, 2.5, TODAY)",
    "CREATE FUNCTION f(x INT) RETURNING INT; RETURN x; END FUNCTION",
)


@pytest.fixture(scope="module")
def core() -> Iterator[ServerCore]:
    with server_core() as core:
        yield core


def answer(engine: Engine, text: str, values: tuple[Value, ...] = ()) -> int:
    """The SQLCODE of a statement, or 0; at most 200 rows are read."""
    try:
        statement = engine.prepare(text)
        bound = values[: len(statement.plan.parameters)]
        if not statement.plan.returns_rows:
            engine.execute(statement, bound)
            return 0
        cursor = engine.open(statement, bound)
        try:
            for _ in range(4):
                if engine.fetch(cursor, 50)[1]:
                    break
        finally:
            engine.close_cursor(cursor)
    except SqlError as error:
        return error.sqlcode
    return 0


@pytest.mark.parametrize(
    ("text", "sqlcode"),
    [
        # deep
        (f"SELECT {'(' * N}1{')' * N} {ONE}", 0),
        (f"SELECT 1 {ONE} WHERE {'(' * N}1 = 1{')' * N}", 0),
        (f"SELECT {'(' * N}1 {ONE}", -999),
        (f"SELECT {'(' * N}1{'+ 1)' * N} {ONE}", -999),
        (f"{'(' * N}SELECT 1 {ONE}{')' * N}", -999),
        (f"SELECT 1 FROM {'(' * N}systables{')' * N}", -999),
        (f"SELECT 1 {ONE} WHERE {'NOT ' * N}1 = 1", -999),
        (f"SELECT {'- ' * N}1 {ONE}", -999),
        (f"SELECT 1{'::INT' * N} {ONE}", -999),
        (f"SELECT {'ABS(' * N}1{')' * N} {ONE}", -999),
        (f"SELECT {'CASE WHEN 1 = 1 THEN ' * N}1{' END' * N} {ONE}", -999),
        (f"SELECT {'(SELECT ' * N}1{f' {ONE})' * N} {ONE}", -999),
        (f"SELECT 1 FROM {'(SELECT 1 FROM ' * N}systables{')' * N}", -999),
        (f"SELECT {'||'.join(['dummy'] * N)} {ONE}", -999),
        (f"SELECT {'+'.join(['1'] * N)} {ONE}", -999),
        (" UNION ".join([f"SELECT 1 {ONE}"] * N), -999),
        (f"SELECT {'SET{' * N}1{'}' * N} {ONE}", -999),
        (f"CREATE TABLE z (a {'LIST(' * N}INT NOT NULL{' NOT NULL)' * N})", -999),
        (f"CREATE TABLE z (a INT CHECK ({'(' * N}a = 1{')' * N}))", 0),
        (f"SELECT 1 FROM t, {'OUTER (' * N}u{')' * N}", -999),
        ("CREATE PROCEDURE p() " + "IF 1 = 1 THEN " * N + "END IF; " * N + "END PROCEDURE", -999),
        (f"SELECT '{'[' * N}{']' * N}'::JSON {ONE}", -9652),
        ("SELECT '" + '{"a":' * N + "1" + "}" * N + f"'::JSON {ONE}", -9652),
        (f"SELECT '{'SET{' * N}1{'}' * N}'::SET(INT NOT NULL) {ONE}", -1260),
        # long
        (f"SELECT '{'x' * 1_000_000}' {ONE}", -280),
        (f"SELECT {'9' * 1_000_000} {ONE}", -203),
        (f"SELECT 1e{'9' * N} {ONE}", -204),
        (f"SELECT 1 {' ' * 1_000_000}{ONE}", 0),
        (f"SELECT 1 AS {'a' * N} {ONE}", -253),
        (f"SELECT FIRST {'9' * 50} tabid FROM systables", -1215),
        (f"SELECT tabid FROM systables LIMIT {'9' * 50}", -1215),
        (f"SELECT 1 {ONE} WHERE '{'a' * N}' MATCHES '{'*a' * 50}b'", 0),
        (f"SELECT 1 {ONE} WHERE '[' MATCHES '{'[' * N}'", 0),
        (f"SELECT LPAD('a', 2000000000, 'b') {ONE}", -881),
        (f"SELECT POW(10, 1000000) {ONE}", -1223),
        (f"SELECT {'9' * 30} UNITS DAY {ONE}", -1265),
        ("{" * N + "}" * N + f"SELECT 1 {ONE}", -201),
        ("/*" * N, -943),
        ("UPDATE STATISTICS;" * N, 0),
        (";" * N, -201),
        # wide
        (f"SELECT {','.join(['1'] * 2000)} {ONE}", -999),
        (f"SELECT {','.join(['1'] * 40_000)} {ONE}", -528),
        (f"CREATE TABLE z ({','.join(f'c{n} INT' for n in range(2000))})", -999),
        (f"SELECT 1 {ONE} WHERE 1 IN ({','.join(map(str, range(20_000)))})", 0),
        (f"SELECT 1 {ONE} WHERE dummy IN ({','.join('?' * 20_000)})", -254),
        (f"SELECT 1 FROM systables WHERE {' OR '.join(['(tabid = 1 AND nrows = 2)'] * N)}", 0),
        (f"SELECT 1 FROM {','.join(f'systables a{n}' for n in range(65))}", -999),
        (f"SELECT 1 FROM {','.join(f'systables a{n}' for n in range(N))}", -999),
        (f"SELECT tabid FROM systables ORDER BY {','.join(['tabid'] * N)}", -999),
        (f"SELECT COALESCE({','.join(['1'] * N)}) {ONE}", -999),
        (f"SELECT {'.'.join(['a'] * N)} {ONE}", -522),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else None,
)  # fmt: skip
def test_texts_that_are_too_much_have_an_error_or_a_result(core: ServerCore, text: str, sqlcode: int) -> None:
    engine = core.engine()
    assert answer(engine, text) == sqlcode
    assert answer(engine, "DROP TABLE IF EXISTS z") == 0
    assert answer(engine, "SELECT tabid FROM systables WHERE tabid = 1") == 0
    engine.close()


# -- texts at random ---------------------------------------------------------------------------------------------------

STATEMENTS = r"""
select a, b, count(*), sum(d) from t where a > 1 and b like 'x%' group by a, b having count(*) > 0 order by 1
select first 5 skip 1 t.a, u.c from t, outer u where t.a = u.a
select a, level, connect_by_root b, sys_connect_by_path(b, '/') from t start with a = 1 connect by nocycle prior a = p
select t.a, x.c from t left join lateral (select c from u where u.a = t.a) x on 1 = 1
select ratio_to_report(d) over (partition by b order by a rows between 1 preceding and current row) from t
with recursive r(n) as (select 1 from t union all select n + 1 from r where n < 10) select n from r
insert into t (a, b, d) values (0, 'abc', 1.5)
insert into u select a, d, today from t where a in (select a from u)
update t set (a, b) = (1, 'z'), d = d * 2 where a between 1 and 3
delete from t where exists (select 1 from u where u.a = t.a)
merge into t using u on t.a = u.a when matched then update set d = u.c when not matched then insert (p, d) values (1, 2)
select case when a = 1 then 'one' when a is null then null else b end, decode(a, 1, 'x', 'y'), nvl(b, 'n') from t
select datetime(2024-01-31 10:00) year to minute + 1 units month, interval(3) day to day * 2, extend(today, year to day)
select current - dt, dt + interval(1 02:03) day to minute, mdy(1,2,2024) - k, today + 5 from t
select b[1,2], b || 'x', upper(trim(both 'x' from b)), substr(b, 2), replace(b, 'a', 'b'), lpad(b, 10, '*') from t
select cast(a as varchar(10))::int, d::float, '1'::int8, a::smallint, b::char(3) from t
select set{1,2,3}, row(1,'a'), multiset(select item a from t), cardinality(s), 1 from t where 1 in s
select count(distinct a), max(b), min(k), avg(f), stdev(d), variance(d), range(a) from t
select a from t union select a from u union all select a from t intersect select 1 from t minus select 2 from u
select unique b from t where b matches '*[a-c]?' escape '\' or not (a <> all (select a from u)) and not a > 1
create temp table w (a int, b lvarchar(100)) with no log
create view v (x, y) as select a, b from t where a > 0 with check option
alter table t add (n int default 5 before a), drop (d), modify (b varchar(30)), add constraint check (a > 0)
select dbinfo('sessionid'), dbinfo('version', 'full'), dbinfo('utc_to_datetime', 5), user, sitename from t
select to_char(dt, '%Y-%m-%d'), to_date('2024', '%Y'), round(d, 1), trunc(f), mod(a, 2), pow(2, a), sqrt(f) from t
select j.a::int, bson_value_int(j, 'a') from t where j.a is not null
create trigger tr insert on t referencing new as n for each row (insert into u values (n.a, 1, current year to day))
create procedure p(x int) returning int; define y int; let y = x + 1; if y > 1 then return y; end if; end procedure
select lag(a, 1) over (order by a), rank() over (partition by b order by d desc nulls last) from t; delete from u
select f(a), f(f(2)) from t for update of b
""".strip().splitlines()
PIECES = [
    [text[token.offset - 1 : token.end - 1] for token in tokenize(text) if token.kind is not TokenKind.END]
    for text in STATEMENTS
]
HOSTILE = """
'' NULL -1 0 99999999999999999999 1e30 'x' * ( ) , ? select from today t u t.* current '''' 0.1 [ ] { } ::int
::char(1) || and or not distinct 1=1 systables set{} row() j s dt f union lateral case end b[1,99] level prior
""".split()


@st.composite
def spliced(draw: st.DrawFn) -> str:
    """A statement with some tokens removed, replaced, or joined by a part of another statement."""
    tokens = list(draw(st.sampled_from(PIECES)))
    for _ in range(draw(st.integers(0, 3))):
        place, size = draw(st.integers(0, len(tokens))), draw(st.integers(0, 3))
        other = draw(st.sampled_from(PIECES))
        start = draw(st.integers(0, len(other) - 1))
        part = other[start : start + draw(st.integers(0, 8))]
        tokens[place : place + size] = draw(st.sampled_from([part, [draw(st.sampled_from(HOSTILE))]]))
    return " ".join(tokens)


@settings(deadline=None)
@given(
    texts=st.lists(spliced(), min_size=1, max_size=20),
    values=st.tuples(*[st.sampled_from([None, 1, "x"])] * 9),
)
def test_texts_at_random_have_an_error_or_a_result(texts: list[str], values: tuple[Value, ...]) -> None:
    with server_core() as core:
        engine = core.engine()
        for text in _SETUP:
            run(engine, text)
        for text in texts:
            stop = threading.Timer(10, engine.interrupt)  # a product of many tables is not an error
            stop.start()
            try:
                assert answer(engine, text, values) != -768
            finally:
                stop.cancel()
        assert answer(engine, "SELECT tabid FROM systables WHERE tabid = 1") in (0, -349, -213)


# -- sessions that change each other's tables --------------------------------------------------------------------------

RIVALS = """
begin work
commit work
rollback work
savepoint s1
rollback to savepoint s1
set isolation to repeatable read
set isolation to dirty read
set isolation to committed read last committed
lock table t in exclusive mode
update t set d = d + 1 where a = 1
insert into t (a, b) values (0, 'k')
delete from t where a > 3
select * from t for update
select count(*) from t, u
insert into u values (1, 1, today)
update u set c = c * 2
truncate table u
create temp table w (a int)
drop table w
alter table u add (z int)
alter table u drop (z)
alter table t modify (b varchar(30))
create index ii on u (c)
drop index ii
select a, level from t start with a = 1 connect by nocycle prior a = p
merge into t using u on t.a = u.a when matched then update set d = u.c
insert into t (a, b) values (0, 'p'); update u set c = 1; delete from u where c = 5
""".strip().splitlines()


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (2, 3, 4))]
)
def test_sessions_that_alter_tables_of_each_other_have_errors_of_informix(seed: int) -> None:
    # Errors of SQLite, such as a column that another session has just dropped, would not be a SqlError.
    failures: list[BaseException] = []

    def rival(core: ServerCore, choose: random.Random) -> None:
        engine = core.engine()
        try:
            for _ in range(300):
                assert answer(engine, choose.choice(RIVALS)) != -768
        except BaseException as error:
            failures.append(error)
        finally:
            engine.close()

    with server_core() as core:
        setup = core.engine()
        for text in _SETUP:
            run(setup, text)
        setup.close()
        rivals = [
            threading.Thread(target=rival, args=(core, random.Random(seed * 10 + number)))
            for number in range(3)
        ]
        for thread in rivals:
            thread.start()
        for thread in rivals:
            thread.join()
    assert failures == []
