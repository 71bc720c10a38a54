from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.sql.workbench import Workbench
from tests.server.talking import ServerCore, error_from, query, run, server_core

TABLE = "CREATE TABLE t (k INT, b BYTE, x TEXT, v VARCHAR(20))"


@pytest.fixture
def core() -> Iterator[ServerCore]:
    with server_core() as made:
        yield made


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT k FROM t WHERE x = 'a'", (-615, "", 23)),
        ("SELECT k FROM t WHERE 'a' = x", (-615, "", 29)),
        ("SELECT k FROM t WHERE x LIKE 'a%'", (-615, "", 23)),
        ("SELECT k FROM t WHERE x IN ('a')", (-615, "", 23)),
        ("SELECT k FROM t WHERE b BETWEEN 1 AND 2", (-615, "", 23)),
        ("SELECT k FROM t WHERE x[1,2] = 'a'", (-616, "", 23)),
        ("SELECT x || 'a' FROM t", (-615, "", 8)),
        ("SELECT NVL(x, 'a') FROM t", (-615, "", 12)),
        ("SELECT UPPER(x) FROM t", (-615, "", 14)),
        ("SELECT CHAR_LENGTH(x) FROM t", (-615, "", 20)),
        ("SELECT COUNT(DISTINCT b) FROM t", (-615, "", 23)),
        ("SELECT MAX(x) FROM t", (-615, "", 12)),
        ("SELECT CASE WHEN k = 1 THEN x END FROM t", (-615, "", 29)),
        ("SELECT x::LVARCHAR FROM t", (-9634, "TEXT LVARCHAR(2048)", 8)),
        ("SELECT x[0,2] FROM t", (-607, "", 8)),
        ("SELECT x[3,2] FROM t", (-607, "", 8)),
        ("SELECT b FROM t GROUP BY b", (-612, "", 26)),
        ("SELECT b FROM t GROUP BY 1", (-612, "", 26)),
        ("SELECT DISTINCT k, b FROM t", (-613, "", 1)),
        ("SELECT b FROM t UNION SELECT b FROM t", (-613, "", 17)),
        ("SELECT b FROM t UNION ALL SELECT x FROM t", (-308, "", 17)),
        ("SELECT k FROM t ORDER BY b", (-614, "", 26)),
        ("SELECT b FROM t ORDER BY 1", (-614, "", 26)),
        ("SELECT b c FROM t ORDER BY c", (-614, "", 28)),
        ("SELECT b FROM t UNION ALL SELECT b FROM t ORDER BY 1", (-614, "", 52)),
        ("CREATE INDEX i ON t (k, b)", (-610, "b", 25)),
        ("ALTER TABLE t ADD CONSTRAINT UNIQUE (x)", (-610, "x", 38)),
        ("ALTER TABLE t MODIFY (b TEXT)", (-608, "", 0)),
        ("ALTER TABLE t MODIFY (x VARCHAR(20))", (-608, "", 0)),
        ("INSERT INTO t (x) VALUES ('a')", (-617, "", 0)),
        ("INSERT INTO t (b) SELECT x FROM t", (-608, "", 0)),
        ("INSERT INTO t (v) SELECT x FROM t", (-608, "", 0)),
        ("UPDATE t SET x = 5", (-617, "", 0)),
        ("UPDATE t SET x = (SELECT x FROM t)", (-617, "", 18)),
        ("CREATE TABLE u (x TEXT CHECK (x = 'a'))", (-615, "", 31)),
        ("MERGE INTO t USING t AS s ON t.k = s.k WHEN MATCHED THEN UPDATE SET x = ?", (-617, "", 73)),
        (
            "MERGE INTO t USING t AS s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (b) VALUES (?)",
            (-617, "", 81),
        ),
        ("CREATE TABLE u (r ROW(a INT, b BYTE))", (-999, "ROW(A INTEGER, B BYTE)", 17)),
        ("CREATE TABLE u (s SET(ROW(x TEXT) NOT NULL))", (-999, "ROW(X TEXT)", 17)),
    ],
)
def test_large_objects_are_refused_by_place(sql: str, error: tuple[int, str, int]) -> None:
    assert Workbench(TABLE).error(sql) == error


def test_a_subscript_is_a_value_of_the_same_type() -> None:
    stores = Workbench(TABLE)
    assert stores.described("SELECT x[1,2], b[3] FROM t") == [("x", "TEXT"), ("b", "BYTE")]


