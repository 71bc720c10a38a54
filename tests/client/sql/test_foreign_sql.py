"""One hint for what other databases write, at the place of the error only; and none where it would be wrong."""

from __future__ import annotations

from typing import Final

import pytest

import aioifx
from aioifx.client.sql.foreign_sql import HINTS, hint_at
from aioifx.errors import DatabaseError
from aioifx.server import running

MISTAKES: Final = {
    "select a from t limit 5 offset 2": "SKIP n FIRST m",
    "select a from t limit ? offset ?": "SKIP n FIRST m",
    "select a from t offset 2": "SKIP n FIRST m",
    "select a from t order by a desc offset 5 rows": "SKIP n FIRST m",
    "select a from t limit 2, 3": "SKIP n FIRST m",
    "select top 5 a from t": "FIRST n after SELECT instead of TOP n",
    "select a from t fetch first 5 rows only": "FIRST n after SELECT instead of FETCH FIRST",
    "select 1": "needs FROM",
    "select 1 as a ;": "needs FROM",
    "select now()": "needs FROM",
    "select a from t where a = (select max(1))": "needs FROM",
    "select a from t union select 2": "needs FROM",
    "insert into t (a) select 1": "needs FROM",
    "create procedure from 'p.sql'": "ESQL/C",
    "create function from if not exists 'p.sql'": "ESQL/C",
    "create routine from 'p.sql'": "ESQL/C",
    "insert into t (a) values (1) returning a": ".serial",
    "update t set a = 1 where a = 2 returning *": ".serial",
    "insert into t (a) values (1) on conflict do nothing": "MERGE",
    "insert into t (a) values (1) on duplicate key update a = 1": "MERGE",
    "insert into t (a) values (1), (2)": "executemany",
    "select a from t where b ilike 'x%'": "ILIKE",
    "select a from t where b not ilike 'x%'": "ILIKE",
    "select a from t where f = true": "'t' and 'f'",
    "select a from t where f is not false": "'t' and 'f'",
    "insert into t (f) values (true)": "'t' and 'f'",
    "select current_timestamp from t": "CURRENT instead",
    "select current_date from t": "TODAY",
    "select now() from t": "CURRENT YEAR TO SECOND instead of now()",
    "select getdate() from t": "CURRENT YEAR TO SECOND instead of getdate()",
    "select curdate() from t": "TODAY",
    "select ifnull(a, 1) from t": "NVL",
    "select date_trunc('day', d) from t": "TRUNC",
    "select 1 from dual": "sysmaster:sysdual instead",
    "create table u (a int auto_increment)": "SERIAL",
    "select `a` from t": "DELIMIDENT",
    "\\d t": "psql",
    "unload to 'x' select * from t": "dbaccess",
    "show tables": "systables",
    "describe t": "systables",
    "start transaction": "BEGIN WORK",
}

INNOCENT: Final = (
    "select now from t",
    "select limit from t",
    "select x, limit, offset from t",
    "select a from t where b = 'limit 5 offset 2' and and",
    "select a -- limit 5 offset 2\n from t where and",
    "select a from t where offset 5",
    "select a from t limit 5 limit_of",
    "select a from t where a = 'x @limit 5' 'y'",
    "update t set a = 1 returning = 2",
    "create function f() returning int returning int",
    "select a from t returning a",
    "select a b c from t",
    "select (a + ) from t",
    "select count(*",
    "select",
    "select a, from t",
    "insert into t (a) values (1",
    "insert into t (a) values (1), 2",
    "select t.true from t",
    "select true(a) from t",
    "select t.current_date from t",
    "select now(a) from t",
    "select now2() from t",
    "select a from t where ilike ilike",
    "select 1 from dual2",
    "create table u (a int, auto_increment int x)",
    "select a from t where a = '`' '`'",
)


def said(error: DatabaseError) -> list[str]:
    """The notes of an error but the place in its SQL."""
    return [note for note in getattr(error, "__notes__", ()) if not note.startswith("SQL, ")]


async def test_a_mistake_gets_its_hint_and_what_only_resembles_it_none() -> None:
    async with running() as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("create table t (a int, b varchar(10), d date, f boolean)")
        given: set[str] = set()
        for sql, part in MISTAKES.items():
            with pytest.raises(DatabaseError) as caught:
                await (conn.fetch(sql, 1, 2) if "?" in sql else conn.execute(sql))
            hints = said(caught.value)
            assert len(hints) == 1 and part in hints[0], (sql, hints)
            given.update(hints)
        assert given == {hint.text for hint in HINTS}
        for sql in INNOCENT:
            with pytest.raises(DatabaseError) as caught:
                await conn.execute(sql)
            assert said(caught.value) == [], sql


@pytest.mark.parametrize(
    ("sql", "sqlcode", "token", "part"),
    [
        ("select 'now()', NOW() from t", -674, "now", "instead of now()"),
        ("select a from t where f = TRUE", -217, "true", "'t' and 'f'"),
        ("select 1 from dual", -206, "dual", "sysdual"),
        ("select 'true' from t", -217, "true", ""),
        ("select a from t", -217, "x", ""),
        ("select a from t", -217, "", ""),
        ("select 1", -201, "", ""),
        ("select 1", -239, "", ""),
    ],
)
def test_without_a_place_the_token_is_looked_for(sql: str, sqlcode: int, token: str, part: str) -> None:
    hint = hint_at(sql, sqlcode, 0, token)
    assert part in hint and bool(hint) == bool(part)


@pytest.mark.parametrize(
    "sql", ["select " * 50_000, "(" * 200_000, "a " * 150_000 + "limit 5", "'" * 300_001]
)
def test_hostile_texts_are_read_in_linear_time(sql: str) -> None:
    assert hint_at(sql, -201, len(sql) + 1) == ""


@pytest.mark.parametrize(
    ("environment", "hint"),
    [
        ({}, "DBDATE of this session is Y4MD-; "),
        ({"DBDATE": "DMY4."}, "DBDATE of this session is DMY4.; "),
        ({"GL_DATE": "%Y%m%d"}, "GL_DATE of this session is %Y%m%d; "),
    ],
)
async def test_a_text_that_is_no_date_names_the_format_of_the_session(
    environment: dict[str, str], hint: str
) -> None:
    async with running() as dsn, aioifx.connect(dsn, environment=environment) as conn:
        await conn.execute("create table t (d date)")
        await conn.execute("insert into t values (today)")
        calls = (
            conn.execute("insert into t values ('xx/yy/2020')"),
            conn.execute("insert into t values (?)", "xx/yy/2020"),
            conn.executemany("insert into t values (?)", [("xx/yy/2020",)]),
            conn.fetch("select * from t where d = 'xx/yy/2020'"),
        )
        for call in calls:
            with pytest.raises(aioifx.DataError) as caught:
                await call
            assert caught.value.sqlcode in (-1204, -1205, -1206, -1212, -1218)
            assert [note.startswith(hint) for note in said(caught.value)] == [True]
