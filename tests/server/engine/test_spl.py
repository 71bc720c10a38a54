from __future__ import annotations

import threading
from datetime import date
from decimal import Decimal

import pytest

from aioifx import DatabaseError, connect
from aioifx.server import running
from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from tests.server.talking import ServerCore, error_from, query, run, run_all

TABLE = (
    "CREATE TABLE t (a INT, c CHAR(5), d DATE, m DECIMAL(8,2))",
    "INSERT INTO t VALUES (1, 'ab', '05/04/2026', 1.5)",
    "INSERT INTO t VALUES (2, 'cd', NULL, 2.5)",
)


def test_a_function_computes_and_returns(engine: Engine) -> None:
    run(
        engine,
        "CREATE FUNCTION add1(a INT, b INT DEFAULT 10) RETURNING INT AS total; LET a = a + b; "
        "RETURN a; END FUNCTION",
    )
    assert query(engine, "EXECUTE FUNCTION add1(1, 2)") == [(3,)]
    assert query(engine, "EXECUTE FUNCTION add1(1)") == [(11,)]
    assert query(engine, "EXECUTE FUNCTION add1(b = 5, a = 1)") == [(6,)]
    assert query(engine, "SELECT add1(b = tabid, a = 5) FROM systables WHERE tabid = 1") == [(6,)]
    assert error_from(engine, "SELECT LENGTH(a = 'x') FROM systables").sqlcode == -201
    assert error_from(engine, "SELECT add1(a = 1, 2) FROM systables").sqlcode == -201
    assert engine.prepare("EXECUTE FUNCTION add1(1)").plan.columns[0].name == "total"
    assert query(engine, "SELECT add1(tabid, 0) FROM systables WHERE tabid < 3") == [(1,), (2,)]
    run_all(engine, "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (add1(4))")
    assert query(engine, "SELECT a FROM t WHERE a = add1(4)") == [(14,)]


