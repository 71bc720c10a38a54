from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from aioifx.server.engine.engine import Engine
from tests.server.talking import error_from, query, run, server_core

SCHEMA = [
    "CREATE ROW TYPE address_t (city VARCHAR(20), zip INT)",
    "CREATE ROW TYPE person_t (name VARCHAR(20), age INT)",
    "CREATE TABLE t (k INT, r ROW(a INT, b VARCHAR(10)), s SET(INT NOT NULL), m MULTISET(VARCHAR(5) NOT NULL),"
    " l LIST(ROW(x INT, y CHAR(3)) NOT NULL), p person_t, n ROW(name VARCHAR(9), address address_t))",
    "INSERT INTO t VALUES (1, ROW(1, 'x'), SET{3, 1, 3}, 'MULTISET{''a'',''a''}', LIST{ROW(1, 'a'), ROW(NULL, 'bcd')},"
    " ROW('Alice', 30)::person_t, ROW('Bob', ROW('Bonn', 53111)))",
    "INSERT INTO t VALUES (2, 'ROW(2,NULL)', SET{}, MULTISET{'b'}, 'LIST{}', \"ROW('Eve', 20)\", NULL)",
    "INSERT INTO t (k) VALUES (3)",
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with server_core() as core:
        made = core.engine()
        for text in SCHEMA:
            run(made, text)
        yield made


def rows(engine: Engine, text: str, *values: Any) -> list[Any]:
    found = query(engine, text, *values)
    return [row[0] if len(row) == 1 else row for row in found]


def test_values_are_read_as_literals(engine: Engine) -> None:
    assert query(engine, "SELECT * FROM t ORDER BY k") == [
        (
            1,
            "ROW(1          ,'x')",
            "SET{3,1}",
            "MULTISET{'a','a'}",
            "LIST{ROW(1          ,'a  '),ROW(NULL,'bcd')}",
            "ROW('Alice',30         )",
            "ROW('Bob',ROW('Bonn',53111      ))",
        ),
        (2, "ROW(2          ,NULL)", "SET{}", "MULTISET{'b'}", "LIST{}", "ROW('Eve',20         )", None),
        (3, None, None, None, None, None, None),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT r.a FROM t ORDER BY k", [1, 2, None]),
        ("SELECT t.r.b FROM t WHERE r.a = 1", ["x"]),
        ("SELECT anna.t.r.a FROM t WHERE k = 2", [2]),
        ("SELECT n.address.city FROM t WHERE n.address.zip > 5", ["Bonn"]),
        ("SELECT u.n.address.city FROM t u WHERE k = 1", ["Bonn"]),
        ("SELECT n.address FROM t WHERE k = 1", ["ROW('Bonn',53111      )"]),
        ("SELECT k FROM t WHERE p.age IS NOT NULL ORDER BY p.age", [2, 1]),
        ("SELECT p.age, COUNT(*) FROM t WHERE k < 3 GROUP BY p.age ORDER BY 1", [(20, 1), (30, 1)]),
        ("SELECT MAX(p.age) + 1 FROM t", [31]),
        ("SELECT k FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE b.p.age > a.p.age)", [2]),
        ("SELECT a.k FROM t a, OUTER t b WHERE a.p.age = b.p.age AND a.k < 2", [1]),
    ],
)
def test_fields(engine: Engine, text: str, expected: list[Any]) -> None:
    assert rows(engine, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT k FROM t WHERE 3 IN s", [1]),
        ("SELECT k FROM t WHERE '3' IN s", [1]),
        ("SELECT k FROM t WHERE 3.0 IN s", [1]),
        ("SELECT k FROM t WHERE 3.4 IN s", []),
        ("SELECT k FROM t WHERE 1 IN (s)", [1]),
        ("SELECT k FROM t WHERE NOT 3 IN s", [2]),
        ("SELECT k FROM t WHERE 3 NOT IN s", [2]),
        ("SELECT k FROM t WHERE k IN SET{1, 3}", [1, 3]),
        ("SELECT k FROM t WHERE 'a' IN m", [1]),
        ("SELECT k FROM t WHERE ROW(1, 'a') IN l", [1]),
        ("SELECT k FROM t WHERE NULL IN s", []),
        ("SELECT CARDINALITY(s), CARDINALITY(m) FROM t ORDER BY k", [(2, 2), (0, 1), (None, None)]),
        ("SELECT k FROM t WHERE CARDINALITY(l) = 2", [1]),
    ],
)
def test_elements(engine: Engine, text: str, expected: list[Any]) -> None:
    assert rows(engine, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT k FROM t WHERE s = SET{1, 3}", [1]),
        ("SELECT k FROM t WHERE s = 'SET{1,3}'", [1]),
        ("SELECT k FROM t WHERE s <> SET{1, 3}", [2]),
        ("SELECT k FROM t WHERE s IN ('SET{1}', 'SET{3,1}')", [1]),
        ("SELECT k FROM t WHERE r = ROW(1, 'x')", [1]),
        ("SELECT k FROM t WHERE r = ROW(2, NULL)", []),
        ("SELECT k FROM t WHERE p = ROW('Eve', 20)::person_t", [2]),
        ("SELECT k FROM t WHERE l = LIST{ROW(1, 'a'), ROW(NULL, 'bcd')}", [1]),
        ("SELECT CASE WHEN k = 1 THEN s ELSE SET{9} END FROM t WHERE k < 3 ORDER BY k", ["SET{3,1}", "SET{9}"]),
        ("SELECT NVL(s, SET{0}) FROM t WHERE k = 3", ["SET{0}"]),
        ("SELECT r::LVARCHAR FROM t WHERE k = 1", ["ROW(1          ,'x')"]),
        ("SELECT CASE k WHEN 1 THEN ROW(1, 'ab') ELSE ROW(2.5, 'c') END FROM t WHERE k = 1", ["ROW(1.0,'ab')"]),
        ("SELECT SET{1, 2.5} FROM t WHERE k = 1", ["SET{1.0,2.5}"]),
        ("SELECT ROW('a ', 1, NULL) FROM t WHERE k = 1", ["ROW('a ',1          ,NULL)"]),
        ("SELECT s FROM t WHERE k = 1 UNION ALL SELECT SET{5} FROM t WHERE k = 1", ["SET{3,1}", "SET{5}"]),
    ],
)  # fmt: skip
def test_comparisons_and_casts(engine: Engine, text: str, expected: list[Any]) -> None:
    assert rows(engine, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM TABLE((SELECT s FROM t WHERE k = 1)) AS e(x) ORDER BY x", [1, 3]),
        (
            "SELECT e.x, e.y FROM TABLE((SELECT l FROM t WHERE k = 1)) e ORDER BY e.x",
            [(None, "bcd"), (1, "a  ")],
        ),
        ("SELECT a + b FROM TABLE((SELECT l FROM t WHERE k = 1)) e(a, c), TABLE(SET{5}) f(b)", [6, None]),
        ("SELECT COUNT(*) FROM TABLE((SELECT s FROM t WHERE k = 3)) e(x)", [0]),
        ("SELECT COUNT(*) FROM TABLE('SET{1,2}'::SET(INT NOT NULL)) e(x)", [2]),
        ("SELECT k FROM t WHERE EXISTS (SELECT 1 FROM TABLE(t.s) e(x) WHERE x = 3)", [1]),
    ],
)
def test_elements_as_rows_of_a_table(engine: Engine, text: str, expected: list[Any]) -> None:
    assert rows(engine, text) == expected


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("SELECT k FROM t WHERE ? IN s", [3], [1]),
        ("SELECT k FROM t WHERE s = ?", ["SET{1,3}"], [1]),
        ("SELECT k FROM t WHERE r = ROW(?, ?)", [1, "x"], [1]),
        ("SELECT ?::SET(INT NOT NULL) FROM t WHERE k = 1", ["SET{5,5}"], ["SET{5}"]),
        ("SELECT k FROM t WHERE r.a = ?", [2], [2]),
    ],
)
def test_parameters(engine: Engine, text: str, values: list[Any], expected: list[Any]) -> None:
    assert rows(engine, text, *values) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT MULTISET(SELECT k FROM t WHERE k < 3) FROM t WHERE k = 1",
         ["MULTISET{ROW(1          ),ROW(2          )}"]),
        ("SELECT MULTISET(SELECT ITEM k * 2 FROM t b WHERE b.k < a.k) FROM t a ORDER BY k",
         ["MULTISET{}", "MULTISET{2}", "MULTISET{2,4}"]),
        ("SELECT CARDINALITY(MULTISET(SELECT k, s, p.name FROM t)) FROM t WHERE k = 1", [3]),
        ("SELECT MULTISET(SELECT k FROM t WHERE k = 1 UNION SELECT 9 FROM t)::LVARCHAR FROM t WHERE k = 1",
         ["MULTISET{ROW(1          ),ROW(9          )}"]),
        ("SELECT x.name FROM TABLE(MULTISET(SELECT p.name, k FROM t WHERE k < 3)) x ORDER BY x.k", ["Alice", "Eve"]),
        ("SELECT k FROM t WHERE 2 IN MULTISET(SELECT ITEM k FROM t)", [1, 2, 3]),
    ],
)  # fmt: skip
def test_collections_of_queries(engine: Engine, text: str, expected: list[Any]) -> None:
    assert rows(engine, text) == expected


