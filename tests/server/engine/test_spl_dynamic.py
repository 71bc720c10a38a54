from __future__ import annotations

from datetime import date

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.sqltypes import Row
from tests.server.talking import error_from, query, run, run_all


@pytest.fixture
def table(engine: Engine) -> Engine:
    """A session with a table of three rows, and routines that return and change them."""
    run_all(
        engine,
        "CREATE TABLE t (a INT, c CHAR(5), d DATE)",
        *(f"INSERT INTO t VALUES ({n}, 'x{n}', '05/0{n}/2026')" for n in (1, 2, 3)),
        "CREATE FUNCTION upto(n INT) RETURNING INT; DEFINE i INT; FOR i = 1 TO n RETURN i WITH RESUME; END FOR;"
        " END FUNCTION",
        "CREATE PROCEDURE grow() UPDATE t SET a = a + 100; END PROCEDURE",
    )
    return engine


def rows_of(engine: Engine, body: str, returning: str = "INT") -> list[Row]:
    run(engine, f"CREATE FUNCTION f() RETURNING {returning}; {body} END FUNCTION")
    return query(engine, "EXECUTE FUNCTION f()")


ALL = "PREPARE s FROM 'SELECT a FROM t ORDER BY a'; DECLARE c CURSOR FOR s;"


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ("DEFINE n, k INT; LET k = 0; PREPARE s FROM 'SELECT a FROM t WHERE a >= ? ORDER BY 1;';"
         " DECLARE c CURSOR FOR s; LET n = 2; OPEN c USING n; FETCH c INTO n; WHILE (SQLCODE = 0)"
         " LET k = k * 10 + n; FETCH c INTO n; END WHILE; CLOSE c; FREE c; FREE s; RETURN k;", [(23,)]),
        (f"DEFINE n INT; {ALL} OPEN c; WHILE (1 = 1) FETCH c INTO n; IF (SQLCODE != 100) THEN RETURN n WITH RESUME;"
         " ELSE EXIT; END IF END WHILE; CLOSE c; FREE c; FREE s;", [(1,), (2,), (3,)]),
        (f"DEFINE n, i INT; {ALL} OPEN c; FOR i = 1 TO 5 FETCH c INTO n; END FOR; RETURN SQLCODE; ", [(100,)]),
        (f"DEFINE n, i INT; {ALL} OPEN c; FOR i = 1 TO 5 FETCH c INTO n; END FOR; CLOSE c; RETURN n; ", [(3,)]),
        (f"DEFINE n, i INT; {ALL} FOR i = 1 TO 3 OPEN c; FETCH c INTO n; CLOSE c; END FOR; RETURN n;", [(1,)]),
        ("DEFINE s CHAR(5); PREPARE s1 FROM 'SELECT c FROM t ORDER BY a'; DECLARE c CURSOR FOR s1; OPEN c;"
         " LET s = '12345'; FETCH c INTO s[3,4]; IF s = '12x15' THEN RETURN 1; END IF; RETURN 0;", [(1,)]),
        ("DEFINE s CHAR(5); PREPARE s1 FROM 'SELECT c FROM t WHERE a = 9'; DECLARE c CURSOR FOR s1; OPEN c;"
         " LET s = '12345'; FETCH c INTO s[3,4]; IF s = '12345' THEN RETURN 1; END IF; RETURN 0;", [(1,)]),
        ("DEFINE n INT; DEFINE q VARCHAR(40); FOREACH SELECT 'SELECT SUM(' || colname || ') FROM t' INTO q"
         " FROM syscolumns c, systables t WHERE c.tabid = t.tabid AND tabname = 't' AND colname = 'a'"
         " PREPARE s FROM q; DECLARE c CURSOR FOR s; OPEN c; FETCH c INTO n; CLOSE c; FREE c; FREE s;"
         " END FOREACH; RETURN n;", [(6,)]),
        ("DEFINE n INT; LET n = 3; PREPARE s FROM 'EXECUTE FUNCTION upto(?)'; DECLARE c CURSOR FOR s;"
         " OPEN c USING n; FETCH c INTO n; WHILE SQLCODE = 0 RETURN n WITH RESUME; FETCH c INTO n; END WHILE;",
         [(1,), (2,), (3,)]),
        ("PREPARE s FROM 'EXECUTE PROCEDURE grow()'; DECLARE c CURSOR FOR s; OPEN c; RETURN (SELECT MAX(a) FROM t);",
         [(103,)]),
        ("DEFINE n INT; PREPARE s FROM 'SELECT a FROM t ORDER BY a'; DECLARE c CURSOR WITH HOLD FOR s; BEGIN WORK;"
         " OPEN c; COMMIT WORK; FETCH c INTO n; RETURN n;", [(1,)]),
        (f"DEFINE n INT; {ALL} OPEN c; DELETE FROM t; FETCH c INTO n; RETURN n;", [(1,)]),
        (f"DEFINE n INT; {ALL} FREE s; OPEN c; FETCH c INTO n; RETURN n;", [(1,)]),
        ("PREPARE s FROM 'SELECT a FROM t'; PREPARE s FROM 'SELECT 7 FROM t'; DECLARE c CURSOR FOR s;"
         " BEGIN DEFINE n INT; OPEN c; FETCH c INTO n; RETURN n; END", [(7,)]),
        ("DEFINE n INT; ON EXCEPTION IN (-26053) RETURN n; END EXCEPTION WITH RESUME; LET n = 0; "
         f"{ALL} FETCH c INTO n; OPEN c; FETCH c INTO n; RETURN n;", [(0,)]),
        ("EXECUTE IMMEDIATE 'SELECT a FROM t INTO TEMP q'; RETURN (SELECT COUNT(*) FROM q);", [(3,)]),
        (f"DEFINE n INT; <<x>> LOOP {'LOOP ' * 17} {ALL} OPEN c; FETCH c INTO n; EXIT x; {'END LOOP; ' * 18} RETURN n;",
         [(1,)]),
    ],
)  # fmt: skip
def test_statements(table: Engine, body: str, rows: list[Row]) -> None:
    assert rows_of(table, body) == rows