BODIES = [
    ("DEFINE i, s INT; LET s = 0; FOR i = 1 TO 10 LET s = s + i; END FOR; RETURN s;", [(55,)]),
    ("DEFINE i, s INT; LET s = 0; FOR i = 10 TO 1 STEP -3 LET s = s * 10 + i; END FOR; RETURN s;", [(10741,)]),
    ("DEFINE i, s INT; LET s = 0; FOR i IN (1 TO 3, 9, 7) LET s = s * 10 + i; END FOR; RETURN s;", [(12397,)]),
    ("DEFINE i INT; LET i = 0; WHILE i < 5 LET i = i + 1; IF i = 3 THEN EXIT WHILE; END IF; " "END WHILE; RETURN i;",
     [(3,)]),
    ("DEFINE i INT; LET i = 0; LOOP LET i = i + 1; EXIT WHEN i > 6; END LOOP; RETURN i;", [(7,)]),
    ("DEFINE i, j, n INT; LET n = 0; <<o>> FOR i IN (1 TO 5) LOOP FOR j = 1 TO 5 LET n = n + 1;"
     " IF j = 2 THEN CONTINUE o; END IF; IF i = 3 THEN EXIT o; END IF; END FOR; END LOOP o; RETURN n;", [(5,)]),
    ("DEFINE i INT; FOR i = 1 TO 3 RETURN i WITH RESUME; END FOR;", [(1,), (2,), (3,)]),
    ("DEFINE i INT; LET i = NULL; IF i = 1 OR i <> 1 THEN RETURN 1; ELIF i IS NULL THEN RETURN 2; END IF;", [(2,)]),
    ("DEFINE i INT; LET i = 2; CASE i WHEN 1 THEN RETURN 10; WHEN 2 THEN RETURN 20; " "ELSE RETURN 30; END CASE;",
     [(20,)]),
    ("DEFINE i INT; SELECT count(*) INTO i FROM systables WHERE tabid < 4; RETURN i;", [(3,)]),
    ("DEFINE i INT; LET i = (SELECT max(tabid) FROM systables WHERE tabid < 4); RETURN i;", [(3,)]),
    ("DEFINE i INT; SELECT tabid INTO i FROM systables WHERE tabid < 0; RETURN nvl(i, -1);", [(-1,)]),
    ("DEFINE i, n INT; LET n = 0; "
     "FOREACH SELECT tabid INTO i FROM systables WHERE tabid < 4 LET n = n + i; END FOREACH; "
     "RETURN n;", [(6,)]),
    ("DEFINE a INT; LET a = 1; BEGIN DEFINE a INT; LET a = 2; END; RETURN a;", [(1,)]),
    ("ON EXCEPTION IN (-1202) RETURN -1; END EXCEPTION; RETURN 1 / 0;", [(-1,)]),
    ("DEFINE c, i INT; DEFINE t VARCHAR(50); ON EXCEPTION SET c, i, t RETURN c + i; "
     "END EXCEPTION; RAISE EXCEPTION -746, 5, 'no'; RETURN 1;", [(-741,)]),
    ("DEFINE n INT; ON EXCEPTION LET n = n + 100; END EXCEPTION WITH RESUME; LET n = 1; "
     "LET n = n / 0; LET n = n + 1; RETURN n;", [(102,)]),
    ("DEFINE n, i INT; LET n = 0; FOR i = 1 TO 3 BEGIN ON EXCEPTION LET n = n + 10; "
     "END EXCEPTION; LET n = n / (i - 2); LET n = n + 1; END; END FOR; RETURN n;", [(12,)]),
    ("DEFINE n, i INT; ON EXCEPTION LET n = n + 100; END EXCEPTION WITH RESUME; LET n = 0; FOREACH SELECT tabid INTO i"
     " FROM systables WHERE tabid < 4 LET n = n / 0; LET n = n + 10; END FOREACH; RETURN n;", [(330,)]),
    ("DEFINE n, i INT; ON EXCEPTION LET n = n + 100; END EXCEPTION WITH RESUME; LET n = 0; FOREACH SELECT 1 / (tabid-2)"
     " INTO i FROM systables WHERE tabid < 4 LET n = n + 1; END FOREACH; LET n = n + 1000; RETURN n;", [(1100,)]),
    ("DEFINE n, i INT; LET n = 0; FOREACH SELECT tabid INTO i FROM systables WHERE tabid < 4 BEGIN ON EXCEPTION"
     " END EXCEPTION WITH RESUME; LET n = n + 6 / (i - 2); END END FOREACH; RETURN n;", [(0,)]),
    ("DEFINE i INT; LET i = 4; CASE i ELSE LET i = 5; END CASE; RETURN i;", [(5,)]),
    ("ON EXCEPTION IN (-26062) RETURN 1; END EXCEPTION; CASE 4 WHEN 3 THEN RETURN 2; END CASE; RETURN 3;", [(1,)]),
    ("RETURN;", [(None,)]),
    ("DEFINE i INT; FOR i IN (1 TO 2) RETURN i WITH RESUME; END FOR; RETURN;", [(1,), (2,)]),
    ("DEFINE n INT; ON EXCEPTION RETURN 1; END EXCEPTION; ON EXCEPTION IN (-300) RETURN 2; END EXCEPTION;"
     " ON EXCEPTION IN (-1202, -300) RETURN 3; END EXCEPTION; LET n = 1 / 0;", [(3,)]),
    ("ON EXCEPTION IN (-100) RETURN 1; END EXCEPTION; RAISE EXCEPTION -239, -100;", [(1,)]),
    ("DEFINE n INT; ON EXCEPTION IN (-696) RETURN -1; END EXCEPTION; IF 1 = 2 THEN LET n = 1; END IF; RETURN n;",
     [(-1,)]),
    ("DEFINE n, i INT; FOR i = 1 TO 2 LET n = i; END FOR; RETURN n;", [(2,)]),
    ("DEFINE n INT; BEGIN ON EXCEPTION END EXCEPTION WITH RESUME; LET n = 1 / 0; LET n = nvl(n, 5); LET n = 7;"
     " END; RETURN n;", [(7,)]),
    ("DEFINE n INT; FOREACH SELECT tabid INTO n FROM systables WHERE tabid < 0 END FOREACH; RETURN n;", [(None,)]),
    ("DEFINE i, n INT; LET n = 0; FOR i = 1 TO 5 BEGIN ON EXCEPTION IN (-1202) CONTINUE FOR; END EXCEPTION;"
     " ON EXCEPTION IN (-746) EXIT FOR; END EXCEPTION; IF i = 4 THEN RAISE EXCEPTION -746; END IF;"
     " LET n = n * 10 + 6 / (i - 2) + i; END; LET n = n * 10; END FOR; RETURN n;", [(-4910,)]),
    ("DEFINE i, j, n INT; LET n = 0; <<o>> FOR i IN (1 TO 3) LOOP BEGIN"
     " ON EXCEPTION IN (-746) CONTINUE o; END EXCEPTION WITH RESUME;"
     " FOR j = 1 TO 3 LET n = n + 1; IF j = 2 THEN RAISE EXCEPTION -746; END IF; END FOR; LET n = n + 100; END;"
     " END LOOP; RETURN n;", [(6,)]),
    ("DEFINE i INT; FOR i = 1 TO 3 BEGIN ON EXCEPTION RETURN -i WITH RESUME; EXIT FOR; END EXCEPTION;"
     " IF i = 2 THEN RAISE EXCEPTION -746; END IF; RETURN i WITH RESUME; END; END FOR; RETURN 9;",
     [(1,), (-2,), (9,)]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "rows"), BODIES, ids=[body for body, _ in BODIES])
