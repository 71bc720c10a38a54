from __future__ import annotations

import pytest

from aioifx.server.engine.engine import Engine
from tests.server.talking import error_from, query, run, run_all

F = """CREATE FUNCTION f(n INT, OUT half DECIMAL(5,2), INOUT txt VARCHAR(20), k INT DEFAULT 1) RETURNING INT;
LET half = n / 2; LET txt = NVL(txt, 'n') || n; RETURN n * 10 * k; END FUNCTION"""


@pytest.fixture
def session(engine: Engine) -> Engine:
    run_all(engine, "CREATE TABLE t (id INT, name CHAR(1))", "CREATE TABLE u (k INT, w CHAR(1))", F)
    for values in (
        "t VALUES (1, 'a')",
        "t VALUES (2, 'b')",
        "t VALUES (3, 'c')",
        "u VALUES (2, 'x')",
        "u VALUES (3, 'y')",
    ):
        run(engine, f"INSERT INTO {values}")
    return engine


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT id, h::CHAR(5), s FROM t WHERE f(id, h # DECIMAL(5,2), s # VARCHAR(20)) > 10 AND h < 1.5",
         [(2, "1.00 ", "n2")]),
        ("SELECT id, s FROM t WHERE s > 'n1' AND f(id, h # INT, s # VARCHAR(20)) > 0 ORDER BY s DESC",
         [(3, "n3"), (2, "n2")]),
        ("SELECT id, h, w FROM t, u WHERE k = id AND f(id + k, h # INT, s # CHAR(3), k = 3) >= 120",
         [(2, 2, "x"), (3, 3, "y")]),
        ("SELECT * FROM t WHERE f(n = id, half = h # INT, txt = s # CHAR(5), k = 2) = 40", [(2, "b")]),
        ("SELECT COUNT(*), MAX(s) FROM t WHERE f(id, h # INT, s # CHAR(2)) > 0"
         " AND EXISTS (SELECT 1 FROM u WHERE 'n' || k = s)", [(2, "n3")]),
        ("SELECT id FROM t LEFT JOIN u ON k = id WHERE f(NVL(k, 9), h # FLOAT, s # CHAR(2)) > 0 AND h > 4", [(1,)]),
        ("SELECT id FROM t WHERE id IN (SELECT k FROM u WHERE f(u.k * t.id, h # INT, s # CHAR(2)) > 10 AND h = 2)",
         [(2,)]),
        ("SELECT id, b FROM t WHERE f(id, h # DECIMAL(5,2), s # CHAR(9)) = 20 AND f(h + 6, a # INT, b # CHAR(9)) = 70",
         [(2, "n7       ")]),
    ],
)  # fmt: skip
def test_parts_of_a_query_read_what_a_call_in_where_sets(
    session: Engine, text: str, rows: list[tuple[object, ...]]
) -> None:
    assert query(session, text) == rows


def test_a_routine_reads_them_into_its_variables(session: Engine) -> None:
    body = "SELECT s INTO v FROM t WHERE f(id, h # INT, s # CHAR(2)) > n * 10; RETURN v;"
    run(session, f"CREATE FUNCTION g(n INT) RETURNING CHAR(2); DEFINE v CHAR(2); {body} END FUNCTION")
    assert query(session, "EXECUTE FUNCTION g(2)") == [("n3",)]


@pytest.mark.parametrize(
    ("text", "sqlcode"),
    [
        ("SELECT id FROM t WHERE f(id, 5, s # CHAR(4)) > 10", -9752),
        ("SELECT id FROM t WHERE f(h # INT, i # INT, s # CHAR(4)) > 10", -9752),
        ("SELECT id FROM t WHERE g(id, h # INT) > 1", -674),
        ("SELECT h FROM t WHERE id IN (SELECT k FROM u WHERE f(k, h # INT, s # CHAR(4)) > 10)", -217),
        ("SELECT f(id, h # INT, s # CHAR(4)) FROM t", -201),
        ("SELECT (id # INT) FROM t", -201),
        ("UPDATE t SET name = 'x' WHERE f(id, h # INT, s # CHAR(4)) > 1", -201),
        ("CREATE VIEW v (id) AS SELECT id FROM t WHERE f(id, h # INT, s # CHAR(4)) > 1", -999),
        ("SELECT id FROM t WHERE two(id, h # INT) > 1", -999),
    ],
)
def test_other_uses_are_refused(session: Engine, text: str, sqlcode: int) -> None:
    run(session, "CREATE FUNCTION two(n INT, OUT m INT) RETURNING INT, INT; RETURN 1, 2; END FUNCTION")
    assert error_from(session, text).sqlcode == sqlcode
