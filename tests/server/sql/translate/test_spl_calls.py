from __future__ import annotations

import asyncio

import pytest

import aioifx
from aioifx.dbapi import connect
from aioifx.server import running
from aioifx.server.engine.engine import Engine
from aioifx.sqltypes import Row
from tests.server.talking import error_from, query, run, run_all

ROUTINES = (
    "CREATE PROCEDURE p(OUT size INT, INOUT text VARCHAR(20)) LET size = LENGTH(text); LET text = text || '!';"
    " END PROCEDURE",
    "CREATE FUNCTION f(x INT, OUT y INT, INOUT z INT) RETURNING INT AS r; IF x = 0 THEN RETURN; END IF;"
    " IF y IS NULL THEN LET y = x * 2; LET z = z + 1; END IF; RETURN x + 1; END FUNCTION",
    "CREATE PROCEDURE sums(n INT, INOUT total INT) DEFINE k INT; LET total = total + n; LET k = n - 1;"
    " IF n > 1 THEN CALL sums(k, total); END IF; END PROCEDURE",
    "CREATE PROCEDURE caught(OUT x INT) ON EXCEPTION LET x = 7; RETURN; END EXCEPTION; LET x = 1 / 0; END PROCEDURE",
    "CREATE PROCEDURE left_over(OUT x INT) ON EXCEPTION LET x = 8; END EXCEPTION; LET x = 1 / 0; END PROCEDURE",
)


@pytest.fixture
def routines(engine: Engine) -> Engine:
    """A session with routines that have OUT and INOUT parameters."""
    run_all(engine, *ROUTINES)
    return engine


@pytest.mark.parametrize(
    ("call", "names", "row"),
    [
        ("PROCEDURE p(NULL, 'abc')", ["size", "text"], (3, "abc!")),
        ("PROCEDURE p(text = 'abc', size = NULL)", ["size", "text"], (3, "abc!")),
        ("FUNCTION f(1, 9, 3)", ["r", "y", "z"], (2, 2, 4)),
        ("FUNCTION f(0, 9, 3)", ["r", "y", "z"], (None, None, 3)),
        ("PROCEDURE sums(4, 0)", ["total"], (10,)),
        ("PROCEDURE caught(NULL)", ["x"], (7,)),
        ("PROCEDURE left_over(NULL)", ["x"], (8,)),
    ],
)
def test_a_client_gets_outputs_after_the_results(
    routines: Engine, call: str, names: list[str], row: Row
) -> None:
    text = f"EXECUTE {call}"
    assert query(routines, text) == [row]
    assert [column.name for column in routines.prepare(text).plan.columns] == names


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("CALL f(1, a, b) RETURNING r;", 226),
        ("LET r = 0; CALL f(1, a, b);", 26),
        ("LET r = f(1, a, b);", 226),
        ("LET r = f(1, z = b, y = a);", 226),
        ("EXECUTE FUNCTION f(1, z = b, y = a) INTO r;", 226),
        ("LET r = 0; LET a = 0; CALL sums(3, b);", 11),
        ("LET r = 0; EXECUTE PROCEDURE p(a, s);", 45),
        ("FOREACH EXECUTE FUNCTION f(1, a, b) INTO r LET r = r + 1; END FOREACH;", 326),
        ("LET s = 'abcd'; CALL f(1, a, b) RETURNING s[2,3]; LET r = LENGTH(s); LET b = s[2];", 422),
    ],
)
def test_a_routine_gets_outputs_in_its_variables(routines: Engine, call: str, value: int) -> None:
    body = f"DEFINE a, b, r INT; DEFINE s VARCHAR(20); LET b = 5; LET s = 'four'; {call} RETURN r * 100 + a * 10 + b;"
    run(routines, f"CREATE FUNCTION g() RETURNING INT; {body} END FUNCTION")
    assert query(routines, "EXECUTE FUNCTION g()") == [(value,)]


@pytest.mark.parametrize(
    ("body", "sqlcode", "token"),
    [
        ("LET r = f(1, 2, b);", -9752, "y"),
        ("LET r = f(1, a, 3);", -9752, "z"),
        ("CALL p(a, nobody);", -9752, "text"),
        ("LET r = f(1, a, b) + 1;", -9752, "f"),
        ("SELECT f(tabid, 1, 1) INTO r FROM systables;", -9752, "f"),
        ("FOR a = 1 TO 3 CALL f(1, a, b); END FOR;", -660, "a"),
        ("CALL f(1, a, b);", -696, "b"),
    ],
)
def test_an_output_needs_a_variable(routines: Engine, body: str, sqlcode: int, token: str) -> None:
    text = f"CREATE PROCEDURE g() DEFINE a, b, r INT; {body} END PROCEDURE"
    if sqlcode == -696 or "SELECT" in body:  # found when the statement runs
        run(routines, text)
        text = "EXECUTE PROCEDURE g()"
    error = error_from(routines, text)
    assert (error.sqlcode, error.token) == (sqlcode, token)


def test_a_routine_that_returns_several_rows_has_no_outputs(engine: Engine) -> None:
    body = "RETURN 1 WITH RESUME;"
    error = error_from(engine, f"CREATE FUNCTION f(OUT a INT) RETURNING INT; {body} END FUNCTION")
    assert (error.sqlcode, error.token) == (-999, "OUT PARAMETER WITH RESUME")


async def test_call_has_the_values_as_columns() -> None:
    async with running() as dsn, aioifx.connect(dsn) as conn:
        await conn.execute(ROUTINES[0])
        (row,) = await conn.call("p", None, "abc")
        assert (row["size"], row["text"]) == (3, "abc!")
        assert await conn.call("p", named={"text": "x", "size": None}) == [(1, "x!")]


async def test_callproc_returns_the_values() -> None:
    async with running() as dsn:

        def call() -> tuple[list[object], object]:
            with connect(dsn) as conn, conn.cursor() as cursor:
                cursor.execute(ROUTINES[0])
                return [*cursor.callproc("p", [None, "abc"])], cursor.description

        assert await asyncio.to_thread(call) == ([3, "abc!"], None)