def test_bodies(engine: Engine, body: str, rows: list[tuple[int, ...]]) -> None:
    run(engine, f"CREATE FUNCTION f() RETURNING INT; {body} END FUNCTION")
    assert query(engine, "EXECUTE FUNCTION f()") == rows


def test_raise(engine: Engine) -> None:
    run(engine, "CREATE PROCEDURE p(x INT) RAISE EXCEPTION -746, 0, 'broken: ' || x; END PROCEDURE")
    error = error_from(engine, "EXECUTE PROCEDURE p(4)")
    assert (error.sqlcode, error.token) == (-746, "broken: 4")


def test_procedure_changes(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a INT, b DECIMAL(8,2))")
    run(
        engine,
        "CREATE PROCEDURE p(n INT) DEFINE i INT; FOR i = 1 TO n INSERT INTO t VALUES (i, i / 4); END FOR;"
        " UPDATE t SET b = b + n WHERE a = 1; END PROCEDURE",
    )
    run(engine, "EXECUTE PROCEDURE p(3)")
    found = query(engine, "SELECT * FROM t ORDER BY a")
    assert found == [(1, Decimal("3.25")), (2, Decimal("0.50")), (3, Decimal("0.75"))]


def test_current_of(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a INT)")
    run(
        engine,
        "CREATE PROCEDURE p() DEFINE i INT; BEGIN WORK; FOREACH c FOR SELECT a INTO i FROM t"
        " IF i = 2 THEN DELETE FROM t WHERE CURRENT OF c; ELSE UPDATE t SET a = a * 10 WHERE CURRENT OF c; END IF;"
        " END FOREACH; COMMIT WORK; END PROCEDURE",
    )
    for n in 1, 2, 3:
        run(engine, "INSERT INTO t VALUES (?)", n)
    run(engine, "EXECUTE PROCEDURE p()")
    assert query(engine, "SELECT a FROM t ORDER BY a") == [(10,), (30,)]


def test_recursion(engine: Engine) -> None:
    run(
        engine,
        "CREATE FUNCTION fact(n INT) RETURNING INT; IF n < 2 THEN RETURN 1; END IF; "
        "RETURN n * fact(n - 1); END FUNCTION",
    )
    assert query(engine, "EXECUTE FUNCTION fact(10)") == [(3628800,)]
    run(engine, "CREATE FUNCTION deep(n INT) RETURNING INT; RETURN deep(n + 1); END FUNCTION")
    assert error_from(engine, "EXECUTE FUNCTION deep(1)").sqlcode == -722


def test_calls_between(engine: Engine) -> None:
    run(engine, "CREATE FUNCTION two(n INT) RETURNING INT, VARCHAR(10); RETURN n, 'x' || n; END FUNCTION")
    run(
        engine,
        "CREATE FUNCTION f() RETURNING VARCHAR(30); DEFINE a INT; DEFINE b VARCHAR(10); "
        "CALL two(4) RETURNING a, b; LET a, b = two(a + 1); RETURN b || a; END FUNCTION",
    )
    assert query(engine, "EXECUTE FUNCTION f()") == [("x55",)]


def test_change_in_query(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a INT)")
    run(engine, "CREATE FUNCTION f() RETURNING INT; INSERT INTO t VALUES (1); RETURN 1; END FUNCTION")
    assert error_from(engine, "SELECT f() FROM systables WHERE tabid = 1").sqlcode == -675


def result(engine: Engine, returning: str, body: str) -> object:
    """The only value that a function with this body returns."""
    run(engine, f"CREATE FUNCTION f() RETURNING {returning}; {body} END FUNCTION")
    ((value,),) = query(engine, "EXECUTE FUNCTION f()")
    run(engine, "DROP FUNCTION f")
    return value


@pytest.fixture
def table(engine: Engine) -> Engine:
    """The same, with a table of two rows."""
    for text in TABLE:
        run(engine, text)
    return engine