@pytest.mark.parametrize(
    ("type_", "value", "condition"),
    [("INT", 2, "a = ?"), ("DECIMAL(5,2)", 2, "a = ?"), ("CHAR(9)", "'2'", "a = ?"), ("VARCHAR(9)", "'x2'", "c = ?"),
     ("CHAR(5)", "'x2'", "c = ?"), ("DATE", "'05/02/2026'", "d = ?")],
)  # fmt: skip
def test_using_takes_variables_of_each_type(table: Engine, type_: str, value: object, condition: str) -> None:
    body = (
        f"DEFINE v {type_}; DEFINE n DATE; LET v = {value}; PREPARE s FROM 'SELECT d FROM t WHERE {condition}';"
        " DECLARE c CURSOR FOR s; OPEN c USING v; FETCH c INTO n; RETURN n;"
    )
    assert rows_of(table, body, "DATE") == [(date(2026, 5, 2),)]


@pytest.mark.parametrize(
    ("body", "sqlcode", "token"),
    [
        ("PREPARE s FROM NULL::CHAR(5);", -26051, ""),
        ("EXECUTE IMMEDIATE NULL::CHAR(5);", -26051, ""),
        (f"{ALL} OPEN c; OPEN c;", -26052, "c"),
        (f"DEFINE n INT; {ALL} FETCH c INTO n;", -26053, "c"),
        (f"{ALL} CLOSE c;", -26053, "c"),
        (f"DEFINE n INT; {ALL} BEGIN WORK; OPEN c; COMMIT WORK; FETCH c INTO n;", -26053, "c"),
        (f"{ALL} OPEN c; FREE c;", -26054, "c"),
        ("FREE s;", -26055, "s"),
        ("OPEN c;", -26055, "c"),
        ("DECLARE c CURSOR FOR s;", -26055, "s"),
        (f"{ALL} FREE c; OPEN c;", -26055, "c"),
        (f"{ALL} FREE s; DECLARE d CURSOR FOR s;", -26055, "s"),
        ("PREPARE s FROM 'EXECUTE FUNCTION upto(1)'; DECLARE c CURSOR WITH HOLD FOR s;", -26056, "c"),
        (f"{ALL} PREPARE c FROM 'SELECT a FROM t';", -26057, "c"),
        (f"{ALL} DECLARE s CURSOR FOR s;", -26057, "s"),
        (f"{ALL} OPEN c; DECLARE c CURSOR FOR s;", -26057, "c"),
        (f"{ALL} OPEN c; PREPARE s FROM 'SELECT a FROM t';", -26057, "s"),
        ("PREPARE s FROM 'SELECT a FROM t; SELECT a FROM t';", -26058, ""),
        ("EXECUTE IMMEDIATE 'DELETE FROM t; DELETE FROM t';", -26058, ""),
        ("PREPARE s FROM 'UPDATE t SET a = 1';", -675, ""),
        ("PREPARE s FROM 'SELECT a FROM t FOR UPDATE';", -675, ""),
        ("PREPARE s FROM 'SELECT a FROM t INTO TEMP q';", -675, ""),
        ("EXECUTE IMMEDIATE 'DATABASE sysmaster';", -675, ""),
        ("EXECUTE IMMEDIATE 'DELETE FROM t WHERE a = ?';", -201, ""),
        ("EXECUTE IMMEDIATE 'EXECUTE FUNCTION upto(1)';", -260, ""),
        ("PREPARE s FROM 'SELECT a FROM nowhere';", -206, "nowhere"),
        (f"DEFINE n INT; LET n = 1; {ALL} OPEN c USING n;", -254, ""),
        (f"DEFINE n, k INT; {ALL} OPEN c; FETCH c INTO n, k;", -661, ""),
    ],
)  # fmt: skip
def test_errors(table: Engine, body: str, sqlcode: int, token: str) -> None:
    run(table, f"CREATE PROCEDURE p() {body} END PROCEDURE")
    error = error_from(table, "EXECUTE PROCEDURE p()")
    assert (error.sqlcode, error.token, error.offset) == (sqlcode, token, 0)


def test_names_are_local_to_a_call(table: Engine) -> None:
    body = f"DEFINE r INT; IF n = 0 THEN RETURN 0; END IF; {ALL} OPEN c; FETCH c INTO r; RETURN r + f(n - 1);"
    run(table, f"CREATE FUNCTION f(n INT) RETURNING INT; {body} END FUNCTION")
    assert query(table, "EXECUTE FUNCTION f(3)") == [(3,)]


def test_cursors_are_closed_when_the_call_ends(table: Engine) -> None:
    run(table, f"CREATE PROCEDURE p() {ALL} OPEN c; RAISE EXCEPTION -746; END PROCEDURE")
    assert error_from(table, "EXECUTE PROCEDURE p()").sqlcode == -746
    assert table._state.current.cursors == []


def test_a_routine_in_a_query_reads_with_cursors(table: Engine) -> None:
    body = f"DEFINE r INT; {ALL} OPEN c; FETCH c INTO r; RETURN r + n;"
    run(table, f"CREATE FUNCTION f(n INT) RETURNING INT; {body} END FUNCTION")
    assert query(table, "SELECT f(a) FROM t ORDER BY a") == [(2,), (3,), (4,)]