def test_rows_and_collections_are_written_from_parameters_and_constructors(engine: Engine) -> None:
    run(engine, "CREATE TABLE w (r ROW(a INT, b VARCHAR(3)), s SET(INT NOT NULL), p person_t)")
    run(engine, "INSERT INTO w VALUES (?, ?, ?)", "ROW(1,'x')", "SET{1,2,1}", None)
    run(engine, "INSERT INTO w VALUES (ROW(?, ?), SET{?, 7}, ROW(?, 5))", 2, "y", 8, "Eve")
    run(engine, "UPDATE w SET r = ROW(r.a + 10, 'zzzz'), s = SET{r.a} WHERE p.name = 'Eve'")
    assert query(engine, "SELECT * FROM w ORDER BY r.a") == [
        ("ROW(1          ,'x')", "SET{1,2}", None),
        ("ROW(12         ,'zzz')", "SET{2}", "ROW('Eve',5          )"),
    ]
    run(engine, "INSERT INTO w SELECT * FROM w WHERE r.a = 1")
    assert rows(engine, "SELECT COUNT(*) FROM w WHERE s = SET{2, 1}") == [2]
    run(engine, "DROP TABLE w")


def test_a_long_constructor(engine: Engine) -> None:
    numbers = ", ".join(map(str, range(250)))
    assert rows(engine, f"SELECT CARDINALITY(SET{{{numbers}}}) FROM t WHERE k = 1") == [250]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT s::MULTISET(INT NOT NULL) FROM t", (-9634, "")),
        ("SELECT r.c FROM t", (-217, "c")),
        ("SELECT q.a FROM t", (-522, "q")),
        ("SELECT k.a FROM t", (-217, "a")),
        ("SELECT n.address.street FROM t", (-217, "street")),
        ("SELECT k FROM t WHERE 1 IN k", (-9650, "")),
        ("SELECT k FROM t WHERE s < SET{1}", (-674, "lessthan")),
        ("SELECT k FROM t WHERE r = 1", (-1260, "")),
        ("SELECT k FROM t WHERE CARDINALITY(r) = 1", (-674, "cardinality")),
        ("SELECT UPPER(s) FROM t", (-674, "")),
        ("SELECT TRIM(s) FROM t", (-674, "")),
        ("SELECT s || 'x' FROM t", (-674, "")),
        ("SELECT k FROM t WHERE r LIKE 'x'", (-674, "")),
        ("SELECT MAX(s) FROM t", (-674, "max")),
        ("SELECT COUNT(DISTINCT s) FROM t", (-9926, "")),
        ("SELECT MULTISET(SELECT ITEM k, p FROM t) FROM t", (-201, "")),
        ("SELECT MULTISET(SELECT ITEM k.x FROM t) FROM t", (-217, "x")),
        ("INSERT INTO t (s) SELECT MULTISET(SELECT ITEM k FROM t) FROM t", (-9634, "")),
        ("SELECT MULTISET(SELECT ITEM NULL::INT FROM t) FROM t", (-9978, "")),
        ("SELECT s + 1 FROM t", (-1260, "")),
        ("SELECT s FROM t ORDER BY s", (-9926, "")),
        ("SELECT s FROM t ORDER BY 1", (-9926, "")),
        ("SELECT DISTINCT r FROM t", (-9926, "")),
        ("SELECT COUNT(*) FROM t GROUP BY r", (-9926, "")),
        ("SELECT r FROM t UNION SELECT r FROM t", (-9926, "")),
        ("CREATE INDEX i ON t (s)", (-9926, "")),
        ("CREATE TABLE x (s SET(INT NOT NULL) PRIMARY KEY)", (-9926, "")),
        ("INSERT INTO t (s) VALUES (SET{1, NULL})", (-9978, "")),
        ("INSERT INTO t (s) VALUES (LIST{1})", (-9634, "")),
        ("INSERT INTO t (r) VALUES (ROW(1))", (-9634, "")),
        ("INSERT INTO t (s) VALUES ('1')", (-1260, "")),
        ("INSERT INTO t (k) VALUES (SET{1})", (-1260, "")),
        ("SELECT 1 FROM TABLE((SELECT r FROM t)) e(x)", (-201, "")),
        ("SELECT x::nowhere_t FROM TABLE(SET{1}) e(x)", (-9628, "nowhere_t")),
    ],
)
def test_errors(engine: Engine, text: str, error: tuple[int, str]) -> None:
    raised = error_from(engine, text)
    assert (raised.sqlcode, raised.token) == error