@pytest.mark.parametrize(
    ("returning", "body", "value"),
    [
        ("VARCHAR(9)", "DEFINE x LIKE t.c; SELECT c INTO x FROM t WHERE a = 1; RETURN '[' || x || ']';", "[ab   ]"),
        ("DATE", "DEFINE x DATE; LET x = '05/04/2026'; LET x = x + 1 UNITS DAY; RETURN x;", date(2026, 5, 5)),
        ("CHAR(6)", "DEFINE x VARCHAR(3); LET x = 'abcdef'; RETURN x;", "abc   "),
        ("DECIMAL(8,2)", "DEFINE x LIKE t.m; SELECT sum(m) INTO x FROM t; RETURN x / 3;", Decimal("1.33")),
        ("INT", "DEFINE b BOOLEAN; LET b = 't'; IF b THEN RETURN 1; END IF; RETURN 2;", 1),
        ("INT", "DEFINE a INT; LET a = NULL; SELECT a INTO a FROM t WHERE t.a = 1; RETURN a;", None),
        ("INT", "UPDATE t SET a = a WHERE a > 0; RETURN DBINFO('sqlca.sqlerrd2');", 2),
        ("INT", "DEFINE i INT; SELECT a INTO i FROM t WHERE a = 99; RETURN SQLCODE;", 100),
        ("INT", "IF EXISTS (SELECT a FROM t WHERE a = 2) THEN RETURN 1; ELSE RETURN 0; END IF;", 1),
        ("INT", "EXECUTE IMMEDIATE 'UPDATE t SET a = ' || 7; RETURN (SELECT max(a) FROM t);", 7),
        ("INT", "BEGIN WORK; DELETE FROM t; ROLLBACK WORK; RETURN (SELECT count(*) FROM t);", 2),
        ("INT",
         "DEFINE i INT; CREATE TEMP TABLE x (k INT); INSERT INTO x SELECT a FROM t; SELECT sum(k) INTO i FROM x;"
         " DROP TABLE x; RETURN i;", 3),
    ],
)  # fmt: skip
def test_statements_use_variables(table: Engine, returning: str, body: str, value: object) -> None:
    assert [result(table, returning, body) for _ in range(2)] == [value, value]