def rows_of(core: ServerCore, *statements: str) -> list[tuple[int, int | None]]:
    """Keys and lengths of BYTE values after some statements."""
    engine = core.engine()
    run(engine, TABLE)
    for key, value in enumerate((b"", b"abc", None)):
        run(engine, "INSERT INTO t (k, b, x) VALUES (?, ?, ?)", key, value, value)
    for statement in statements:
        run(engine, statement)
    return query(engine, "SELECT k, LENGTH(b) FROM t ORDER BY k, 2")


@pytest.mark.parametrize(
    ("statements", "rows"),
    [
        ([], [(0, 0), (1, 3), (2, None)]),
        (["UPDATE t SET b = NULL WHERE k = 1"], [(0, 0), (1, None), (2, None)]),
        (["DELETE FROM t WHERE b IS NULL"], [(0, 0), (1, 3)]),
        (["DELETE FROM t WHERE x IS NOT NULL"], [(2, None)]),
        (["INSERT INTO t (k, b) SELECT k + 10, b FROM t WHERE k = 1"], [(0, 0), (1, 3), (2, None), (11, 3)]),
        (["INSERT INTO t (k, b) SELECT 9, b[2,9] FROM t"], [(0, 0), (1, 3), (2, None), (9, None), (9, 0), (9, 2)]),
        (["CREATE TEMP TABLE u (b BYTE)", "INSERT INTO u SELECT b FROM t WHERE k = 1", "UPDATE t SET b = NULL",
          "INSERT INTO t (k, b) SELECT 3, b FROM u"], [(0, None), (1, None), (2, None), (3, 3)]),
        (["SELECT k, b FROM t INTO TEMP u", "TRUNCATE t", "INSERT INTO t (k, b) SELECT k, b FROM u"],
         [(0, 0), (1, 3), (2, None)]),
        (["ALTER TABLE t ADD (c BYTE BEFORE k)", "UPDATE t SET c = b", "UPDATE t SET b = NULL",
          "UPDATE t SET b = c"], [(0, 0), (1, 3), (2, None)]),
    ],
)  # fmt: skip
def test_values_are_null_empty_or_bytes_in_every_statement(
    core: ServerCore, statements: list[str], rows: list[tuple[int, int | None]]
) -> None:
    assert rows_of(core, *statements) == rows


def test_length_counts_all_bytes(core: ServerCore) -> None:
    engine = core.engine()
    run(engine, TABLE)
    run(engine, "INSERT INTO t (k, x) VALUES (1, ?)", b"ab  ")
    assert query(engine, "SELECT LENGTH(x), OCTET_LENGTH(x), LENGTH(b) FROM t") == [(4, 4, None)]


def test_a_parameter_of_another_type_is_refused(core: ServerCore) -> None:
    engine = core.engine()
    run(engine, TABLE)
    assert error_from(engine, "INSERT INTO t (x) VALUES (?)", "text").sqlcode == -608
    assert error_from(engine, "INSERT INTO t (v) VALUES (?)", b"bytes").sqlcode == -608


def test_a_view_and_a_derived_table_have_large_columns(core: ServerCore) -> None:
    engine = core.engine()
    run(engine, TABLE)
    run(engine, "INSERT INTO t (k, b) VALUES (1, ?)", b"abcd")
    run(engine, "CREATE VIEW w AS SELECT k, b FROM t")
    assert query(engine, "SELECT LENGTH(b) FROM w") == [(4,)]
    assert query(engine, "SELECT d.n FROM (SELECT LENGTH(b) AS n, b FROM w) AS d WHERE d.b IS NOT NULL") == [
        (4,)
    ]


def test_another_databases_large_objects_are_read_only_if_they_need_no_locator(core: ServerCore) -> None:
    engine = core.engine()
    run(engine, "CREATE TABLE t (k INT, b BYTE, c BLOB)")
    run(engine, "INSERT INTO t (k, b) VALUES (1, ?)", b"abc")
    other = core.engine("sysmaster")
    assert query(other, "SELECT k, LENGTH(b) FROM demo:t") == [(1, 3)]
    assert error_from(other, "SELECT c FROM demo:t").sqlcode == -999


def test_a_merge_copies_large_values(core: ServerCore) -> None:
    engine = core.engine()
    run(engine, TABLE)
    run(engine, "CREATE TABLE s (k INT, b BYTE)")
    for key in (1, 2):
        run(engine, "INSERT INTO s VALUES (?, ?)", key, b"x" * key)
    run(engine, "INSERT INTO t (k) VALUES (1)")
    merge = "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET b = s.b"
    run(engine, f"{merge} WHEN NOT MATCHED THEN INSERT (k, b) VALUES (s.k, s.b)")
    assert query(engine, "SELECT k, LENGTH(b) FROM t ORDER BY k") == [(1, 1), (2, 2)]