@pytest.mark.parametrize(
    ("type_", "body", "value"),
    [
        ("CHAR(6)", "LET s = 'abcdef'; LET s[2,3] = 'XY';", "aXYdef"),
        ("CHAR(6)", "LET s = 'abcdef'; LET s[2,4] = 'X';", "aX  ef"),
        ("CHAR(6)", "LET s = 'abcdef'; LET s[2] = 'XYZ';", "aXcdef"),
        ("CHAR(15)", "LET s[4,7] = 'Ream';", "   Ream        "),
        ("CHAR(4)", "LET s = NULL; LET s[1,2] = 'ab';", "ab  "),
        ("CHAR(4)", "LET s = 'abcd'; LET s[2,3] = NULL;", "a  d"),
        ("VARCHAR(9)", "LET s = 'ab'; LET s[5,6] = 'xy';", "ab  xy"),
        ("VARCHAR(9)", "LET s = 'abcdef'; LET s[6,6] = 7;", "abcde7"),
        ("CHAR(6)", "LET s = 'abcdef'; LET s[1,2], s[5,6] = s[5,6], s[1,2];", "efcdab"),
        ("CHAR(6)", "LET s = 'abcdef'; LET s[5,6] = s[1,2];", "abcdab"),
        ("CHAR(5)", "LET s = '12345'; SELECT c[1,2] INTO s[3,4] FROM t WHERE a = 1;", "12ab5"),
        ("CHAR(5)", "LET s = '12345'; FOREACH SELECT c INTO s[1,2] FROM t ORDER BY a LET s[5] = 'x'; END FOREACH;",
         "cd34x"),
        ("CHAR(5)", "FOREACH SELECT c INTO s[1,2] FROM t WHERE a = 1 END FOREACH; LET s[5] = 'x';", "ab  x"),
    ],
)  # fmt: skip
def test_parts_of_variables(table: Engine, type_: str, body: str, value: str) -> None:
    assert result(table, type_, f"DEFINE s {type_}; {body} RETURN s;") == value


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("CREATE TEMP TABLE x (k INT) WITH NO LOG; INSERT INTO x SELECT a FROM t;"
         " FOREACH SELECT k INTO i FROM x ORDER BY k RETURN i WITH RESUME; END FOREACH; DROP TABLE x;", [1, 2]),
        ("SELECT a k FROM t INTO TEMP x; FOREACH c FOR SELECT k INTO i FROM x UPDATE x SET k = k + 10"
         " WHERE CURRENT OF c; RETURN i WITH RESUME; END FOREACH; FOREACH SELECT k INTO i FROM x ORDER BY k"
         " RETURN i WITH RESUME; END FOREACH; DROP TABLE x;", [1, 2, 11, 12]),
        ("ON EXCEPTION IN (-206) END EXCEPTION WITH RESUME; DROP TABLE x; SELECT a k FROM t INTO TEMP x;"
         " FOREACH SELECT k INTO i FROM x ORDER BY k RETURN i WITH RESUME; END FOREACH;", [1, 2]),
        ("SELECT a k FROM t INTO TEMP x; FOREACH SELECT k INTO i FROM x ORDER BY k EXIT FOREACH WHEN i = 2;"
         " RETURN i WITH RESUME; END FOREACH; DROP TABLE x; RETURN -1;", [1, -1]),
        ("EXECUTE IMMEDIATE 'SELECT a k FROM t INTO TEMP x'; CREATE INDEX xk ON x (k);"
         " PREPARE s FROM 'SELECT k FROM x ORDER BY k'; DECLARE c CURSOR FOR s; OPEN c; FETCH c INTO i;"
         " WHILE SQLCODE = 0 RETURN i WITH RESUME; FETCH c INTO i; END WHILE; CLOSE c; DROP TABLE x;", [1, 2]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", "BEGIN WORK"])
def test_rows_of_temporary_tables(table: Engine, body: str, values: list[int], before: str) -> None:
    run(table, f"CREATE FUNCTION f() RETURNING INT; DEFINE i INT; {body} END FUNCTION")
    run(table, "CREATE FUNCTION g() RETURNING INT; DEFINE i INT; FOREACH EXECUTE FUNCTION f() INTO i"
        " INSERT INTO t (a) VALUES (i); RETURN i WITH RESUME; END FOREACH; END FUNCTION")  # fmt: skip
    if before:
        run(table, before)
    rows = [(value,) for value in values]
    assert [query(table, "EXECUTE FUNCTION f()") for _ in range(2)] == [rows, rows]
    assert query(table, "EXECUTE FUNCTION g()") == rows


def test_global_variables_live_as_long_as_the_session(core: ServerCore) -> None:
    body = "DEFINE GLOBAL g INT DEFAULT 5; LET g = g + 1; RETURN g;"
    one, other = core.engine(), core.engine()
    run(one, f"CREATE FUNCTION f() RETURNING INT; {body} END FUNCTION")
    run(one, "CREATE FUNCTION h() RETURNING INT; DEFINE GLOBAL g INT DEFAULT 0; RETURN g; END FUNCTION")
    assert [query(one, f"EXECUTE FUNCTION {name}()") for name in "ffh"] == [[(6,)], [(7,)], [(7,)]]
    assert query(other, "EXECUTE FUNCTION h()") == [(0,)]


def test_rows_are_computed_when_they_are_fetched(table: Engine) -> None:
    run(
        table,
        "CREATE FUNCTION f() RETURNING INT; DEFINE i INT; LET i = 0;"
        " LOOP LET i = i + 1; UPDATE t SET a = i; RETURN i WITH RESUME; END LOOP; END FUNCTION",
    )
    cursor = table.open(table.prepare("EXECUTE FUNCTION f()"))
    assert table.fetch(cursor, 3)[0] == [(1,), (2,), (3,)]
    table.close_cursor(cursor)
    assert query(table, "SELECT MAX(a) FROM t") == [(4,)]


def test_foreach_reads_the_rows_of_a_routine(engine: Engine) -> None:
    run(
        engine,
        "CREATE FUNCTION gen(n INT) RETURNING INT; DEFINE i INT;"
        " FOR i = 1 TO n RETURN i WITH RESUME; END FOR; END FUNCTION",
    )
    body = "DEFINE i, s INT; LET s = 0; FOREACH EXECUTE FUNCTION gen(9) INTO i"
    assert (
        result(engine, "INT", f"{body} EXIT FOREACH WHEN i = 4; LET s = s + i; END FOREACH; RETURN s;") == 6
    )
    assert error_from(engine, "SELECT gen(2) FROM systables WHERE tabid = 1").sqlcode == -686


@pytest.mark.parametrize(
    "call", ["LET r = f(n + 1);", "CALL f(n + 1) RETURNING r;", "SELECT f(n + 1) INTO r FROM t;"]
)
def test_endless_recursion_is_out_of_stack(table: Engine, call: str) -> None:
    run(table, "DELETE FROM t WHERE a = 2")
    run(table, f"CREATE FUNCTION f(n INT) RETURNING INT; DEFINE r INT; {call} RETURN r; END FUNCTION")
    assert error_from(table, "EXECUTE FUNCTION f(1)").sqlcode == -722
    assert query(table, "SELECT a FROM t") == [(1,)]


def test_deep_and_long_bodies(engine: Engine) -> None:
    many = "".join(f"ELIF i = -{number} THEN RETURN 2; " for number in range(150))
    assert (
        result(
            engine, "INT", f"DEFINE i INT; LET i = 3; IF i = 1 THEN RETURN 1; {many} ELSE RETURN 9; END IF;"
        )
        == 9
    )
    nested = "IF 1 = 1 THEN " * 20 + "RETURN 1; " + "END IF; " * 20
    assert result(engine, "INT", nested) == 1
    loops = "LOOP " * 19 + "EXIT; " + "END LOOP; " * 19
    error = error_from(engine, f"CREATE PROCEDURE p() {loops} END PROCEDURE")
    assert (error.sqlcode, error.token) == (-999, "NESTING")


def test_a_query_reads_inside_a_function_that_reads(table: Engine) -> None:
    run(
        table,
        "CREATE FUNCTION f(n INT) RETURNING INT; DEFINE r, s INT; LET s = 0;"
        " FOREACH SELECT a INTO r FROM t WHERE a <= n LET s = s + r; END FOREACH; RETURN s; END FUNCTION",
    )
    assert query(table, "SELECT a, f(a) FROM t ORDER BY a") == [(1, 1), (2, 3)]
    run(table, "UPDATE t SET m = f(a) WHERE f(a) > 1")
    assert query(table, "SELECT m FROM t ORDER BY a") == [(Decimal("1.50"),), (Decimal("3.00"),)]


def test_another_session_changes_the_schema_while_a_query_calls_a_function(core: ServerCore) -> None:
    engine, other = core.engine(), core.engine()
    for text in TABLE:
        run(engine, text)
    for _ in range(8):
        run(engine, "INSERT INTO t (a) SELECT a FROM t")
    body = "DEFINE r INT; SELECT max(a) INTO r FROM t WHERE a = n; RETURN r;"
    run(engine, f"CREATE FUNCTION f(n INT) RETURNING INT; {body} END FUNCTION")
    cursor = engine.open(engine.prepare("SELECT a, f(a) FROM t"))
    assert engine.fetch(cursor, 2)[0] == [(1, 1), (2, 2)]
    run(other, "CREATE TABLE u (a INT)")
    rows, is_last = engine.fetch(cursor, 3000)
    assert (len(rows), is_last) == (510, True)
    assert all(value == result for value, result in rows)


def test_a_change_waits_for_a_row_that_its_function_reads(core: ServerCore) -> None:
    one, other = core.engine(), core.engine()
    run(one, "CREATE TABLE t (k INT PRIMARY KEY, n INT)")
    for key in (1, 2):
        run(one, f"INSERT INTO t VALUES ({key}, 0)")
    body = "DEFINE r INT; SELECT n INTO r FROM t WHERE k = x; RETURN r;"
    run_all(one, f"CREATE FUNCTION f(x INT) RETURNING INT; {body} END FUNCTION", "BEGIN WORK")
    run(one, "UPDATE t SET n = 7 WHERE k = 1")
    error = error_from(other, "UPDATE t SET n = f(1) WHERE k = 2")
    assert (error.sqlcode, error.isamcode) == (-243, -107)
    waiting: list[Engine] = []

    def change() -> None:
        engine = core.engine()
        run(engine, "SET LOCK MODE TO WAIT 20")
        waiting.append(engine)
        run(engine, "UPDATE t SET n = f(1) WHERE k = 2")
        engine.close()

    thread = threading.Thread(target=change)
    thread.start()
    while not (waiting and waiting[0].is_waiting):
        pass
    run(one, "COMMIT WORK")
    thread.join()
    assert query(other, "SELECT n FROM t") == [(7,), (7,)]


def test_errors_have_no_offset_into_the_callers_text(table: Engine) -> None:
    run(table, "CREATE PROCEDURE p() INSERT INTO nothere VALUES (1); END PROCEDURE")
    error = error_from(table, "EXECUTE PROCEDURE p()")
    assert (error.sqlcode, error.isamcode, error.token, error.offset) == (-206, -111, "nothere", 0)


def test_an_interrupt_ends_a_loop(engine: Engine) -> None:
    run(engine, "CREATE PROCEDURE p() ON EXCEPTION END EXCEPTION; LOOP END LOOP; END PROCEDURE")
    statement = engine.prepare("EXECUTE PROCEDURE p()")

    def interrupt() -> None:
        while not engine.is_running:
            pass
        engine.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(SqlError, match="-213"):
        engine.execute(statement)
    thread.join()


def test_a_changed_routine_is_compiled_again(engine: Engine) -> None:
    run(engine, "CREATE FUNCTION g() RETURNING INT; RETURN 1; END FUNCTION")
    run(engine, "CREATE FUNCTION f() RETURNING INT; RETURN g() * 10; END FUNCTION")
    assert query(engine, "EXECUTE FUNCTION f()") == [(10,)]
    run(engine, "DROP FUNCTION g")
    assert error_from(engine, "EXECUTE FUNCTION f()").sqlcode == -674
    run(engine, "CREATE FUNCTION g() RETURNING INT; RETURN 2; END FUNCTION")
    assert query(engine, "EXECUTE FUNCTION f()") == [(20,)]


@pytest.mark.parametrize(
    ("body", "sqlcode"),
    [
        ("DEFINE x, y INT; SELECT a INTO x, y FROM t WHERE a = 1;", -661),
        ("DEFINE x INT; SELECT a, a INTO x FROM t WHERE a = 1;", -661),
        ("DEFINE x INT; LET x = x + 1;", -696),
        ("DEFINE x INT; INSERT INTO t (a) VALUES (x);", -696),
        ("DEFINE x INT; LET x = nvl(x, 1);", -696),
        (
            "DEFINE x CHAR(5); FOREACH SELECT c INTO x[1,2] FROM t WHERE a = 9 END FOREACH; LET x = x || '.';",
            -696,
        ),
        ("DEFINE x INT; IF x IS NULL THEN LET x = 1; END IF;", -696),
        ("DEFINE i, x INT; FOR i = 1 TO 3 BEGIN DEFINE y INT; LET x = y; LET y = i; END; END FOR;", -696),
        ("DEFINE i INT; FOR i = 5 TO 1 STEP 1 END FOR;", -683),
        ("DEFINE i INT; FOR i = 1 TO 5 STEP 0 END FOR;", -697),
        ("DEFINE GLOBAL g INT DEFAULT 1; CALL other();", -689),
        ("DEFINE x INT; SELECT a INTO x FROM t;", -284),
        ("DEFINE x INT; CALL two() RETURNING x;", -684),
        ("DEFINE x, y INT; FOREACH EXECUTE FUNCTION one() INTO x, y END FOREACH;", -685),
        ("DEFINE x INT; LET x = none();", 0),
        ("DEFINE x INT; CALL none() RETURNING x;", 0),
        ("DEFINE x SMALLINT; LET x = 40000;", -1214),
        ("DEFINE x INT; LET x = two();", -999),
        ("EXECUTE IMMEDIATE 'SELECT a FROM t';", -260),
        ("EXECUTE IMMEDIATE 'DELETE';", -201),
        ("COMMIT WORK;", -255),
    ],
)
def test_what_fails_when_it_runs(table: Engine, body: str, sqlcode: int) -> None:
    run(table, "CREATE FUNCTION one() RETURNING INT; RETURN 1; END FUNCTION")
    run(table, "CREATE FUNCTION two() RETURNING INT, INT; RETURN 1, 2; END FUNCTION")
    run(table, "CREATE FUNCTION none() RETURNING INT; RETURN; END FUNCTION")
    run(table, "CREATE PROCEDURE other() DEFINE GLOBAL g DATE DEFAULT TODAY; END PROCEDURE")
    text = f"CREATE PROCEDURE p() {body} END PROCEDURE"
    if sqlcode == -999:
        assert error_from(table, text).sqlcode == sqlcode
        return
    run(table, text)
    if sqlcode:
        assert error_from(table, "EXECUTE PROCEDURE p()").sqlcode == sqlcode
    else:
        run(table, "EXECUTE PROCEDURE p()")


async def test_the_call_api_runs_routines() -> None:
    async with running() as dsn, connect(dsn) as conn:
        await conn.execute("CREATE TABLE t (k INT, name VARCHAR(9))")
        await conn.execute(
            "CREATE PROCEDURE fill(n INT, prefix VARCHAR(5) DEFAULT 'x') DEFINE i INT;"
            " FOR i = 1 TO n INSERT INTO t VALUES (i, prefix || i); END FOR; END PROCEDURE"
        )
        await conn.execute(
            "CREATE FUNCTION upto(n INT) RETURNING INT AS k, VARCHAR(9) AS name; DEFINE i INT; DEFINE s VARCHAR(9);"
            " FOREACH SELECT k, name INTO i, s FROM t WHERE k <= n ORDER BY k RETURN i, s WITH RESUME; END FOREACH;"
            " END FUNCTION"
        )
        assert await conn.call("fill", 2) == []
        await conn.call("fill", named={"prefix": "y", "n": 1})
        rows = await conn.call("upto", 1)
        assert [(row["k"], row["name"]) for row in rows] == [(1, "x1"), (1, "y1")]
        await conn.execute("CREATE PROCEDURE fail() RAISE EXCEPTION -746, 0, 'sold out'; END PROCEDURE")
        with pytest.raises(DatabaseError, match="sold out") as raised:
            await conn.call("fail")
        assert raised.value.sqlcode == -746


async def test_system_runs_what_the_owner_of_the_server_allows() -> None:
    seen: list[str] = []

    def system(command: str) -> int | None:
        seen.append(command)
        if command == "broken":
            raise OSError("no such command")
        return 3 if command == "failing" else None

    text = "CREATE PROCEDURE p(command VARCHAR(20)) SYSTEM command; END PROCEDURE"
    async with running(system=system) as dsn, connect(dsn) as conn:
        await conn.execute(text)
        await conn.call("p", "mail")
        for command, isamcode, message in (("failing", 3, "failing"), ("broken", 0, "no such command")):
            with pytest.raises(DatabaseError, match=message) as raised:
                await conn.call("p", command)
            assert (raised.value.sqlcode, raised.value.isamcode) == (-668, isamcode)
        await conn.execute("CREATE PROCEDURE numbers() SYSTEM 1 + 1; END PROCEDURE")
        await conn.call("numbers")
    assert seen == ["mail", "failing", "broken", "2"]
    async with running() as dsn, connect(dsn) as conn:
        await conn.execute(text)
        with pytest.raises(DatabaseError, match="the server does not allow SYSTEM"):
            await conn.call("p", "mail")


def test_an_iterator_waits_between_its_rows(engine: Engine) -> None:
    run_all(
        engine,
        "CREATE TABLE seen (a INT)",
        "CREATE FUNCTION numbers() RETURNING INT; DEFINE i INT; FOR i = 1 TO 5 INSERT INTO seen VALUES (i); "
        "RETURN i WITH RESUME; END FOR; END FUNCTION",
        "CREATE PROCEDURE p() DEFINE i INT; FOREACH EXECUTE FUNCTION numbers() INTO i "
        "INSERT INTO seen VALUES (-i); IF i = 2 THEN EXIT FOREACH; END IF; END FOREACH; END PROCEDURE",
        "EXECUTE PROCEDURE p()",
    )
    assert query(engine, "SELECT a FROM seen") == [(1,), (-1,), (2,), (-2,)]


@pytest.mark.parametrize(("end", "count"), [("COMMIT", 10), ("ROLLBACK", 1)])
def test_an_iterator_ends_transactions_between_its_rows(engine: Engine, end: str, count: int) -> None:
    run_all(
        engine,
        "CREATE TABLE seen (a INT)",
        "CREATE FUNCTION numbers() RETURNING INT; DEFINE i INT; FOR i = 1 TO 10 BEGIN WORK;"
        f" INSERT INTO seen VALUES (i); IF i = 10 THEN COMMIT WORK; ELSE {end} WORK; END IF;"
        " RETURN i WITH RESUME; END FOR; END FUNCTION",
    )
    assert query(engine, "EXECUTE FUNCTION numbers()") == [(number,) for number in range(1, 11)]
    assert query(engine, "SELECT COUNT(*) FROM seen") == [(count,)]


COUNTS = [
    ("SELECT SKIP n FIRST one a INTO r FROM t", 2),
    ("SELECT FIRST one a INTO r FROM t ORDER BY a DESC", 2),
    ("SELECT LIMIT one t.a + 0 INTO r FROM t ORDER BY 1", 1),
    ("SELECT a INTO r FROM t ORDER BY a SKIP n LIMIT one", 2),
    ("SELECT FIRST one * INTO r FROM (SELECT LIMIT one a FROM t ORDER BY a)", 1),
    ("SELECT skip label INTO r FROM (SELECT a skip FROM t) WHERE skip = 2", 2),
    ("SELECT first INTO r FROM (SELECT a first, c one FROM t) WHERE first = 1", 1),
]


@pytest.mark.parametrize(("text", "value"), COUNTS)
def test_variables_count_the_rows_of_a_query(table: Engine, text: str, value: int) -> None:
    body = f"DEFINE r, one INT; LET one = 1; FOREACH {text} EXIT FOREACH; END FOREACH; RETURN r;"
    run(table, f"CREATE FUNCTION f(n INT) RETURNING INT; {body} END FUNCTION")
    assert query(table, "EXECUTE FUNCTION f(1)") == [(value,)]


@pytest.mark.parametrize("count", ["NULL", "-1"])
def test_a_variable_that_is_no_number_of_rows_is_an_error(table: Engine, count: str) -> None:
    body = f"DEFINE r, n INT; LET n = {count}; SELECT FIRST n a INTO r FROM t; RETURN r;"
    run(table, f"CREATE FUNCTION f() RETURNING INT; {body} END FUNCTION")
    assert error_from(table, "EXECUTE FUNCTION f()").sqlcode == -415
    run(table, "CREATE PROCEDURE p() DEFINE r INT; SELECT FIRST n a INTO r FROM t; END PROCEDURE")
    assert error_from(table, "EXECUTE PROCEDURE p()").sqlcode == -201
